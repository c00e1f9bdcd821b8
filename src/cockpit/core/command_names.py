"""What a command's file may be called: never as a command of code is, which would catch what a person types
for that one (`/connect` with a key behind it). Such a file stays, behind its layer's name."""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from cockpit.plugin.origin import Fault
from cockpit.plugin.values import Command

if TYPE_CHECKING:
    from cockpit.core.catalog import Entry


def kept_apart(entries: "Iterable[Entry]") -> "list[Entry]":
    """`entries` with each file that is called as a command of code renamed: `/project:connect`."""
    entries = list(entries)
    taken = {
        name
        for one in entries
        if isinstance(one.value, Command) and one.origin is None
        for name in (one.name, *one.value.aliases)
    }
    return [_apart(one, taken) for one in entries]


def _apart(entry: "Entry", taken: set[str]) -> "Entry":
    command, origin = entry.value, entry.origin
    if not isinstance(command, Command) or origin is None:
        return entry
    command = replace(command, aliases=tuple(one for one in command.aliases if one not in taken))
    if entry.name not in taken:
        return replace(entry, value=command)
    name = f"{entry.layer}:{entry.name}"
    reason = f"/{entry.name} is a command of cockpit's own; this one is /{name}"
    fault = Fault(origin.file, 0, reason, "call the file something else")
    origin = replace(origin, refused=(*origin.refused, fault))
    return replace(entry, name=name, value=replace(command, name=name, origin=origin), origin=origin)
