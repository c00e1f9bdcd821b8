"""The top bar and the line of hints: one line each, drawn from plain values."""

from collections.abc import Sequence
from typing import NamedTuple

from textual.strip import Strip
from textual.widget import Widget

from cockpit.tui import figures
from cockpit.tui.palette import Palette
from cockpit.tui.trace.layout import Line, Piece, shortened, shortened_path, width_of
from cockpit.tui.trace.strips import to_strip

MODE_KEYS = {
    "ask": "machine",
    "auto-edit": "person",
    "plan": "function",
    "full": "bad",
    "deny": "muted",
}


# What holds programs in, by what was probed: words and colour. "" while nobody knows.
HELD = {
    "full": ("sandbox", "good"),
    "partial": ("partial sandbox", "warn"),
    "none": ("no sandbox", "warn"),
}
NARROW = 80


class Standing(NamedTuple):
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
        self.line = Line([])

    def show(self, line: Line, palette: Palette) -> None:
        self.line, self.palette = line, palette
        self.refresh()

    def render_line(self, y: int) -> Strip:
        return to_strip(self.line, self.size.width, self.palette)


def top_line(standing: Standing, width: int) -> Line:
    """Where am I, left; with what, right. What does not fit goes in the order of its worth."""
    right = _right(standing, width)
    room = width - sum(width_of(text) for text, _ in right) - 4
    left: list[Piece] = [
        (" ◆ ", "person/panel+b"),
        (shortened(standing.project, max(6, room)), "body/panel+b"),
    ]
    room -= width_of(standing.project)
    if not standing.trusted:
        left.append(("  not trusted", "warn/panel"))
        room -= 13
    if standing.branch and room > 12:
        branch = shortened(standing.branch, room - 4)
        left.append((f"  ⎇ {branch}", "function/panel"))
        room -= width_of(branch) + 4
    if standing.title and room > 14:
        left.append(("  " + shortened(standing.title, room - 2), "muted/panel"))
    elif standing.path and room > len(standing.path) + 4 and standing.path != standing.project:
        left.append(("  " + shortened_path(standing.path, room - 2), "muted/panel"))
    return Line(left, "body/panel", right=right)


def _right(standing: Standing, width: int) -> list[Piece]:
    pieces: list[Piece] = []
    if standing.note:
        pieces.append((f"{standing.note}   ", "muted/panel+i"))
    if standing.waits:
        pieces += [(f" {standing.waits} waiting ", "base/person+b"), ("   ", "body/panel")]
    if standing.mode:
        key = MODE_KEYS.get(standing.mode, "body")
        if standing.mode == "plan":
            # What can change nothing now must be seen at a glance.
            pieces += [(f" plan{standing.plan} ", f"base/{key}+b"), ("   ", "body/panel")]
        else:
            pieces += [(standing.mode, f"{key}/panel+b"), ("   ", "body/panel")]
    pieces += _held(standing.isolation, width)
    if standing.model:
        name = standing.model if width >= 120 else standing.model.rsplit("/", 1)[-1].rpartition(":")[2]
        pieces += [(shortened(name, max(10, width // 4)), "body/panel"), ("   ", "body/panel")]
    pieces += _gauge(standing.fullness, width)
    if standing.spent:
        pieces.append((figures.cost(standing.cost), "body/panel"))
    if pieces and not pieces[-1][0].strip():
        pieces.pop()  # the distance to what does not follow
    pieces.append((" ", "body/panel"))
    return pieces


def _held(isolation: str, width: int) -> list[Piece]:
    """What is not held in is said on every screen; what is, where there is room."""
    if isolation not in HELD or (isolation == "full" and width < NARROW):
        return []
    words, key = HELD[isolation]
    return [(words, f"{key}/panel"), ("   ", "body/panel")]


def _gauge(fullness: float | None, width: int) -> list[Piece]:
    if fullness is None:
        return []
    key = "bad" if fullness > 0.9 else "warn" if fullness > 0.8 else "machine"
    filled = min(8, max(0, round(fullness * 8)))
    pieces: list[Piece] = [("ctx ", "muted/panel")]
    if width >= 90:
        pieces += [("━" * filled, f"{key}/panel"), ("─" * (8 - filled), "faint/panel"), (" ", "body/panel")]
    pieces += [(f"{fullness:.0%}", f"{key if fullness > 0.8 else 'body'}/panel"), ("   ", "body/panel")]
    return pieces


def hint_line(hints: Sequence[tuple[str, str]], width: int, right: str = "") -> Line:
    """Keys and what they do, as many as fit."""
    pieces: list[Piece] = [(" ", "body")]
    used = 1 + width_of(right)
    for key, label in hints:
        need = width_of(key) + width_of(label) + 4
        if used + need > width:
            break
        pieces += [(key, "muted+b"), (f" {label}   ", "faint")]
        used += need
    return Line(pieces, right=[(right, "faint")] if right else ())
