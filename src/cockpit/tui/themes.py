"""Theme files: ours, packaged, and a person's own; and the themes of plugins. A broken one is named and
skipped."""

import tomllib
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.color import Color, ColorParseError
from textual.theme import Theme

import cockpit
from cockpit import paths

if TYPE_CHECKING:
    from cockpit.protocol.queries import ListingRow

DEFAULT = "cockpit-night"
_FIELDS = frozenset(field.name for field in fields(Theme))


def packaged() -> Path:
    """The folder of our themes: in the wheel `cockpit/themes`, in a checkout `themes` at its top."""
    package = Path(cockpit.__file__).parent
    inside = package / "themes"
    return inside if inside.is_dir() else package.parent.parent / "themes"


def default() -> Theme:
    """The theme of the first paint."""
    return load(packaged() / f"{DEFAULT}.toml")


def load(path: Path) -> Theme:
    """The theme in `path`. Raises ValueError, saying what is wrong with the file."""
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ValueError(f"theme {path.name} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"theme {path.name} is not TOML: {error}") from error
    table.setdefault("name", path.stem)
    if unknown := sorted(set(table) - _FIELDS):
        raise ValueError(f"theme {path.name} has unknown keys: {', '.join(unknown)}")
    return _made(path.name, table)


def registered(rows: "Sequence[ListingRow]") -> tuple[list[Theme], list[str]]:
    """The themes of plugins, from what `Listing("themes")` told, and what is wrong with the others. What
    Textual's theme has no field for is one of cockpit's own colours."""
    themes: list[Theme] = []
    problems: list[str] = []
    for row in rows:
        top = {key: one for key, one in row.values.items() if key in _FIELDS and key != "variables"}
        own = {key: one for key, one in row.values.items() if key not in _FIELDS}
        try:
            themes.append(_made(row.name, {**top, "name": row.name, "variables": own}))
        except (ValueError, TypeError) as error:
            problems.append(f"{error} (plugin {row.plugin})")
    return themes, problems


def _made(file: str, table: dict[str, Any]) -> Theme:
    """The theme of a table. Raises ValueError, saying what is wrong with it."""
    if "primary" not in table:
        raise ValueError(f'theme {file} lacks `primary`; add a line like primary = "#f2b45a"')
    _check_colours(file, table)
    return Theme(**table)


def found() -> tuple[list[Theme], list[str]]:
    """Every theme that can be used, and what is wrong with the others."""
    themes: list[Theme] = []
    problems: list[str] = []
    for folder in (packaged(), paths.config() / "themes"):
        for path in sorted(folder.glob("*.toml")) if folder.is_dir() else ():
            try:
                themes.append(load(path))
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
                raise ValueError(f"theme {file}: {name} = {value!r} is no colour") from error
        elif name in ("primary", "background", "foreground") and not isinstance(value, str):
            raise ValueError(f"theme {file}: {name} must be a colour in quotes")
