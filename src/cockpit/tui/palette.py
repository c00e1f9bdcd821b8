"""Style keys to Rich styles, from the colours of the theme in force.

A key is `FOREGROUND[/BACKGROUND][+FLAGS]`: `body`, `muted+i`, `success/added+b`. Flags are b(old), i(talic),
u(nderline), s(trike), d(im), r(everse). A name that the theme lacks is mixed from those it has.
"""

from collections.abc import Mapping

from rich.style import Style
from textual.color import Color
from textual.theme import Theme

_ANSI = {"muted": "ansi_bright_black", "faint": "ansi_bright_black", "selection": "ansi_blue"}
_SAME = {
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
_MIXED = {  # name: (from, towards, how far)
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
    """Styles by key, made when first asked for. `background` is what lies under a key without one."""

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

    def on(self, background: str) -> "Palette":
        """The same colours over another background."""
        return Palette(self._colours, background)

    def colour(self, name: str) -> Color:
        """A colour by name: the theme's own, or one made of the theme's."""
        if value := self._colours.get(name):
            return Color.parse(value)
        if same := _SAME.get(name):
            return self.colour(same)
        if name in _MIXED:
            start, towards, far = _MIXED[name]
            return self.colour(start).blend(self.colour(towards), far)
        return self.colour("foreground")


def colours_of(theme: Theme) -> dict[str, str]:
    """Every colour that `theme` states, by name."""
    stated = {
        name: getattr(theme, name)
        for name in (
            "primary",
            "secondary",
            "accent",
            "foreground",
            "background",
            "surface",
            "panel",
            "boost",
            "success",
            "warning",
            "error",
        )
    }
    found = {name: value for name, value in stated.items() if value}
    if theme.ansi:
        found = {**_ANSI, **found}
    found.setdefault("foreground", "#e0e0e0" if theme.dark else "#202020")
    found.setdefault("background", "#121212" if theme.dark else "#f4f4f4")
    for name, other in (("secondary", "primary"), ("accent", "primary"), ("success", "secondary")):
        found.setdefault(name, found[other])
    found.setdefault("warning", found["accent"])
    found.setdefault("error", "#d05050")
    return {**found, **{name: str(value) for name, value in theme.variables.items()}}
