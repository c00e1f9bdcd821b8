"""What the screen knows of the code: the file at hand, its outline, the problems, and which tab is open.

Events change it in `reduce`; answers to queries are put in by `tui/asking`. `stale` names what must be
asked again.
"""

from dataclasses import dataclass, field
from typing import Literal

from cockpit.protocol import events
from cockpit.protocol.code import ProblemRows, SymbolRows

Tab = Literal["now", "outline", "problems"]
TABS: tuple[Tab, ...] = ("now", "outline", "problems")


@dataclass(slots=True)
class CodeState:
    """`line` is where in the file at hand somebody is (0: nobody said); `tab` is what a person chose,
    which what waits for them hides for a while; `symbol` is the place they chose last."""

    tab: Tab = "now"
    at_hand: str = ""
    line: int = 0
    symbol: str = ""
    outline: SymbolRows | None = None
    outline_of: str = ""
    problems: ProblemRows | None = None
    stale: set[Literal["outline", "problems", "servers"]] = field(default_factory=set)


def seen(code: CodeState, path: str, line: int = 0) -> None:
    """`path` is the file at hand now."""
    if path != code.at_hand:
        code.outline = None
    code.at_hand, code.line = path, line
    code.stale.add("outline")


def called(code: CodeState, event: events.ToolCallStarted, root: str) -> None:
    """A call that reads or writes a file makes it the one at hand."""
    arguments = event.call.arguments
    path = arguments.get("path") or arguments.get("file_path")
    if event.kind not in ("read", "edit") or not isinstance(path, str) or not path.strip():
        return
    line = next((n for key in ("line", "offset") if isinstance(n := arguments.get(key), int)), 0)
    seen(code, path.strip().removeprefix(root + "/").removeprefix("./"), line)


def changed(code: CodeState, event: events.FileChanged) -> None:
    """A file is different on disk."""
    if event.change == "deleted":
        if event.path == code.at_hand:
            code.at_hand, code.outline = "", None
    elif code.at_hand in (event.path, event.moved_from):
        seen(code, event.path, code.line)
    elif not code.at_hand:
        seen(code, event.path)


def panel(code: CodeState, event: events.PanelChanged) -> None:
    """What the servers know, or how they are, or files on disk, is different."""
    if event.panel == "problems":
        code.stale.add("problems")
    elif event.panel == "files":
        code.stale.add("outline")
    elif event.panel == "servers":
        code.stale.add("servers")
        if code.outline is not None and not code.outline.complete:
            code.stale.add("outline")
