"""An equal read of files that did not change is answered from here. Bounded; forgets the oldest."""

import json
from collections import OrderedDict

from cockpit.errors import CockpitError
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Done, Preview, Tool
from cockpit.protocol.messages import ToolCall

MOST = 64
LARGEST = 256_000

Stamp = tuple[tuple[str, float, int], ...]


class ReadCache:
    """The reads of one session. Only calls that name plain files are kept."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[Stamp, Done]] = OrderedDict()

    async def stamp(self, tool: Tool, preview: Preview | None, context: Context) -> Stamp | None:
        """What the files are now, or None when this call is none to keep."""
        if tool.kind != "read" or preview is None or not preview.paths:
            return None
        stamps = []
        for path in preview.paths:
            try:
                entry = await context.workspace.files.stat(path)
            except (OSError, CockpitError):
                return None
            if entry.kind != "file":
                return None
            stamps.append((path, entry.modified, entry.size))
        return tuple(stamps)

    def find(self, call: ToolCall, stamp: Stamp | None) -> Done | None:
        kept = self._kept.get(_key(call))
        return kept[1] if kept is not None and kept[0] == stamp else None

    def keep(self, call: ToolCall, stamp: Stamp | None, done: Done) -> None:
        if stamp is None or done.is_error or len(done.text) > LARGEST:
            return
        self._kept[_key(call)] = (stamp, done)
        if len(self._kept) > MOST:
            self._kept.popitem(last=False)


def _key(call: ToolCall) -> str:
    return f"{call.name} {json.dumps(dict(call.arguments), sort_keys=True, ensure_ascii=False)}"
