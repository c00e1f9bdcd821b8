"""`@path` in a prompt: completed from the project's files, and the file put beside the words."""

import re

from cockpit.plugin import hookimpl
from cockpit.plugin.context import Context, PathRefused
from cockpit.plugin.values import Mention, Register, Scope
from cockpit.protocol.content import Block, Code, Text
from cockpit.protocol.queries import Completion

MAX_COMPLETIONS = 20
MAX_SCANNED = 50_000
MAX_TEXT = 50_000
LINE_RANGE = re.compile(r"\d+(?:-\d+)?(?::\d+)?")


async def complete_file(word: str, context: Context) -> tuple[Completion, ...]:
    """Files whose path holds the letters of `word` in order, the closest first."""
    wanted = word.strip('"').lower()
    scored: list[tuple[tuple[int, int, str], str]] = []
    seen = 0
    async for entry in context.workspace.files.walk():
        seen += 1
        score = _score(wanted, entry.path.lower())
        if score is not None:
            scored.append(((score, len(entry.path), entry.path), entry.path))
        if seen >= MAX_SCANNED:
            break
    return tuple(_completion(path) for _, path in sorted(scored)[:MAX_COMPLETIONS])


def _completion(path: str) -> Completion:
    insert = f'@"{path}" ' if " " in path else f"@{path} "
    folder, _, name = path.rpartition("/")
    return Completion(insert, name, folder, 0, 0)


def _score(wanted: str, path: str) -> int | None:
    """How well a path fits, 0 best: name begins, name holds, path holds, letters in order."""
    name = path.rpartition("/")[2]
    if not wanted or name.startswith(wanted):
        return 0
    if wanted in name:
        return 1
    if wanted in path:
        return 2
    letters = iter(path)
    return 3 if all(letter in letters for letter in wanted) else None


async def expand_file(word: str, context: Context) -> Block | None:
    """The file, a folder's entries, or a note that there is no such path; None for no path at all."""
    path, _, lines = word.partition(":")
    if lines and not LINE_RANGE.fullmatch(lines):
        return None  # `file:Class.method`: a symbol, not the whole file
    try:
        entry = await context.workspace.files.stat(path)
        if entry.kind == "folder":
            names = [
                one.path + ("/" if one.kind == "folder" else "")
                for one in await context.workspace.files.entries(path)
            ]
            return Text(f"{path}/ holds:\n" + "\n".join(names))
        raw = await context.workspace.files.read(path)
    except PathRefused as error:
        return Text(f"[@{word}: {error}]")
    except OSError:
        return None
    if b"\0" in raw[:8192]:
        return Text(f"[@{word} is a binary file of {len(raw):,} bytes]")
    text, first = raw.decode("utf-8", "replace"), 1
    if lines:
        begin, _, end = lines.partition("-")
        if begin.isdigit():
            first = max(1, int(begin))
            last = int(end) if end.isdigit() else first
            text = "\n".join(text.split("\n")[first - 1 : last])
    if len(text) > MAX_TEXT:
        text = text[:MAX_TEXT] + f"\n[cut: {path} has {len(raw):,} bytes; read the rest with a tool]"
    return Code(text, "", path, first)


@hookimpl
def register_mentions(register: Register, scope: Scope) -> None:
    register(Mention("files", "@", complete_file, expand_file))
