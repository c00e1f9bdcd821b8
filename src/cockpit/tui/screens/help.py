"""Help: every key and command there is now, from the one table and from the core."""

from typing import TYPE_CHECKING

from cockpit.tui.actions import ACTIONS, BY_SLASH, Group, key_name, keys_of
from cockpit.tui.screens.reader import Reader
from cockpit.tui.trace.layout import Line, Piece, shortened

if TYPE_CHECKING:
    from cockpit.tui.desk import Desk

_GROUPS: tuple[tuple[Group, str], ...] = (
    ("prompt", "Writing"),
    ("approval", "While an approval waits (the Composer empty, or Work in focus)"),
    ("view", "Looking"),
    ("code", "Code, without any model"),
    ("trace", "In the Trace (F3)"),
    ("work", "In Work (F5)"),
    ("session", "Session"),
)
_SIGNS = (
    ("/", "commands"),
    ("@", "name a file, a symbol, callers:NAME or tests:NAME"),
    ("!", "run a shell command yourself"),
    ("?", "this help, in an empty Composer"),
    (">", "the palette, in an empty Composer"),
)


async def show(desk: "Desk") -> None:
    app = desk.app
    await app.push_screen_wait(Reader(app.palette, "Keys and commands", lambda width: _lines(desk, width)))


def _lines(desk: "Desk", width: int) -> list[Line]:
    lines: list[Line] = []
    for group, title in _GROUPS:
        lines += [_title(title)]
        for action in ACTIONS:
            if action.group == group:
                keys = [key_name(key) for key in keys_of(action.name, desk.keymap)]
                keys += [f"/{slash}" for slash in action.slash]
                lines.append(_row(", ".join(keys) or "Ctrl+P", action.label, width))
        if group == "prompt":
            lines += [_row(sign, label, width) for sign, label in _SIGNS]
        lines.append(Line([], "body/surface"))
    commands = list(desk.link.commands.values()) if desk.link is not None else []
    if commands:
        lines.append(_title("Commands"))
        for row in sorted(commands, key=lambda one: one.name):
            if row.name not in BY_SLASH:
                lines.append(_row(f"/{row.name} {row.hint}".strip(), row.description, width))
    return lines


def _title(text: str) -> Line:
    return Line([(text, "heading/surface+b")], "body/surface")


def _row(keys: str, label: str, width: int) -> Line:
    column = min(28, width // 2)
    pieces: list[Piece] = [
        ("  ", "body/surface"),
        (shortened(keys, column - 2).ljust(column), "person/surface"),
    ]
    pieces.append((shortened(label, width - column - 3), "body/surface"))
    return Line(pieces, "body/surface")
