"""Preferences stored between runs: the chosen theme, and the folders that the user does not trust."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from textual.theme import Theme

from cockpit import paths
from cockpit.protocol.queries import ListingRow
from cockpit.tui.composer.editor import PromptEditor
from cockpit.tui.render import themes
from cockpit.tui.render.widgets import ThemedApp
from cockpit.tui.screens.dialogs import ConfirmDialog
from cockpit.tui.screens.picker import Picker, PickerChoice
from cockpit.tui.session_link import SessionLink

_TRUST_TEXT = (
    "A folder can carry settings, instructions, hooks, servers and plugins that act by themselves. "
    "In a trusted folder cockpit uses them.",
    "",
    "Not trusted: cockpit still reads, searches and edits here, and asks as always; the folder's "
    "own configuration is neither read nor run.",
)


@dataclass(slots=True)
class Preferences:
    """`refused` are the real paths of the folders that the user does not trust."""

    theme: str = ""
    refused: list[str] = field(default_factory=list)

    def save(self) -> None:
        """Write the file beside the sessions; errors are ignored, as only convenience is lost."""
        path = _preferences_path()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_suffix(".new")
            temporary.write_text(json.dumps(asdict(self), indent=2) + "\n", "utf-8")
            temporary.replace(path)
        except OSError:
            return


def load_preferences() -> Preferences:
    """The stored preferences; an unreadable file counts as empty."""
    try:
        table = json.loads(_preferences_path().read_text("utf-8"))
    except (OSError, ValueError):
        return Preferences()
    if not isinstance(table, dict):
        return Preferences()
    refused = table.get("refused", [])
    folders = [folder for folder in refused if isinstance(folder, str)] if isinstance(refused, list) else []
    return Preferences(str(table.get("theme", "")), folders)


def _preferences_path() -> Path:
    return paths.state() / "tui.json"


class ThemeSelection:
    """The theme in use. The requested theme is used as soon as it is known: a plugin may provide it later
    than the files do."""

    def __init__(self, app: ThemedApp, preferences: Preferences) -> None:
        self._app = app
        self._preferences = preferences
        self._requested = app.options.theme or preferences.theme

    def load_files(self) -> list[str]:
        """Register the themes of files. Returns what is wrong with some."""
        loaded, problems = themes.find_themes()
        self._register(loaded)
        return problems

    def load_plugins(self, rows: Sequence[ListingRow]) -> list[str]:
        """Register the themes of plugins. Returns what is wrong with some, or with the requested theme."""
        loaded, problems = themes.plugin_themes(rows)
        self._register(loaded)
        if self._requested:
            problems.append(f"unknown theme {self._requested}; /theme lists them")
            self._requested = ""
        return problems

    def _register(self, loaded: Sequence[Theme]) -> None:
        for theme in loaded:
            if theme != self._app.available_themes.get(theme.name):  # else everything would be styled again
                self._app.register_theme(theme)
        if self._requested in self._app.available_themes:
            self.use(self._requested)
            self._requested = ""

    def use(self, name: str) -> None:
        """Switch to a theme without remembering it."""
        if self._app.theme != name:
            self._app.theme = name
        self._app.palette = themes.Palette(themes.theme_colours(self._app.current_theme))
        for screen in self._app.screen_stack:
            for widget in screen.walk_children():
                widget.refresh()

    def select(self, name: str) -> bool:
        """Switch to a theme and remember it; false where there is none of that name."""
        if name not in self._app.available_themes:
            return False
        self.use(name)
        self._preferences.theme = name
        self._preferences.save()
        return True

    async def choose(self) -> None:
        """Let the user choose a theme; each is shown while the cursor is on it."""
        app, before = self._app, self._app.theme
        names = sorted(app.available_themes, key=lambda name: (not name.startswith("cockpit"), name))
        choices = [PickerChoice(name, name, self._kind(name), now=name == before) for name in names]
        foot = "Up, Down preview   Enter select   Esc cancel"
        picker = Picker("Theme", choices, preview=self.use, foot=foot)
        chosen = await app.push_screen_wait(picker)
        if chosen is None or not self.select(chosen):
            self.use(before)

    def _kind(self, name: str) -> str:
        theme = self._app.available_themes[name]
        return "terminal's own colours" if theme.ansi else "dark" if theme.dark else "light"


def is_trust_refused(preferences: Preferences, root: str) -> bool:
    """Whether the user refused to trust the folder `root`."""
    return _real_path(root) in preferences.refused


def _real_path(root: str) -> str:
    return str(Path(root).resolve())


async def ask_trust(
    app: ThemedApp, link: SessionLink, preferences: Preferences, editor: PromptEditor, quiet: float = 0.0
) -> None:
    """Ask whether to trust the folder; for `quiet` seconds what is typed goes to the Composer."""
    keys = (("y", "trust it"), ("n", "not now"))
    folder = _real_path(link.root)
    title = f"Do you trust {link.root}?"
    dialog = ConfirmDialog(title, _TRUST_TEXT, keys, quiet=quiet, early=editor.insert)
    answer = await app.push_screen_wait(dialog)
    others = [path for path in preferences.refused if path != folder]
    if answer == "y":
        preferences.refused = others
        await link.trust(True)
    elif answer == "n":
        preferences.refused = [*others, folder]
        if link.state.trusted:
            await link.trust(False)
    else:
        return
    preferences.save()
