"""A session for tests of single tools: real files and processes under a folder, what a tool keeps or
emits in plain lists, and a person whose answers are given beforehand."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from cockpit.navigation.navigator import LiveNavigator
from cockpit.plugin.changes import ChangeSet, Edit
from cockpit.plugin.context import Applied, Context, RunningCall, UserUnavailable
from cockpit.plugin.tools import Done, Tool
from cockpit.plugin.values import Scope, Skill
from cockpit.protocol.messages import Json, ToolCall, ToolResult
from cockpit.workspace.local import LocalFiles
from cockpit.workspace.processes.local_processes import LocalProcesses
from cockpit.workspace.resolver import Resolver


@dataclass
class Kept:
    texts: dict[str, str] = field(default_factory=dict)

    def keep(self, text: str) -> str:
        handle = f"r{len(self.texts) + 1}"
        self.texts[handle] = text
        return handle

    def page(self, handle: str, cursor: int, size: int) -> tuple[str, int, int]:
        text = self.texts[handle]
        following = cursor + size
        return text[cursor:following], following if following < len(text) else -1, len(text)


@dataclass
class Tools:
    all: tuple[Tool, ...] = ()

    def tools(self) -> tuple[Tool, ...]:
        return self.all

    def search(self, query: str) -> tuple[Tool, ...]:
        return tuple(tool for tool in self.all if tool.deferred and query in tool.name + tool.description)


class NoWorktrees:
    """An agent that stands in the session's folder and stays there."""

    now = None

    async def enter(self, name: str, *, ref: str = "", create: bool = True, carry: bool = True) -> Any:
        raise NotImplementedError("these tools enter no worktree")

    async def leave(self, settling: Any = None) -> Any:
        raise NotImplementedError("these tools leave no worktree")


@dataclass
class View:
    root: str
    id: str = "test"
    agent: str = "main"
    mode: Literal["ask"] = "ask"
    trusted: bool = True
    results: Kept = field(default_factory=Kept)
    toolbox: Tools = field(default_factory=Tools)
    emitted: list[Any] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    asked: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)

    called: list[tuple[str, dict[str, Json]]] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)

    @property
    def worktrees(self) -> "NoWorktrees":
        return NoWorktrees()

    def emit(self, event: Any) -> None:
        self.emitted.append(event)

    def store(self, scope: str) -> Any:
        raise NotImplementedError("these tools keep nothing")

    async def ask_user(self, question: str, options: tuple[str, ...] = ()) -> str:
        self.asked.append((question, options))
        if not self.answers:
            raise UserUnavailable("nobody is there")
        return self.answers.pop(0)

    async def call_tool(self, name: str, arguments: Mapping[str, Json]) -> ToolResult:
        self.called.append((name, dict(arguments)))
        return ToolResult("c2", name, "ok", self.outputs.pop(0) if self.outputs else "")

    def skills(self) -> tuple[Skill, ...]:
        return ()

    async def ask(self, query: Any) -> Any:
        raise NotImplementedError("these tools ask no query")


class Folder:
    """A workspace on a folder of the disk, for tools that read and run."""

    def __init__(self, root: str) -> None:
        self.resolver = Resolver(root)
        self.root = root
        self.files = LocalFiles(self.resolver)
        self.processes = LocalProcesses(root)

    def resolve(self, path: str, access: Literal["read", "write"]) -> str:
        return self.resolver.resolve(path, access)

    def is_inside(self, path: str) -> bool:
        return self.resolver.is_inside(path)

    async def plan(self, edits: tuple[Edit, ...], agent: str = "main", call: str = "") -> ChangeSet:
        raise NotImplementedError("these tools write nothing")

    async def apply(self, changes: ChangeSet) -> Applied:
        raise NotImplementedError("these tools write nothing")


def context_on(root: Any, settings: Mapping[str, Json] | None = None, **facts: Any) -> Context:
    """A context on `root`; `facts` are fields of `View`."""
    view: Any = View(str(root), **facts)
    nothing: Any = None
    progressed: list[str] = []
    running = RunningCall(ToolCall("c1", "tool", {}), None, progressed.append)
    folder = Folder(str(root))
    return Context(folder, LiveNavigator(folder), view, nothing, nothing, settings or {}, running)


def registered(
    plugin: Any, root: str = ".", trusted: bool = True, hook: str = "register_tools"
) -> dict[str, Any]:
    """What a plugin registers with one hook, by name."""
    found: dict[str, Any] = {}

    class Register:
        def __call__(self, value: Any) -> None:
            found[value.name] = value

        def changed(self) -> None:
            pass

    getattr(plugin, hook)(Register(), Scope(str(root), trusted, {}, "", ""))
    return found


async def call(tool: Tool, context: Context, /, **arguments: Json) -> Done:
    """What the tool brings back when what it showed is approved."""
    running = context.running()
    if tool.preview is None or running.preview is not None:
        return await tool.run(arguments, context)
    preview = await tool.preview(arguments, context)
    seal = preview.launch.seal() if preview.launch is not None else ""
    return await tool.run(arguments, replace(context, call=replace(running, preview=preview, seal=seal)))
