"""The names of other people's tools among ours: `mcp__server__tool`, of letters that every model's API takes.
Pure. A name that would be another's is refused, never given to a second one."""

import hashlib
import re
from collections.abc import Iterable

# What the APIs of models take for a tool's name.
MAX_NAME = 64
DISALLOWED_CHARACTERS = re.compile(r"[^A-Za-z0-9_-]+")
PREFIX = "mcp__"


def make_tool_name(server: str, name: str) -> str:
    """What a tool (or a prompt) of a server is called here."""
    full = f"{PREFIX}{_clean_name(server)}__{_clean_name(name)}"
    if len(full) <= MAX_NAME:
        return full
    digest = hashlib.sha256(f"{server}\0{name}".encode("utf-8", "replace")).hexdigest()[:6]
    return f"{full[: MAX_NAME - 7]}_{digest}"


def _clean_name(name: str) -> str:
    return DISALLOWED_CHARACTERS.sub("_", name).strip("_") or "x"


class NameRegistry:
    """The names there are. Two that differ in case only are the same to a model's call."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._owners = {name.lower(): "cockpit" for name in names}

    def take(self, name: str, owner: str) -> str:
        """Give `name` to `owner`. Who has it already, or nothing."""
        return "" if (had := self._owners.setdefault(name.lower(), owner)) == owner else had
