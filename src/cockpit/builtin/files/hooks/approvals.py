"""Decides whether a hook may run, and stores what the user approved.

A user's own hooks run in trusted folders. A project's hook needs the user's approval for exactly what it
is, including the content of the project scripts it names. Approvals are stored as hashes in cockpit's
state folder, by the real path of the project.
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
STORE_FILE = "hooks.json"
# The ways to write the project folder: both variables, also with a default, and what git or the shell prints.
PROJECT_FOLDER = re.compile(
    r"\$(?:\{(?:(?:CLAUDE|COCKPIT)_PROJECT_DIR|PWD)(?::?-[^{}]*)?\}|(?:(?:CLAUDE|COCKPIT)_PROJECT_DIR|PWD)\b)"
    r"|(?:\$\(|`)\s*(?:git rev-parse --show-toplevel|pwd)[^()`]*(?:\)|`)"
)
# Separates words in a shell: `sh check.sh; exit 0` names check.sh.
WORD_SEPARATORS = re.compile(r"[\s\"'`;|&<>()={},]+")
MAX_SCRIPT_BYTES = 256_000_000
APPROVE_HINT = "review and approve them with `cockpit hooks approve`"
NOT_APPROVED = "it has not been approved"


def fingerprint_hook(hook: Hook, root: str, worktree: str = "") -> str:
    """Return the sha256 (hex) of a hook and of the project scripts that its command names. `worktree` is the
    worktree the hook would run in, where the same name may be another script."""
    script_hashes: dict[bytes, None] = {}
    for folder in dict.fromkeys((root, worktree or root)):
        for script in find_scripts(hook, Path(folder)):
            name = str(script.relative_to(folder)).encode("utf-8", "surrogateescape")
            try:
                content = file_io.read_bytes(script, MAX_SCRIPT_BYTES)
            except OSError as error:
                content = f"{error.errno}".encode()
            script_hashes[hashlib.sha256(name).digest() + hashlib.sha256(content).digest()] = None
    return hashlib.sha256(b"".join((hook.digest().encode(), *script_hashes))).hexdigest()


def find_scripts(hook: Hook, root: Path) -> tuple[Path, ...]:
    """Find the project files that a hook's command names, also after a `cd`. A needless file only causes a
    question; a missing one would run without a review."""
    if hook.kind != "command":
        return ()
    args = hook.action.get("args")
    words = _split_words(hook.action_text("command"), root)
    for arg in map(str, args if isinstance(args, list) else []):
        words |= {PROJECT_FOLDER.sub(lambda match: str(root), arg): None} | _split_words(arg, root)
    candidates = _existing_paths(root, words, root)
    folders = [path for path in candidates if path != root and path.is_dir()]
    candidates += [path for folder in folders for path in _existing_paths(folder, words, root)]
    return tuple(path for path in dict.fromkeys(candidates) if path.is_file())


def _existing_paths(folder: Path, words: Iterable[str], root: Path) -> list[Path]:
    """Return the paths in the project that `words` name, relative to `folder`."""
    existing: list[Path] = []
    for word in words:
        # A word may not be a valid path: too long, or with a NUL in it.
        with contextlib.suppress(OSError, ValueError):
            if word and (path := folder / word).is_relative_to(root) and path.exists():
                existing.append(path)
    return existing


def _split_words(text: str, root: Path) -> dict[str, None]:
    """Split a command line into words, both by shell quoting and ignoring quotes."""
    quoted = PROJECT_FOLDER.sub(lambda match: shlex.quote(str(root)), text)
    try:
        words = shlex.split(quoted)
    except ValueError:
        words = []
    return dict.fromkeys((*words, *WORD_SEPARATORS.split(PROJECT_FOLDER.sub(lambda match: str(root), text))))


def load_approved(root: str) -> frozenset[str]:
    """Return the fingerprints that the user approved for `root`."""
    rows = _load_store().get(root)
    return frozenset(filter(lambda row: isinstance(row, str), rows if isinstance(rows, list) else ()))


def approve_hooks(root: str, fingerprints: Iterable[str]) -> None:
    """Store the user's approval of hooks."""
    store = _load_store()
    store[root] = sorted({*load_approved(root), *fingerprints})
    _save_store(store)


def revoke_approvals(root: str) -> int:
    """Remove all approvals for `root` and return how many there were."""
    store, count = _load_store(), len(load_approved(root))
    if store.pop(root, None) is not None:
        _save_store(store)
    return count


def _load_store() -> dict[str, object]:
    try:
        store = json.loads(file_io.read_bytes(paths.state() / STORE_FILE))
    except (OSError, ValueError):
        # Without a readable file nothing counts as approved, and the user is asked again.
        return {}
    return store if isinstance(store, dict) else {}


