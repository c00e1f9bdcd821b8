"""How a tool call is drawn: one line that changes in place, and its output folded below it."""

from cockpit.protocol.content import Diff
from cockpit.tui import figures
from cockpit.tui.clean import clean_output
from cockpit.tui.state.entries import Called
from cockpit.tui.trace.contents import draw_block
from cockpit.tui.trace.layout import Line, Piece, paragraph, shortened, width_of
from cockpit.tui.trace.moment import SPINNER, Moment

_FOLDED_TAIL = 6
_FOLDED_DIFF = 14
_MOST_LINES = 4_000

_SIGNS: dict[str, tuple[str, str]] = {
    "running": ("⠹", "machine"),
    "waiting": ("◇", "person+b"),
    "ok": ("✓", "good"),
    "error": ("✗", "bad"),
    "denied": ("⊘", "warn"),
    "cancelled": ("■", "muted"),
    "interrupted": ("■", "warn"),
    "repeated": ("↺", "warn"),
}
_WORDS = {
    "waiting": "waits for you",
    "denied": "refused",
    "cancelled": "cancelled",
    "interrupted": "interrupted",
    "repeated": "not run again",
    "error": "failed",
}


def draw_call(entry: Called, width: int, moment: Moment) -> list[Line]:
    sign, key = ("⊘", "faint") if _is_planning(entry) else _SIGNS[entry.status]
    if entry.status == "running":
        sign = SPINNER[moment.step % 10]
    verb, _, rest = entry.title.partition(" ")
    right = _call_right(entry, moment)
    room = width - 4 - sum(width_of(text) for text, _ in right)
    shown = shortened(f"{verb} {rest}" if rest else verb, max(10, room))
    pieces: list[Piece] = [(" ", "body"), (sign, key), (" ", "body"), (shown[: len(verb)], "body+b")]
    pieces.append((shown[len(verb) :], "muted" if entry.status == "ok" else "body"))
    if entry.asked_by == "person":
        pieces.append(("  by you", "person"))
    return [Line(pieces, right=right, indent=3), *_call_body(entry, width)]


def _call_right(entry: Called, moment: Moment) -> list[Piece]:
    if entry.status == "running":
        seconds = max(0.0, moment.now - entry.began)
        return [(f"{seconds:.0f}s ", "machine")] if seconds >= 1 else []
    if _is_planning(entry):
        return [("not in plan mode ", "faint")]
    if word := _WORDS.get(entry.status):
        return [(f"{word} ", _SIGNS[entry.status][1].removesuffix("+b"))]
    pieces: list[Piece] = []
    diffs = [block for block in entry.blocks if isinstance(block, Diff)]
    if diffs:
        added, removed = sum(d.added for d in diffs), sum(d.removed for d in diffs)
        pieces += [(f"+{added}", "good"), (" ", "body"), (f"-{removed}", "bad"), (" ", "body")]
    elif entry.text and entry.kind in ("read", "search", "execute", "fetch"):
        pieces.append((figures.count(entry.text.rstrip("\n").count("\n") + 1, "line") + " ", "faint"))
    if entry.seconds >= 0.1:
        pieces.append((f" {figures.span(entry.seconds)} ", "faint"))
    return pieces


def _call_body(entry: Called, width: int) -> list[Line]:
    if entry.status in ("running", "waiting"):
        return _barred([clean_output(line) for line in entry.tail[-_FOLDED_TAIL - 1 :]], width, "muted")
    if entry.expanded and (entry.blocks or entry.text.strip()):
        return _call_whole(entry, width)
    if entry.expanded is False or _is_planning(entry):
        return []
    diffs = [block for block in entry.blocks if isinstance(block, Diff)]
    if diffs:
        lines = [line for block in diffs for line in draw_block(block, width, 5)]
        if len(diffs) == 1:
            del lines[0]  # the call's own line names the file
        return folded(lines, _FOLDED_DIFF)
    if not entry.text.strip():
        return []
    if entry.status in ("error", "denied"):
        return _barred(_ends(entry.text, _FOLDED_TAIL), width, "body" if entry.status == "error" else "warn")
    if entry.kind == "execute":
        return _barred(_ends(entry.text, _FOLDED_TAIL), width, "muted")
    if entry.asked_by == "person":
        return folded(_call_whole(entry, width), 2 * _FOLDED_TAIL)
    return []


def _is_planning(entry: Called) -> bool:
    """Refused by plan mode: expected, so one quiet line."""
    return entry.status == "denied" and entry.text.startswith("denied: plan mode")


def _call_whole(entry: Called, width: int) -> list[Line]:
    """The result as people see it: its blocks, or the text the model read."""
    if entry.blocks:
        lines: list[Line] = []
        for block in entry.blocks:
            lines += draw_block(block, width, 5)
    else:
        lines = _barred(entry.text.rstrip("\n").split("\n"), width, "muted")
    if len(lines) > _MOST_LINES:
        left = len(lines) - _MOST_LINES
        lines[_MOST_LINES:] = [Line([("   │ ", "faint"), (f"… {left:,} more lines", "muted+i")], indent=5)]
    return lines


def _ends(text: str, most: int) -> list[str]:
    """The last lines of `text`, with a line that counts what stands before them."""
    lines = text.rstrip("\n").split("\n")
    if len(lines) <= most + 1:
        return lines
    return [f"… {len(lines) - most:,} lines above (Ctrl+O)", *lines[-most:]]


def folded(lines: list[Line], most: int) -> list[Line]:
    if len(lines) <= most + 1:
        return lines
    more = Line([(" " * 5, "body"), (f"… {len(lines) - most:,} more lines (Ctrl+O)", "muted+i")], indent=5)
    return [*lines[:most], more]


def _barred(texts: list[str], width: int, key: str) -> list[Line]:
    bar: list[Piece] = [("   │ ", "faint")]
    lines: list[Line] = []
    for text in texts:
        lines += paragraph(text.expandtabs(4), width - 1, key=key, first=bar, rest=bar)
    return lines
