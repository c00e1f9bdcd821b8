"""The palette: every action and every command by name.

Help: every key and command there is now, from the one table and from the core.
"""

from typing import TYPE_CHECKING

from cockpit.tui.actions import prompts
from cockpit.tui.actions.table import ACTIONS, BY_SLASH, ActionGroup, key_name, keys_of
from cockpit.tui.render.layout import Piece, StyledLine, shorten
from cockpit.tui.screens.picker import Picker, PickerChoice
from cockpit.tui.screens.reader import TextReader

if TYPE_CHECKING:
    from cockpit.tui.controller import SessionController


async def open_palette(desk: "SessionController") -> None:
    app = desk.app
    choices: list[PickerChoice] = []
    for action in ACTIONS:
        if action.listed:
            keys = keys_of(action.name, desk.keymap)
            right = key_name(keys[0]) if keys else "/" + action.slash[0] if action.slash else ""
            label = action.label[0].upper() + action.label[1:]
            choices.append(PickerChoice(f"do:{action.name}", label, "", right))
    if desk.link is not None:
        for row in desk.link.commands.values():
            if row.name not in BY_SLASH:
                choices.append(PickerChoice(f"say:/{row.name}", f"/{row.name}", row.description, row.hint))
    chosen = await app.push_screen_wait(
        Picker(app.palette, "Everything", choices, placeholder="what do you want?")
    )
    if chosen is None:
        return
    what, _, value = chosen.partition(":")
    if what == "do":
        await prompts.run_action(desk, value)
    elif desk.link is not None and desk.link.commands[value[1:]].hint:
        app.editor.put(value + " ")
        app.editor.focus()
    else:
        await prompts.send_text(desk, value, queue=False)


_GROUP_TITLES: tuple[tuple[ActionGroup, str], ...] = (
    ("prompt", "Writing"),
    ("approval", "While an approval waits (the Composer empty, or Work in focus)"),
    ("view", "Looking"),
    ("code", "Code, without any model"),
    ("trace", "In the Trace (F3)"),
    ("work", "In Work (F5)"),
    ("session", "Session"),
)
_PREFIX_HELP = (
    ("/", "commands"),
    ("@", "name a file, a symbol, callers:NAME or tests:NAME"),
    ("!", "run a shell command yourself"),
    ("?", "this help, in an empty Composer"),
    (">", "the palette, in an empty Composer"),
)


async def show_help(desk: "SessionController") -> None:
    app = desk.app
    await app.push_screen_wait(
        TextReader(app.palette, "Keys and commands", lambda width: _help_lines(desk, width))
    )


def _help_lines(desk: "SessionController", width: int) -> list[StyledLine]:
    lines: list[StyledLine] = []
    for group, title in _GROUP_TITLES:
        lines += [_help_heading(title)]
        for action in ACTIONS:
            if action.group == group:
                keys = [key_name(key) for key in keys_of(action.name, desk.keymap)]
                keys += [f"/{slash}" for slash in action.slash]
                lines.append(_help_row(", ".join(keys) or "Ctrl+P", action.label, width))
        if group == "prompt":
            lines += [_help_row(sign, label, width) for sign, label in _PREFIX_HELP]
        lines.append(StyledLine([], "body/surface"))
    commands = list(desk.link.commands.values()) if desk.link is not None else []
    if commands:
        lines.append(_help_heading("Commands"))
        for row in sorted(commands, key=lambda one: one.name):
            if row.name not in BY_SLASH:
                lines.append(_help_row(f"/{row.name} {row.hint}".strip(), row.description, width))
    return lines


def _help_heading(text: str) -> StyledLine:
    return StyledLine([(text, "heading/surface+b")], "body/surface")


def _help_row(keys: str, label: str, width: int) -> StyledLine:
    column = min(28, width // 2)
    pieces: list[Piece] = [
        ("  ", "body/surface"),
        (shorten(keys, column - 2).ljust(column), "person/surface"),
    ]
    pieces.append((shorten(label, width - column - 3), "body/surface"))
    return StyledLine(pieces, "body/surface")
