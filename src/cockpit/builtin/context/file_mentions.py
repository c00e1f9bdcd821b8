"""`@path` in a prompt: completes project files, and adds the mentioned file to the prompt."""

import re

from cockpit.fuzzy_match import rank_path
from cockpit.plugin import hookimpl
from cockpit.plugin.context import Context, PathRefused
from cockpit.plugin.values import Mention, Register, Scope
from cockpit.protocol.content import Block, Code, Text
from cockpit.protocol.queries import Completion

MAX_COMPLETIONS = 20
MAX_SCANNED = 50_000
MAX_TEXT = 50_000
LINE_RANGE = re.compile(r"\d+(?:-\d+)?(?::\d+)?")


@hookimpl
def register_mentions(register: Register, scope: Scope) -> None:
    register(Mention("files", "@", complete_file, expand_file))


async def complete_file(word: str, context: Context) -> tuple[Completion, ...]:
    """Complete files whose path contains the letters of `word` in order, the best match first."""
    wanted = word.strip('"').lower()
    matches: list[tuple[int, int, str]] = []
    scanned = 0
    async for entry in context.workspace.files.walk():
        scanned += 1
        rank = rank_path(wanted, entry.path.lower())
        if rank is not None:
            matches.append((rank, len(entry.path), entry.path))
        if scanned >= MAX_SCANNED:
            break
    completions: list[Completion] = []
    for _, _, path in sorted(matches)[:MAX_COMPLETIONS]:
        folder, _, name = path.rpartition("/")
        completions.append(Completion(f'@"{path}" ' if " " in path else f"@{path} ", name, folder, 0, 0))
    return tuple(completions)


async def expand_file(word: str, context: Context) -> Block | None:
    """Return the file or the folder listing, or a note why it cannot be read; None if it is not a path."""
    path, _, lines = word.partition(":")
    if lines and not LINE_RANGE.fullmatch(lines):
        return None  # `file:Class.method` names a symbol, not the whole file.
    try:
        if (await context.workspace.files.stat(path)).kind == "folder":
            entries = await context.workspace.files.entries(path)
            names = [entry.path + ("/" if entry.kind == "folder" else "") for entry in entries]
            return Text(f"{path}/ contains:\n" + "\n".join(names))
        content = await context.workspace.files.read(path)
    except PathRefused as error:
        return Text(f"[@{word}: {error}]")
    except OSError:
        return None
    if b"\0" in content[:8192]:
        return Text(f"[@{word} is a binary file of {len(content):,} bytes]")
    text, first = content.decode("utf-8", "replace"), 1
    begin, _, end = lines.partition("-")
    if begin.isdigit():
        first = max(1, int(begin))
        last = int(end) if end.isdigit() else first
        text = "\n".join(text.split("\n")[first - 1 : last])
    if len(text) > MAX_TEXT:
        text = text[:MAX_TEXT] + f"\n[cut: {path} has {len(content):,} bytes; read the rest with a tool]"
    return Code(text, "", path, first)
