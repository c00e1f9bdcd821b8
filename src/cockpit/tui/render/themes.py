"""Themes from cockpit's own files, the user's files and plugins; and the palette of the current theme.

The palette resolves style keys of the form `FOREGROUND[/BACKGROUND][+FLAGS]`: `body`, `muted+i`,
`success/added+b`. Flags are b(old), i(talic), u(nderline), s(trike), d(im), r(everse). A colour that the
theme lacks is mixed from those it has. A theme with errors is reported and skipped.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.style import Style
from textual.color import Color, ColorParseError
from textual.theme import Theme

import cockpit
from cockpit import paths

if TYPE_CHECKING:
    from cockpit.protocol.queries import ListingRow


_ANSI_COLOURS = {"muted": "ansi_bright_black", "faint": "ansi_bright_black", "selection": "ansi_blue"}
_ALIASES = {
    "body": "foreground",
    "heading": "primary",
    "code": "secondary",
    "place": "accent",
    "link": "accent",
    "string": "success",
    "keyword": "secondary",
    "number": "warning",
    "function": "accent",
    "person": "primary",
    "machine": "secondary",
    "good": "success",
    "bad": "error",
    "warn": "warning",
    "base": "background",
}
_MIXTURES = {  # name: (from, towards, how far)
    "muted": ("foreground", "background", 0.42),
    "faint": ("foreground", "background", 0.66),
    "surface": ("background", "foreground", 0.03),
    "panel": ("background", "foreground", 0.07),
    "boost": ("background", "foreground", 0.12),
    "added-background": ("background", "success", 0.15),
    "removed-background": ("background", "error", 0.15),
    "added-strong": ("background", "success", 0.35),
    "removed-strong": ("background", "error", 0.35),
    "selection": ("background", "accent", 0.35),
    "found": ("background", "warning", 0.5),
}
_UNDERLINED = frozenset({"link", "place"})


class Palette(dict[str, Style]):
    """Styles by key, made on first use. `background` is for keys that name none."""

    def __init__(self, colours: Mapping[str, str], background: str = "background") -> None:
        super().__init__()
        self._colours = colours
        self._background = background

    def __missing__(self, key: str) -> Style:
        names, _, flags = key.partition("+")
        foreground, _, background = names.partition("/")
        style = Style(
            color=self.colour(foreground or "body").rich_color,
            bgcolor=self.colour(background or self._background).rich_color,
            bold="b" in flags or None,
            italic="i" in flags or None,
            underline="u" in flags or foreground in _UNDERLINED or None,
            strike="s" in flags or None,
            dim="d" in flags or None,
            reverse="r" in flags or None,
        )
        self[key] = style
        return style

    def colour(self, name: str) -> Color:
        """A colour by name: the theme's own, or one derived from the theme."""
        if value := self._colours.get(name):
            return Color.parse(value)
        if same := _ALIASES.get(name):
            return self.colour(same)
        if name in _MIXTURES:
            start, towards, far = _MIXTURES[name]
            return self.colour(start).blend(self.colour(towards), far)
        return self.colour("foreground")


def theme_colours(theme: Theme) -> dict[str, str]:
    """Every colour of `theme`, by name."""
    stated = {field.name: getattr(theme, field.name) for field in fields(theme) if field.name != "name"}
    colours = {name: value for name, value in stated.items() if isinstance(value, str) and value}
    if theme.ansi:
        colours = {**_ANSI_COLOURS, **colours}
    colours.setdefault("foreground", "#e0e0e0" if theme.dark else "#202020")
    colours.setdefault("background", "#121212" if theme.dark else "#f4f4f4")
    for name, other in (("secondary", "primary"), ("accent", "primary"), ("success", "secondary")):
        colours.setdefault(name, colours[other])
    colours.setdefault("warning", colours["accent"])
    colours.setdefault("error", "#d05050")
    return {**colours, **{name: str(value) for name, value in theme.variables.items()}}


DEFAULT_THEME = "cockpit-night"
_THEME_FIELDS = frozenset(field.name for field in fields(Theme))


def packaged_folder() -> Path:
    """The folder of cockpit's own themes: `cockpit/themes` in a wheel, `themes` at the top of a checkout."""
    package = Path(cockpit.__file__).parent
    inside = package / "themes"
    return inside if inside.is_dir() else package.parent.parent / "themes"


def default_theme() -> Theme:
    """The theme of the first paint."""
    return load_theme(packaged_folder() / f"{DEFAULT_THEME}.toml")


def load_theme(path: Path) -> Theme:
    """Load the theme in `path`. Raises ValueError, saying what is wrong with the file."""
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ValueError(f"theme {path.name} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"theme {path.name} is not TOML: {error}") from error
    table.setdefault("name", path.stem)
    if unknown := sorted(set(table) - _THEME_FIELDS):
        raise ValueError(f"theme {path.name} has unknown keys: {', '.join(unknown)}")
    return _build_theme(path.name, table)


def plugin_themes(rows: "Sequence[ListingRow]") -> tuple[list[Theme], list[str]]:
    """The themes of plugins, from the reply to `Listing("themes")`, and what is wrong with the others. A
    value that Textual's theme has no field for is one of cockpit's own colours."""
    themes: list[Theme] = []
    problems: list[str] = []
    for row in rows:
        top = {key: value for key, value in row.values.items() if key in _THEME_FIELDS and key != "variables"}
        own = {key: value for key, value in row.values.items() if key not in _THEME_FIELDS}
        try:
            themes.append(_build_theme(row.name, {**top, "name": row.name, "variables": own}))
        except (ValueError, TypeError) as error:
            problems.append(f"{error} (plugin {row.plugin})")
    return themes, problems


def _build_theme(file: str, table: dict[str, Any]) -> Theme:
    """Build a theme from a table. Raises ValueError, saying what is wrong with it."""
    if "primary" not in table:
        raise ValueError(f'theme {file} lacks `primary`; add a line like primary = "#f2b45a"')
    _check_colours(file, table)
    return Theme(**table)


def find_themes() -> tuple[list[Theme], list[str]]:
    """Every theme of a file that can be used, and what is wrong with the others."""
    themes: list[Theme] = []
    problems: list[str] = []
    for folder in (packaged_folder(), paths.config() / "themes"):
        for path in sorted(folder.glob("*.toml")) if folder.is_dir() else ():
            try:
                themes.append(load_theme(path))
            except ValueError as error:
                problems.append(str(error))
    return themes, problems


def _check_colours(file: str, table: dict[str, object]) -> None:
    variables = table.get("variables", {})
    if not isinstance(variables, dict):
        raise ValueError(f"theme {file}: `variables` must be a table")
    stated = {name: value for name, value in table.items() if name not in ("name", "variables")}
    for name, value in (*stated.items(), *variables.items()):
        if isinstance(value, str) and value.startswith("#"):
            try:
                Color.parse(value)
            except ColorParseError as error:
                raise ValueError(f"theme {file}: {name} = {value!r} is not a colour") from error
        elif name in ("primary", "background", "foreground") and not isinstance(value, str):
            raise ValueError(f"theme {file}: {name} must be a colour in quotes")
