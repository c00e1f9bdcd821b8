"""The first verdicts: what is refused in every mode, and what always needs a person.

Plain rules on the command's text; the shell's grammar is a later part's (docs/adr/0004). So this
only ever tightens: a command it does not know is still asked about.
"""

import re
from collections.abc import Callable

from cockpit.plugin import hookimpl
from cockpit.plugin.safety import Decider, Judged, Verdict
from cockpit.plugin.values import Register, Scope

# Each is refused whatever the mode: what it destroys is not the project's, or cannot be restored.
BLOCKED: tuple[tuple[str, str, str], ...] = (
    (
        "rm-root",
        r"\brm\s+(?:-\S+\s+|--\S+\s+)*(?:--\s+)?[\"']?(?:/|~|\$HOME|\$\{HOME\}|/\*|\.\./\.\.|/(?:etc|usr|var|bin|lib|boot|home|root|opt|sbin)\b)[\"']?(?:/?\*?)(?:\s|$|[;&|])",
        "it removes files far outside the project",
    ),
    ("fork-bomb", r":\s*\(\s*\)\s*\{.*:\s*\|\s*:", "it is a fork bomb"),
    ("mkfs", r"\bmkfs(?:\.\w+)?\b", "it makes a new file system over data"),
    ("dd-device", r"\bdd\b.*\bof=/dev/(?!null|zero|full)", "it writes over a device"),
    ("to-device", r">\s*/dev/(?:sd|nvme|hd|vd|mmcblk|disk)", "it writes over a disk"),
    (
        "pipe-to-shell",
        r"\b(?:curl|wget|fetch)\b[^|;&]*\|\s*(?:sudo\s+)?(?:ba|z|da|k)?sh\b",
        "it runs what a network sends",
    ),
    (
        "decode-to-shell",
        r"\bbase64\b[^|;&]*(?:-d|-D|--decode)[^|;&]*\|\s*(?:sudo\s+)?(?:ba|z|da|k)?sh\b",
        "it runs hidden code",
    ),
    (
        "chmod-root",
        r"\bch(?:mod|own)\s+(?:-\S+\s+)*\S+\s+/(?:\s|$)",
        "it changes the rights of the whole system",
    ),
    (
        "shell-profile",
        r">>?\s*[\"']?(?:~|\$HOME)/\.(?:bash|zsh|profile|ssh)",
        "it plants something in your shell or keys",
    ),
    (
        "secrets",
        r"(?:~|\$HOME|/root|/home/\w+)/\.(?:ssh/id_|aws/credentials|netrc|gnupg/)",
        "it reads secret keys",
    ),
)
CONTROL = re.compile(r"[\x00\x01-\x08\x0b\x0c\x0e-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


def _compiled() -> Callable[[str], Verdict | None]:
    rules = [(name, re.compile(pattern, re.DOTALL), reason) for name, pattern, reason in BLOCKED]

    def find(command: str) -> Verdict | None:
        for name, pattern, reason in rules:
            if pattern.search(command):
                return Verdict("deny", reason, 100, rules=(name,), may_remember=False)
        if "\0" in command:
            return Verdict("deny", "it holds a NUL byte", 100, rules=("nul",), may_remember=False)
        if found := CONTROL.search(command):
            reason = f"it holds an invisible character (U+{ord(found[0]):04X})"
            return Verdict("ask", reason, 60, rules=("invisible",), may_remember=False, person_only=True)
        return None

    return find


@hookimpl
def register_deciders(register: Register, scope: Scope) -> None:
    find = _compiled()

    async def commands(judged: Judged) -> Verdict | None:
        if judged.tool.kind != "execute":
            return None
        command = judged.call.arguments.get("command")
        return find(command) if isinstance(command, str) else None

    async def outside(judged: Judged) -> Verdict | None:
        paths = judged.preview.paths if judged.preview is not None else ()
        strangers = [path for path in paths if not judged.context.workspace.is_inside(path)]
        if not strangers:
            return None
        changes = judged.tool.kind not in ("read", "search")
        reason = f"{strangers[0]} lies outside of the project"
        return Verdict("ask", reason, 60 if changes else 40, frozenset({"fs.outside"}), ("outside",))

    register(Decider("commands", commands))
    register(Decider("outside", outside))
