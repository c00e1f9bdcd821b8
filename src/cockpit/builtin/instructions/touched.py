"""Instructions that wait for a file: those of a folder below the root, and rules with `paths:`.

They are told with the first result (or prompt) that touches such a file, once to each agent, so that what
every request begins with stays the same bytes. What was summarised away is told again when it is needed.
"""

import asyncio
import re
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path

from cockpit.builtin.instructions.files import part, refusing
from cockpit.formats.instruction_text import ALL, Refuses
from cockpit.formats.instructions import Told, always, nested, waiting
from cockpit.plugin.context import Context
from cockpit.plugin.safety import Add, Guard, Guarded, Pass, Ruling
from cockpit.protocol.messages import Json

NAMED = re.compile(r'(?<![\w@])@(?:"([^"\n]+)"|([^\s"\'`,;()<>]+))')
LINES = re.compile(r":\d+(?:-\d+)?(?::\d+)?$")
AGENTS = 256
ABOVE = "These files hold for what was touched, from now on:"


@dataclass
class Memory:
    """What one agent was told: the files, and how many characters more it may be told. Kept beside the
    session, so that neither a reload nor a restart tells it again."""

    seen: set[str] = field(default_factory=set)
    left: int = ALL
    looked: set[Path] = field(default_factory=set)


class Touched:
    """The guards of one registration, and what each agent was told by them."""

    def __init__(self) -> None:
        self._memories: OrderedDict[tuple[str, str], Memory] = OrderedDict()

    def guards(self) -> tuple[Guard, ...]:
        return (
            Guard("instructions-of-prompt", "prompt", self._prompt),
            Guard("instructions-of-files", "tool_result", self._result),
            Guard("instructions-anew", "compacted", self._compacted),
        )

    async def _result(self, guarded: Guarded, context: Context) -> Ruling:
        paths = guarded.facts.get("paths")
        return await self._tell([str(one) for one in paths] if isinstance(paths, list) else [], context)

    async def _prompt(self, guarded: Guarded, context: Context) -> Ruling:
        named = (found[1] or found[2].rstrip(".:!?") for found in NAMED.finditer(guarded.text))
        return await self._tell([LINES.sub("", one) for one in named], context)

    async def _compacted(self, guarded: Guarded, context: Context) -> Ruling:
        self._memories[_key(context)] = Memory()
        await asyncio.to_thread(_keep, context, Memory())
        return Pass()

    async def _tell(self, paths: list[str], context: Context) -> Ruling:
        if not paths or not context.session.trusted:
            return Pass()
        memory = self._memories.get(_key(context))
        if memory is None:
            memory = await asyncio.to_thread(_remembered, context)
        self._memories[_key(context)] = memory
        self._memories.move_to_end(_key(context))
        while len(self._memories) > AGENTS:
            self._memories.popitem(last=False)
        parts = await asyncio.to_thread(news, memory, Path(context.session.root), paths, Path.home())
        if not parts:
            return Pass()
        await asyncio.to_thread(_keep, context, memory)
        return Add("\n\n".join((ABOVE, *parts)))


def news(memory: Memory, root: Path, paths: list[str], home: Path) -> list[str]:
    """What the files at `paths` (relative to `root`) bring that was not told yet."""
    real_root = root.resolve()
    files = [root / path for path in paths]
    fresh = [
        one
        for one in files
        if one not in memory.looked and one.is_file() and one.resolve().is_relative_to(real_root)
    ]
    if not fresh:
        return []
    memory.looked.update(fresh)
    refuses = refusing(root)
    rules = waiting(root, True, home, refuses)
    at_first = {str(told.path.resolve()) for told in always(root, True, home, refuses)}
    parts: list[str] = []
    for file in fresh:
        for told in (*_below(root, file, home, refuses), *rules):
            real = str(told.path.resolve())
            if real in memory.seen or real in at_first or not told.text:
                continue
            if (told.paths and not told.concerns(str(file.resolve()))) or len(told.text) > memory.left:
                continue
            memory.seen.add(real)
            memory.left -= len(told.text)
            parts.append(part(told))
    return parts


def _below(root: Path, file: Path, home: Path, refuses: Refuses) -> list[Told]:
    """What the folders between the root and the file say, the nearest last."""
    folders = [one for one in reversed(file.parents) if one != root and one.is_relative_to(root)]
    return [told for folder in folders for told in nested(root, folder, home, refuses)]


def _key(context: Context) -> tuple[str, str]:
    return context.session.id, context.session.agent


def _document(context: Context) -> str:
    return "told-" + re.sub(r"[^\w-]", "-", context.session.agent)


def _remembered(context: Context) -> Memory:
    kept = context.session.store("session").load(_document(context))
    if not isinstance(kept, dict):
        return Memory()
    seen, left = kept.get("seen"), kept.get("left")
    words = {one for one in seen if isinstance(one, str)} if isinstance(seen, list) else set()
    return Memory(words, left if isinstance(left, int) else ALL)


def _keep(context: Context, memory: Memory) -> None:
    seen: list[Json] = [*sorted(memory.seen)]
    context.session.store("session").save(_document(context), {"seen": seen, "left": memory.left})