def _save_store(store: Mapping[str, object]) -> None:
    write_atomically(paths.state() / STORE_FILE, json.dumps(store, indent=1).encode(), private=True)


@dataclass(slots=True)
class HookApprovals:
    """Approvals of the hooks of one root, and what the user refused in each session."""

    root: str
    hooks: tuple[Hook, ...] = ()
    _refused: set[tuple[str, str]] = field(default_factory=set)
    _question_lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def refusal_reason(self, hook: Hook, context: Context) -> str:
        """Return why a hook may not run, or an empty string. Asks the user about unanswered hooks."""
        if not context.session.trusted and hook.kind == "command":
            return "commands of hooks do not run in a folder that is not trusted"
        if hook.file.layer != "project":
            return ""
        fingerprint = await asyncio.to_thread(fingerprint_hook, hook, self.root, context.session.root)
        if fingerprint in await asyncio.to_thread(load_approved, self.root):
            return ""
        async with self._question_lock:
            return await self._ask(fingerprint, hook, context)

    async def ask_early(self, context: Context) -> None:
        """Ask about unanswered hooks at the start of a session, before the first of them is due."""
        for hook in self.hooks:
            if hook.file.layer == "project" and context.session.trusted:
                await self.refusal_reason(hook, context)

    def forget_session(self, session: str) -> None:
        """Drop what was refused in a session that has ended."""
        self._refused = {row for row in self._refused if row[0] != session}

    async def _ask(self, fingerprint: str, hook: Hook, context: Context) -> str:
        session = context.session.id
        if (session, fingerprint) in self._refused:
            return NOT_APPROVED
        others, approved = await asyncio.to_thread(self._unanswered, session)
        if fingerprint in approved:
            return ""
        # This hook comes first even if its file has changed by now: it is what would run.
        pending = {fingerprint: hook, **others}
        shown = dict(list(pending.items())[:MAX_LISTED])
        question = format_question(shown.values(), Path(self.root), len(pending) - len(shown))
        try:
            answer = await context.session.ask_user(question, (RUN_CHOICE, SKIP_CHOICE))
        except UserUnavailable:
            self._refused |= {(session, other) for other in pending}
            text = f"{len(pending)} hooks from this folder's files do not run: they have not been approved"
            context.session.emit(Warned(text, APPROVE_HINT, "hooks"))
            return NOT_APPROVED
        if answer.strip().lower() in (RUN_CHOICE.lower(), "yes", "y"):
            await asyncio.to_thread(approve_hooks, self.root, shown)
            return ""
        self._refused |= {(session, other) for other in shown}
        return NOT_APPROVED

    def _unanswered(self, session: str) -> tuple[Mapping[str, Hook], frozenset[str]]:
        """Return the project's unanswered hooks by fingerprint, and the approved fingerprints."""
        approved = load_approved(self.root)
        project_hooks = (hook for hook in self.hooks if hook.file.layer == "project")
        hooks = {fingerprint_hook(hook, self.root): hook for hook in project_hooks}
        answered = approved | {fingerprint for id, fingerprint in self._refused if id == session}
        return {key: hook for key, hook in hooks.items() if key not in answered}, approved


def format_question(hooks: Iterable[Hook], root: Path, remaining: int = 0) -> str:
    """Format the approval question: what each hook does and where it is declared. The answer covers `hooks`;
    the `remaining` others are asked about next."""
    rows = [describe_hook(hook, root) for hook in hooks]
    more = f"\n  ({remaining} more are asked about next)" if remaining > 0 else ""
    listed = "\n".join(f"  {row}" for row in rows)
    count = f"{len(rows)} hooks" if len(rows) > 1 else "a hook"
    return f"Files of this folder want to run {count} with your rights:\n{listed}{more}"


def describe_hook(hook: Hook, root: Path) -> str:
    """Describe a hook in one line: `PreToolUse Bash: python3 check.py (.claude/settings.json:4)`."""
    matcher = " ".join(filter(None, (hook.event.name, hook.conditions[0].matcher, hook.conditions[0].when)))
    scripts = ", ".join(path.relative_to(root).as_posix() for path in find_scripts(hook, root))
    file = hook.file.path
    location = file.relative_to(root).as_posix() if file.is_relative_to(root) else str(file)
    runs = f"; runs {scripts}" if scripts else ""
    allowed = hook.action.get("allowedEnvVars")
    variables = ", ".join(map(str, allowed)) if isinstance(allowed, list) else ""
    sends = f"; sends your {variables}" if variables else ""
    # A frontend drops terminal control characters; here they are part of what would run.
    return escape_json(f"{matcher}: {hook.text} ({location}:{hook.line}{runs}{sends})")
