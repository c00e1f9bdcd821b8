"""The top bar and the line of hints: one line each, drawn from plain values."""

from collections.abc import Sequence
from typing import NamedTuple

from textual.strip import Strip
from textual.widget import Widget

from cockpit.tui.render import number_format
from cockpit.tui.render.layout import Piece, StyledLine, cell_width, shorten, shorten_path
from cockpit.tui.render.themes import Palette
from cockpit.tui.render.widgets import to_strip

MODE_STYLES = {
    "ask": "machine",
    "auto-edit": "person",
    "plan": "function",
    "full": "bad",
    "deny": "muted",
}


# What holds programs in, by what was probed: words and colour. "" while nobody knows.
ISOLATION_LABELS = {
    "full": ("sandbox", "good"),
    "partial": ("partial sandbox", "warn"),
    "none": ("no sandbox", "warn"),
}
NARROW_CELLS = 80


class TopBarStatus(NamedTuple):
    """What the top bar says. `fullness` is 0 to 1, or None while nobody knows; `branch` is that of the
    worktree the session stands in."""

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
    """One line, redrawn when it is given another."""

    DEFAULT_CSS = "Bar { height: 1; }"

    def __init__(self, palette: Palette, *, id: str) -> None:
        super().__init__(id=id)
        self.palette = palette
        self.line = StyledLine([])

    def show(self, line: StyledLine, palette: Palette) -> None:
        self.line, self.palette = line, palette
        self.refresh()

    def render_line(self, y: int) -> Strip:
        return to_strip(self.line, self.size.width, self.palette)


def top_line(standing: TopBarStatus, width: int) -> StyledLine:
    """Where am I, left; with what, right. What does not fit goes in the order of its worth."""
    right = _right_side(standing, width)
    room = width - sum(cell_width(text) for text, _ in right) - 4
    left: list[Piece] = [
        (" ◆ ", "person/panel+b"),
        (shorten(standing.project, max(6, room)), "body/panel+b"),
    ]
    room -= cell_width(standing.project)
    if not standing.trusted:
        left.append(("  not trusted", "warn/panel"))
        room -= 13
    if standing.branch and room > 12:
        branch = shorten(standing.branch, room - 4)
        left.append((f"  ⎇ {branch}", "function/panel"))
        room -= cell_width(branch) + 4
    if standing.title and room > 14:
        left.append(("  " + shorten(standing.title, room - 2), "muted/panel"))
    elif standing.path and room > len(standing.path) + 4 and standing.path != standing.project:
        left.append(("  " + shorten_path(standing.path, room - 2), "muted/panel"))
    return StyledLine(left, "body/panel", right=right)


def _right_side(standing: TopBarStatus, width: int) -> list[Piece]:
    pieces: list[Piece] = []
    if standing.note:
        pieces.append((f"{standing.note}   ", "muted/panel+i"))
    if standing.waits:
        pieces += [(f" {standing.waits} waiting ", "base/person+b"), ("   ", "body/panel")]
    if standing.mode:
        key = MODE_STYLES.get(standing.mode, "body")
        if standing.mode == "plan":
            # What can change nothing now must be seen at a glance.
            pieces += [(f" plan{standing.plan} ", f"base/{key}+b"), ("   ", "body/panel")]
        else:
            pieces += [(standing.mode, f"{key}/panel+b"), ("   ", "body/panel")]
    pieces += _isolation_pieces(standing.isolation, width)
    if standing.model:
        name = standing.model if width >= 120 else standing.model.rsplit("/", 1)[-1].rpartition(":")[2]
        pieces += [(shorten(name, max(10, width // 4)), "body/panel"), ("   ", "body/panel")]
    pieces += _context_gauge(standing.fullness, width)
    if standing.spent:
        pieces.append((number_format.format_cost(standing.cost), "body/panel"))
    if pieces and not pieces[-1][0].strip():
        pieces.pop()  # the distance to what does not follow
    pieces.append((" ", "body/panel"))
    return pieces


def _isolation_pieces(isolation: str, width: int) -> list[Piece]:
    """What is not held in is said on every screen; what is, where there is room."""
    if isolation not in ISOLATION_LABELS or (isolation == "full" and width < NARROW_CELLS):
        return []
    words, key = ISOLATION_LABELS[isolation]
    return [(words, f"{key}/panel"), ("   ", "body/panel")]


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
    """Keys and what they do, as many as fit."""
    pieces: list[Piece] = [(" ", "body")]
    used = 1 + cell_width(right)
    for key, label in hints:
        need = cell_width(key) + cell_width(label) + 4
        if used + need > width:
            break
        pieces += [(key, "muted+b"), (f" {label}   ", "faint")]
        used += need
    return StyledLine(pieces, right=[(right, "faint")] if right else ())
