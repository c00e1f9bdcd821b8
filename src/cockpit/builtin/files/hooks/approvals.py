"""Whether a hook may run here. A person's own runs where they trust the folder; a project's runs after
their yes for exactly what it is, scripts and all.

What was agreed to lies in cockpit's state folder, by the real path of the project, as hashes.
"""

import asyncio
import contextlib
import hashlib
import json
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cockpit import paths
from cockpit.formats.hooks import Hook
from cockpit.plugin.context import Context, UserUnavailable
from cockpit.protocol.events import Warned
from cockpit.protocol.safe_text import escape_json
from cockpit.settings import file_io
from cockpit.settings.file_io import write_atomically

RUN_CHOICE, SKIP_CHOICE = "Run them", "Leave them out"
MAX_LISTED = 20
# How people write the project's folder: both variables, with a default too, and what git or the shell says.
PROJECT_FOLDER = re.compile(
    r"\$(?:\{(?:(?:CLAUDE|COCKPIT)_PROJECT_DIR|PWD)(?::?-[^{}]*)?\}|(?:(?:CLAUDE|COCKPIT)_PROJECT_DIR|PWD)\b)"
    r"|(?:\$\(|`)\s*(?:git rev-parse --show-toplevel|pwd)[^()`]*(?:\)|`)"
)
# What stands between words for a shell: `sh check.sh; exit 0` names check.sh.
WORD_SEPARATORS = re.compile(r"[\s\"'`;|&<>()={},]+")
MAX_SCRIPT_BYTES = 256_000_000
APPROVE_HINT = "`cockpit hooks approve` shows them and takes your yes"


def fingerprint_hook(hook: Hook, root: str, here: str = "") -> str:
    """The sha256 (hex) of a hook with the scripts of the project that its command names: reads them. `here`
    is the worktree it would run in, where the same name may be another script."""
    found: dict[bytes, None] = {}
    for folder in dict.fromkeys((root, here or root)):
        for script in find_scripts(hook, Path(folder)):
            name = str(script.relative_to(folder)).encode("utf-8", "surrogateescape")
            try:
                content = file_io.read_bytes(script, MAX_SCRIPT_BYTES)
            except OSError as error:
                content = f"{error.errno}".encode()
            found[hashlib.sha256(name).digest() + hashlib.sha256(content).digest()] = None
    return hashlib.sha256(b"".join((hook.digest().encode(), *found))).hexdigest()


def find_scripts(hook: Hook, root: Path) -> tuple[Path, ...]:
    """The files of the project that a hook's command names, also after a `cd`. One too many costs a
    question, one too few runs what nobody has seen."""
    if hook.kind != "command":
        return ()
    args = hook.action.get("args")
    words = _split_words(hook.action_text("command"), root)
    for word in args if isinstance(args, list) else []:
        words |= {PROJECT_FOLDER.sub(lambda found: str(root), str(word)): None} | _split_words(
            str(word), root
        )
    inside = _existing_paths(root, words, root)
    folders = [one for one in inside if one != root and one.is_dir()]
    inside += [one for folder in folders for one in _existing_paths(folder, words, root)]
    return tuple(one for one in dict.fromkeys(inside) if one.is_file())


def _existing_paths(folder: Path, words: Iterable[str], root: Path) -> list[Path]:
    """What lies in the project under these names, seen from `folder`."""
    found: list[Path] = []
    for word in words:
        # A word may be no name at all: too long, or with a NUL in it.
        with contextlib.suppress(OSError, ValueError):
            if word and (path := folder / word).is_relative_to(root) and path.exists():
                found.append(path)
    return found


def _split_words(text: str, root: Path) -> dict[str, None]:
    """Every word of a line, as the shell quotes them and, whatever the quotes, as they stand there."""
    quoted = PROJECT_FOLDER.sub(lambda found: shlex.quote(str(root)), text)
    try:
        words = shlex.split(quoted)
    except ValueError:
        words = []
    return dict.fromkeys((*words, *WORD_SEPARATORS.split(PROJECT_FOLDER.sub(lambda found: str(root), text))))


def load_approved(root: str) -> frozenset[str]:
    """The pins that a person has said yes to for `root`."""
    rows = _load_store().get(root)
    return frozenset(one for one in rows if isinstance(one, str)) if isinstance(rows, list) else frozenset()


def approve_hooks(root: str, pins: Iterable[str]) -> None:
    """Keep a person's yes."""
    kept = _load_store()
    kept[root] = sorted({*load_approved(root), *pins})
    write_atomically(_store_file(), json.dumps(kept, indent=1).encode(), private=True)


def revoke_approvals(root: str) -> int:
    """Forget every yes for `root`; how many there were."""
    kept, count = _load_store(), len(load_approved(root))
    if kept.pop(root, None) is not None:
        write_atomically(_store_file(), json.dumps(kept, indent=1).encode(), private=True)
    return count


