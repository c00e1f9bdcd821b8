"""The top bar and the line of key hints."""

from collections.abc import Sequence
from typing import NamedTuple

from textual.strip import Strip
from textual.widget import Widget

from cockpit.tui.render.layout import Piece, StyledLine, cell_width, shorten, shorten_path
from cockpit.tui.render.number_format import format_cost
from cockpit.tui.render.widgets import to_strip

MODE_STYLES = {"ask": "machine", "auto-edit": "person", "plan": "function", "full": "bad", "deny": "muted"}


# How programs are isolated, as probed: label and colour. Nothing is shown while it is unknown.
ISOLATION_LABELS = {
    "full": ("sandbox", "good"),
    "partial": ("partial sandbox", "warn"),
    "none": ("no sandbox", "warn"),
}
NARROW_CELLS = 80


class TopBarStatus(NamedTuple):
    """What the top bar shows. `fullness` of the context window is 0 to 1, or None while it is unknown;
    `branch` is that of the worktree the session works in."""

    project: str
    path: str = ""
    title: str = ""
    trusted: bool = True
    model: str = ""
    mode: str = ""
    plan: str = ""
    isolation: str = ""
    fullness: float | None = None
    cost: float | None = 0.0
    spent: bool = False
    waits: int = 0
    note: str = ""
    branch: str = ""


class Bar(Widget):
    """A widget of one line."""

    DEFAULT_CSS = "Bar { height: 1; }"

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.line = StyledLine([])

    def show(self, line: StyledLine) -> None:
        self.line = line
        self.refresh()

    def render_line(self, y: int) -> Strip:
        return to_strip(self.line, self.size.width, self)


def top_line(status: TopBarStatus, width: int) -> StyledLine:
    """The place at the left, the session's settings at the right; what does not fit is left out."""
    right = _right_side(status, width)
    room = width - sum(cell_width(text) for text, _ in right) - 4
    left: list[Piece] = [(" ◆ ", "person/panel+b"), (shorten(status.project, max(6, room)), "body/panel+b")]
    room -= cell_width(status.project)
    if not status.trusted:
        left.append(("  not trusted", "warn/panel"))
        room -= 13
    if status.branch and room > 12:
        branch = shorten(status.branch, room - 4)
        left.append((f"  ⎇ {branch}", "function/panel"))
        room -= cell_width(branch) + 4
    if status.title and room > 14:
        left.append(("  " + shorten(status.title, room - 2), "muted/panel"))
    elif status.path and room > len(status.path) + 4 and status.path != status.project:
        left.append(("  " + shorten_path(status.path, room - 2), "muted/panel"))
    return StyledLine(left, "body/panel", right=right)


def _right_side(status: TopBarStatus, width: int) -> list[Piece]:
    pieces: list[Piece] = []
    if status.note:
        pieces.append((f"{status.note}   ", "muted/panel+i"))
    if status.waits:
        pieces += [(f" {status.waits} waiting ", "base/person+b"), ("   ", "body/panel")]
    if status.mode:
        key = MODE_STYLES.get(status.mode, "body")
        if status.mode == "plan":
            # In plan mode nothing can be changed: that must be obvious at a glance.
            pieces += [(f" plan{status.plan} ", f"base/{key}+b"), ("   ", "body/panel")]
        else:
            pieces += [(status.mode, f"{key}/panel+b"), ("   ", "body/panel")]
    pieces += _isolation_pieces(status.isolation, width)
    if status.model:
        name = status.model if width >= 120 else status.model.rsplit("/", 1)[-1].rpartition(":")[2]
        pieces += [(shorten(name, max(10, width // 4)), "body/panel"), ("   ", "body/panel")]
    pieces += _context_gauge(status.fullness, width)
    if status.spent:
        pieces.append((format_cost(status.cost), "body/panel"))
    if pieces and not pieces[-1][0].strip():
        pieces.pop()  # the gap before a piece that does not follow
    pieces.append((" ", "body/panel"))
    return pieces


def _isolation_pieces(isolation: str, width: int) -> list[Piece]:
    """Missing isolation is shown on every screen; full isolation only where there is room."""
    if isolation not in ISOLATION_LABELS or (isolation == "full" and width < NARROW_CELLS):
        return []
    label, key = ISOLATION_LABELS[isolation]
    return [(label, f"{key}/panel"), ("   ", "body/panel")]


def _context_gauge(fullness: float | None, width: int) -> list[Piece]:
    if fullness is None:
        return []
    key = "bad" if fullness > 0.9 else "warn" if fullness > 0.8 else "machine"
    filled = min(8, max(0, round(fullness * 8)))
    pieces: list[Piece] = [("ctx ", "muted/panel")]
    if width >= 90:
        pieces += [("━" * filled, f"{key}/panel"), ("─" * (8 - filled), "faint/panel"), (" ", "body/panel")]
    pieces += [(f"{fullness:.0%}", f"{key if fullness > 0.8 else 'body'}/panel"), ("   ", "body/panel")]
    return pieces


def hint_line(hints: Sequence[tuple[str, str]], width: int, right: str = "") -> StyledLine:
    """Keys with their labels, as many as fit, and a text at the right."""
    pieces: list[Piece] = [(" ", "body")]
    used = 1 + cell_width(right)
    for key, label in hints:
        need = cell_width(key) + cell_width(label) + 4
        if used + need > width:
            break
        pieces += [(key, "muted+b"), (f" {label}   ", "faint")]
        used += need
    return StyledLine(pieces, right=[(right, "faint")] if right else ())
