"""What this frontend remembers between two runs: the theme chosen, folders whose trust was refused.

Themes, with each one shown on the whole cockpit while the cursor is on it.

Folder trust: asked once, in plain words; refusing leaves a working cockpit.
"""

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cockpit import paths
from cockpit.tui.screens.dialogs import ConfirmDialog
from cockpit.tui.screens.picker import Picker, PickerChoice

if TYPE_CHECKING:
    from cockpit.tui.controller import SessionController


@dataclass(slots=True)
class Preferences:
    """`refused` are real paths of folders that a person said not to trust."""

    theme: str = ""
    refused: list[str] = field(default_factory=list)

    def save(self) -> None:
        """Write it beside the sessions; a disk that refuses loses only comfort."""
        path = _preferences_path()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            fresh = path.with_suffix(".new")
            fresh.write_text(json.dumps(asdict(self), indent=2) + "\n", "utf-8")
            fresh.replace(path)
        except OSError:
            return


def load_preferences() -> Preferences:
    """What was kept; an unreadable file is an empty memory."""
    try:
        table = json.loads(_preferences_path().read_text("utf-8"))
    except (OSError, ValueError):
        return Preferences()
    if not isinstance(table, dict):
        return Preferences()
    refused = table.get("refused", [])
    return Preferences(
        str(table.get("theme", "")),
        [one for one in refused if isinstance(one, str)] if isinstance(refused, list) else [],
    )


def _preferences_path() -> Path:
    return paths.state() / "tui.json"


async def choose_theme(desk: "SessionController") -> None:
    app = desk.app
    before = app.theme
    names = sorted(app.available_themes, key=lambda name: (not name.startswith("cockpit"), name))
    choices = [PickerChoice(name, name, _theme_kind(desk, name), now=name == before) for name in names]
    picker = Picker(
        app.palette, "Theme", choices, seen=desk.set_theme, foot="Up, Down look   Enter keep   Esc as before"
    )
    chosen = await app.push_screen_wait(picker)
    desk.set_theme(chosen or before)
    if chosen:
        desk.memory.theme = chosen
        desk.memory.save()


def _theme_kind(desk: "SessionController", name: str) -> str:
    theme = desk.app.available_themes[name]
    return "terminal's own colours" if theme.ansi else "dark" if theme.dark else "light"


_TRUST_TEXT = (
    "A folder can carry settings, instructions, hooks, servers and plugins that act by themselves. "
    "In a trusted folder cockpit uses them.",
    "",
    "Not trusted: cockpit still reads, searches and edits here, and asks as always; nothing of the "
    "folder's own configuration is read or run.",
)


async def ask_trust_once(desk: "SessionController") -> None:
    """Ask unless this folder was refused before."""
    if _real_root(desk) not in desk.memory.refused:
        await ask_trust(desk, desk.app.options.quiet)


async def ask_trust(desk: "SessionController", quiet: float = 0.0) -> None:
    link, app = desk.link, desk.app
    if link is None:
        return
    title = f"Do you trust {app.root}?"
    keys = (("y", "trust it"), ("n", "not now, work without"))
    screen = ConfirmDialog(app.palette, title, _TRUST_TEXT, keys, quiet=quiet, early=app.editor.insert)
    answer = await app.push_screen_wait(screen)
    real = _real_root(desk)
    if answer == "y":
        desk.memory.refused = [one for one in desk.memory.refused if one != real]
        await link.trust(True)
    elif answer == "n":
        if real not in desk.memory.refused:
            desk.memory.refused.append(real)
        if link.state.trusted:
            await link.trust(False)
    else:
        return
    desk.memory.save()


def _real_root(desk: "SessionController") -> str:
    return os.path.realpath(desk.app.root)
