"""What the navigation tools do before they ask: which paths a call touches, and LilBot's arguments."""

from collections.abc import Mapping
from functools import partial

from cockpit.navigation.places import Named, Point, read
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Alias, Arguments, Preview
from cockpit.protocol.messages import Json

PLACE = ("path", "file_path", "line", "character")


def touching(title: str, place: str, context: Context) -> Preview:
    """A preview of a call that reads: the file the place names, if it names one."""
    match read(place):
        case Point(path=path) | Named(file=path) if path:
            return Preview(title, paths=(context.workspace.resolve(path, "read"),))
        case _:
            return Preview(title)


def lilbot(name: str, always: Mapping[str, Json] | None = None, **renamed: str) -> Alias:
    """LilBot's `lsp_*`: a place in three arguments, where ours is one word. `always` are arguments of
    ours that the name says."""
    dropped = (("file_path", ""), ("line", ""), ("character", ""))
    return Alias(name, (*renamed.items(), *dropped), reshape=partial(_placed, always or {}))


def _placed(always: Mapping[str, Json], arguments: Arguments) -> Mapping[str, Json]:
    """`path` (or `file_path`), `line`, `character` as `symbol`. Its characters count from 0; where they
    count from 1 after all, the place is still in the name, save for names of one letter."""
    arguments = {**arguments, **always}
    path, line = arguments.get("path") or arguments.get("file_path"), arguments.get("line")
    if not isinstance(path, str) or line is None or "symbol" in arguments:
        return arguments
    rest = {name: value for name, value in arguments.items() if name not in PLACE}
    character = arguments.get("character")
    column = f":{int(str(character)) + 1}" if character is not None else ""
    return {**rest, "symbol": f"{path}:{int(str(line))}{column}"}
