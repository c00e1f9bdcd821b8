"""Ethan Schoonover's Solarized, dark and light. An example of `register_themes`.

A theme is a name and colours, like the files in `themes/`: those of Textual's `Theme` at the top, cockpit's
under `variables`. Missing colours are derived from `primary`, `background` and `foreground`.
"""

from cockpit.plugin import hookimpl
from cockpit.plugin.values import Register, Scope, Theme

ACCENTS = {
    "primary": "#268bd2",
    "secondary": "#2aa198",
    "accent": "#6c71c4",
    "success": "#859900",
    "warning": "#b58900",
    "error": "#dc322f",
}
DARK = {"background": "#002b36", "surface": "#073642", "panel": "#0a4250", "foreground": "#93a1a1"}
LIGHT = {"background": "#fdf6e3", "surface": "#eee8d5", "panel": "#e3dcc6", "foreground": "#586e75"}


@hookimpl
def register_themes(register: Register, scope: Scope) -> None:
    register(Theme("solarized-dark", {**ACCENTS, **DARK, "dark": True}))
    register(Theme("solarized-light", {**ACCENTS, **LIGHT, "dark": False}))