def _store_file() -> Path:
    return paths.state() / "hooks.json"


def _load_store() -> dict[str, object]:
    try:
        raw = json.loads(file_io.read_bytes(_store_file()))
    except (OSError, ValueError):
        # Without a readable file nothing was agreed to: the person is asked again.
        return {}
    return raw if isinstance(raw, dict) else {}


@dataclass(slots=True)
class HookApprovals:
    """Who may run at one root, and whom a person has refused in which session."""

    root: str
    hooks: tuple[Hook, ...] = ()
    _refused: set[tuple[str, str]] = field(default_factory=set)
    _asking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def why_not(self, hook: Hook, context: Context) -> str:
        """Why a hook does not run, empty where it may. Asks a person where that is open."""
        if not context.session.trusted and hook.kind == "command":
            return "commands of hooks do not run in a folder that is not trusted"
        if hook.file.layer != "project":
            return ""
        wanted = await asyncio.to_thread(fingerprint_hook, hook, self.root, context.session.root)
        if wanted in await asyncio.to_thread(load_approved, self.root):
            return ""
        async with self._asking:
            return await self._ask(wanted, hook, context)

    async def ask_early(self, context: Context) -> None:
        """Put what is open to the person at the beginning, before the first hook is due."""
        for hook in self.hooks:
            if hook.file.layer == "project" and context.session.trusted:
                await self.why_not(hook, context)

    def forget(self, session: str) -> None:
        """A session is over, and with it what was refused in it."""
        self._refused = {one for one in self._refused if one[0] != session}

    async def _ask(self, wanted: str, hook: Hook, context: Context) -> str:
        session = context.session.id
        if (session, wanted) in self._refused:
            return "nobody has agreed to it"
        others, known = await asyncio.to_thread(self._open, session)
        if wanted in known:
            return ""
        # This one first, also where its file says something else by now: it is what would run.
        fresh = {wanted: hook, **others}
        shown = dict(list(fresh.items())[:MAX_LISTED])
        told = format_question(shown.values(), Path(self.root), len(fresh) - len(shown))
        try:
            answer = await context.session.ask_user(told, (RUN_CHOICE, SKIP_CHOICE))
        except UserUnavailable:
            self._refused |= {(session, one) for one in fresh}
            text = f"{len(fresh)} hooks of this folder's files do not run: nobody has agreed to them"
            context.session.emit(Warned(text, APPROVE_HINT, "hooks"))
            return "nobody has agreed to it"
        if answer.strip().lower() in (RUN_CHOICE.lower(), "yes", "y"):
            await asyncio.to_thread(approve_hooks, self.root, shown)
            return ""
        self._refused |= {(session, one) for one in shown}
        return "nobody has agreed to it"

    def _open(self, session: str) -> tuple[Mapping[str, Hook], frozenset[str]]:
        """The project's hooks that nobody has answered for yet, by their pins, and what is agreed to."""
        known = load_approved(self.root)
        pins = {
            fingerprint_hook(hook, self.root): hook for hook in self.hooks if hook.file.layer == "project"
        }
        done = known | {one for id, one in self._refused if id == session}
        return {one: hook for one, hook in pins.items() if one not in done}, known


def format_question(hooks: Iterable[Hook], root: Path, left: int = 0) -> str:
    """What a person is asked before hooks of a project run: what each does, and where it stands. A yes is
    for these; `left` others are asked about next."""
    rows = [describe_hook(hook, root) for hook in hooks]
    more = f"\n  ({left} more are asked about next)" if left > 0 else ""
    listed = "\n".join(f"  {row}" for row in rows)
    what = f"{len(rows)} hooks" if len(rows) > 1 else "a hook"
    return f"Files of this folder want to run {what} with your rights:\n{listed}{more}"


def describe_hook(hook: Hook, root: Path) -> str:
    """One hook in a line: `PreToolUse Bash: python3 check.py (.claude/settings.json:4)`."""
    matcher = " ".join(filter(None, (hook.event.name, hook.conditions[0].matcher, hook.conditions[0].when)))
    named = ", ".join(one.relative_to(root).as_posix() for one in find_scripts(hook, root))
    file = hook.file.path
    where = file.relative_to(root).as_posix() if file.is_relative_to(root) else str(file)
    runs = f"; runs {named}" if named else ""
    # A frontend drops what a terminal would act on: here it is part of what would run.
    return escape_json(f"{matcher}: {hook.text} ({where}:{hook.line}{runs}{_describe_sent_variables(hook)})")


def _describe_sent_variables(hook: Hook) -> str:
    """Which of the person's variables a request carries away."""
    allowed = hook.action.get("allowedEnvVars")
    names = [str(one) for one in allowed] if isinstance(allowed, list) else []
    return f"; sends your {', '.join(names)}" if names else ""
