"""Names of servers' tools: `mcp__server__tool`, in characters that every model's API accepts.

A name that is already in use is refused, never given to a second tool.
"""

import hashlib
import re
from collections.abc import Iterable

from cockpit.protocol.mcp_names import mcp_tool_name

# The longest tool name that the APIs of models accept.
MAX_NAME = 64
DISALLOWED_CHARACTERS = re.compile(r"[^A-Za-z0-9_-]+")


def make_tool_name(server: str, name: str) -> str:
    """The name under which a server's tool or prompt is available."""
    full = mcp_tool_name(_clean_name(server), _clean_name(name))
    if len(full) <= MAX_NAME:
        return full
    digest = hashlib.sha256(f"{server}\0{name}".encode("utf-8", "replace")).hexdigest()[:6]
    return f"{full[: MAX_NAME - 7]}_{digest}"


def _clean_name(name: str) -> str:
    return DISALLOWED_CHARACTERS.sub("_", name).strip("_") or "x"


class NameRegistry:
    """The names in use. Names that differ only in case count as the same."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._owners = {name.lower(): "cockpit" for name in names}

    def take(self, name: str, owner: str) -> str:
        """Reserve `name` for `owner`. Returns the other owner if the name is taken, else an empty string."""
        return "" if (current := self._owners.setdefault(name.lower(), owner)) == owner else current
