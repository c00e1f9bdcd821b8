"""`instructions`: the system prompt, and the instruction files of the user and the project.

General instruction files are part of every request. Those of a folder below the root, and rules with
`paths:`, are added with the first result or prompt that touches such a file, once per agent, so that the
beginning of each request stays the same bytes. After a compaction they are added again when needed. Files of
the folder are read only where it is trusted.
"""

import asyncio
import re
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path

from cockpit.builtin.context.system_prompt import (
    MAIN_PROMPT,
    SUBAGENT_PROMPT,
    describe_environment,
    describe_project,
    read_branch,
)
from cockpit.formats.instructions import (
    MAX_CHARACTERS,
    InstructionFile,
    RefusePath,
    load_always,
    load_conditional,
    load_nested,
)
from cockpit.plugin import hookimpl
from cockpit.plugin.context import Context
from cockpit.plugin.safety import Add, Guard, Guarded, Pass, Ruling
from cockpit.plugin.values import ContextSource, Register, Scope
from cockpit.protocol.messages import Json
from cockpit.workspace.resolver import Resolver

MENTION_PATTERN = re.compile(r'(?<![\w@])@(?:"([^"\n]+)"|([^\s"\'`,;()<>]+))')
LINE_SUFFIX = re.compile(r":\d+(?:-\d+)?(?::\d+)?$")
MAX_AGENTS = 256
HEADING = "These files apply to what was touched, from now on:"


@hookimpl
def register_context(register: Register, scope: Scope) -> None:
    async def collect_role(context: Context) -> str:
        # A subagent's prompt is shorter: its role says the rest.
        return MAIN_PROMPT if context.session.agent == "main" else SUBAGENT_PROMPT

    async def collect_project(context: Context) -> str:
        root = Path(context.session.root)
        return await asyncio.to_thread(describe_project, root) if context.session.trusted else ""

    async def collect_files(context: Context) -> str:
        root, trusted = Path(context.session.root), context.session.trusted
        return await asyncio.to_thread(collect_instruction_files, root, trusted, Path.home())

    async def collect_environment(context: Context) -> str:
        branch = await asyncio.to_thread(read_branch, Path(context.session.root))
        return describe_environment(context.session, branch)

    register(ContextSource("role", "prefix", "session", collect_role, order=0))
    register(ContextSource("project", "prefix", "turn", collect_project, order=10))
    register(ContextSource("instruction-files", "prefix", "turn", collect_files, deadline_ms=500, order=20))
    register(ContextSource("surroundings", "suffix", "turn", collect_environment, order=90))


@hookimpl
def register_guards(register: Register, scope: Scope) -> None:
    for guard in PathInstructions().guards():
        register(guard)


def collect_instruction_files(root: Path, trusted: bool, home: Path) -> str:
    """Join the instruction files that are part of every request, each under a heading; may be empty."""
    files = load_always(root, trusted, home, build_refusal_check(root))
    parts = [_format_file(file) for file in files if file.text]
    if sum(len(file.text) for file in files) >= MAX_CHARACTERS:
        parts.append(f"(instruction files beyond {MAX_CHARACTERS:,} characters in total were left out)")
    return "\n\n".join(parts)


def build_refusal_check(root: Path) -> RefusePath:
    """Build a check that refuses what no tool may read, so that `@.env` in a file is not imported."""
    resolver = Resolver(str(root))

    def refusal_reason(path: Path) -> str:
        verdict = resolver.judge(str(path), "read")
        return verdict.reason if verdict.level == "deny" else ""

    return refusal_reason


def _format_file(file: InstructionFile) -> str:
    return f"# Instructions from {file.name}\n\n{file.text}"


@dataclass
class InstructionMemory:
    """The instruction files that one agent has received, and how many more characters it may receive.

    Stored with the session, so that neither a reload nor a restart repeats them. `checked` are the touched
    files that were already processed.
    """

    seen: set[str] = field(default_factory=set)
    remaining: int = MAX_CHARACTERS
    checked: set[Path] = field(default_factory=set)


