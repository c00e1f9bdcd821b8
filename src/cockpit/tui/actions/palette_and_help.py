"""The palette and the help page, which list every action and command."""

from collections.abc import Awaitable, Callable

from cockpit.tui.actions.table import ACTIONS, BY_SLASH, ActionGroup, Keymap, key_name, keys_of
from cockpit.tui.composer.editor import PromptEditor
from cockpit.tui.render.layout import Piece, StyledLine, shorten
from cockpit.tui.render.widgets import ThemedApp
from cockpit.tui.screens.picker import Picker, PickerChoice
from cockpit.tui.screens.reader import TextReader
from cockpit.tui.session_link import SessionLink

_GROUP_TITLES: tuple[tuple[ActionGroup, str], ...] = (
    ("prompt", "Writing"),
    ("approval", "While an approval waits (the Composer empty, or Work in focus)"),
    ("view", "View"),
    ("code", "Code navigation"),
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


async def open_palette(
    app: ThemedApp,
    link: SessionLink,
    editor: PromptEditor,
    keymap: Keymap,
    run: Callable[[str], Awaitable[None]],
    send: Callable[[str], Awaitable[None]],
) -> None:
    """Choose an action to `run` or a command to `send`; a command with arguments goes to the Composer."""
    choices: list[PickerChoice] = []
    for action in ACTIONS:
        if action.listed:
            keys = keys_of(action.name, keymap)
            right = key_name(keys[0]) if keys else "/" + action.slash[0] if action.slash else ""
            label = action.label[0].upper() + action.label[1:]
            choices.append(PickerChoice(action.name, label, "", right))
    for row in link.commands.values():
        if row.name not in BY_SLASH:
            choices.append(PickerChoice(f"/{row.name}", f"/{row.name}", row.description, row.hint))
    picker = Picker("Everything", choices, placeholder="what do you want?")
    chosen = await app.push_screen_wait(picker)
    if chosen is None:
        return
    if not chosen.startswith("/"):
        await run(chosen)
    elif link.commands[chosen[1:]].hint:
        editor.put(chosen + " ")
        editor.focus()
    else:
        await send(chosen)


async def show_help(app: ThemedApp, link: SessionLink, keymap: Keymap) -> None:
    """Show all keys and commands."""
    reader = TextReader("Keys and commands", lambda width: _help_lines(link, keymap, width))
    await app.push_screen_wait(reader)


def _help_lines(link: SessionLink, keymap: Keymap, width: int) -> list[StyledLine]:
    lines: list[StyledLine] = []
    for group, title in _GROUP_TITLES:
        lines.append(_help_heading(title))
        for action in ACTIONS:
            if action.group == group:
                keys = [key_name(key) for key in keys_of(action.name, keymap)]
                keys += [f"/{slash}" for slash in action.slash]
                lines.append(_help_row(", ".join(keys) or "Ctrl+P", action.label, width))
        if group == "prompt":
            lines += [_help_row(prefix, label, width) for prefix, label in _PREFIX_HELP]
        lines.append(StyledLine([], "body/surface"))
    if link.commands:
        lines.append(_help_heading("Commands"))
        for row in sorted(link.commands.values(), key=lambda row: row.name):
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
        (shorten(label, width - column - 3), "body/surface"),
    ]
    return StyledLine(pieces, "body/surface")