class PathInstructions:
    """Guards that add the instructions for touched files, each once per agent."""

    def __init__(self) -> None:
        self._memories: OrderedDict[tuple[str, str], InstructionMemory] = OrderedDict()

    def guards(self) -> tuple[Guard, ...]:
        return (
            Guard("instructions-of-prompt", "prompt", self._check_prompt),
            Guard("instructions-of-files", "tool_result", self._check_result),
            Guard("instructions-after-compaction", "compacted", self._forget),
        )

    async def _check_result(self, guarded: Guarded, context: Context) -> Ruling:
        paths = guarded.facts.get("paths")
        return await self._add_for(list(map(str, paths)) if isinstance(paths, list) else [], context)

    async def _check_prompt(self, guarded: Guarded, context: Context) -> Ruling:
        mentions = MENTION_PATTERN.finditer(guarded.text)
        paths = (mention[1] or mention[2].rstrip(".:!?") for mention in mentions)
        return await self._add_for([LINE_SUFFIX.sub("", path) for path in paths], context)

    async def _forget(self, guarded: Guarded, context: Context) -> Ruling:
        self._memories[context.session.id, context.session.agent] = InstructionMemory()
        await asyncio.to_thread(_save_memory, context, InstructionMemory())
        return Pass()

    async def _add_for(self, paths: list[str], context: Context) -> Ruling:
        if not paths or not context.session.trusted:
            return Pass()
        key = context.session.id, context.session.agent
        memory = self._memories.get(key)
        if memory is None:
            memory = await asyncio.to_thread(_load_memory, context)
        self._memories[key] = memory
        self._memories.move_to_end(key)
        while len(self._memories) > MAX_AGENTS:
            self._memories.popitem(last=False)
        root = Path(context.session.root)
        parts = await asyncio.to_thread(find_new_instructions, memory, root, paths, Path.home())
        if not parts:
            return Pass()
        await asyncio.to_thread(_save_memory, context, memory)
        return Add("\n\n".join((HEADING, *parts)))


def find_new_instructions(memory: InstructionMemory, root: Path, paths: list[str], home: Path) -> list[str]:
    """Return the instructions for the files at `paths` (relative to `root`) that are new, and store them in
    `memory`."""
    real_root = root.resolve()
    touched = [
        file
        for file in (root / path for path in paths)
        if file not in memory.checked and file.is_file() and file.resolve().is_relative_to(real_root)
    ]
    if not touched:
        return []
    memory.checked.update(touched)
    refuse = build_refusal_check(root)
    rules = load_conditional(root, True, home, refuse)
    always = {str(file.path.resolve()) for file in load_always(root, True, home, refuse)}
    parts: list[str] = []
    for path in touched:
        # Those of the folders between the root and the file, the nearest last.
        folders = [
            folder for folder in reversed(path.parents) if folder != root and folder.is_relative_to(root)
        ]
        nested = [file for folder in folders for file in load_nested(root, folder, home, refuse)]
        for file in (*nested, *rules):
            real = str(file.path.resolve())
            if real in memory.seen or real in always or not 0 < len(file.text) <= memory.remaining:
                continue
            if file.paths and not file.concerns(str(path.resolve())):
                continue
            memory.seen.add(real)
            memory.remaining -= len(file.text)
            parts.append(_format_file(file))
    return parts


def _document_name(context: Context) -> str:
    return "told-" + re.sub(r"[^\w-]", "-", context.session.agent)


def _load_memory(context: Context) -> InstructionMemory:
    stored = context.session.store("session").load(_document_name(context))
    if not isinstance(stored, dict):
        return InstructionMemory()
    seen, left = stored.get("seen"), stored.get("left")
    paths = {path for path in seen if isinstance(path, str)} if isinstance(seen, list) else set()
    return InstructionMemory(paths, left if isinstance(left, int) else MAX_CHARACTERS)


def _save_memory(context: Context, memory: InstructionMemory) -> None:
    seen: list[Json] = [*sorted(memory.seen)]
    context.session.store("session").save(_document_name(context), {"seen": seen, "left": memory.remaining})
