"""A session's hold on the checkpoints of its root: begun and ended around each call that can write.
Knows no agent; what is restored, and the conversation, are `core/rewinding`'s.

An equal read of files that did not change is answered from here. Bounded; forgets the oldest.
"""

import asyncio
import json
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from cockpit.errors import CockpitError
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Done, Preview, Tool
from cockpit.protocol.messages import ToolCall
from cockpit.workspace.checkpoints.records import CheckpointCall, MissingReason, StoredFile
from cockpit.workspace.checkpoints.store import CheckpointStore

WarnUser = Callable[[str, str], None]
MAX_NAMED_FILES = 3
LEFT_OUT_REASONS: dict[MissingReason, str] = {
    "large": "too large",
    "total": "over the limit in all",
    "unreadable": "not readable",
}


@dataclass(slots=True)
class CallCheckpoints:
    """`told` is what was said already: each thing once a session."""

    shadow: CheckpointStore
    told: set[str] = field(default_factory=set)
    _warming: "asyncio.Task[None] | None" = None

    def warm(self) -> None:
        """Look the root over beside whatever goes on, once."""
        if self._warming is None:
            self._warming = asyncio.create_task(self._warm())

    async def begin(
        self, call: CheckpointCall, paths: tuple[str, ...] | None, jobs: bool, say: WarnUser
    ) -> None:
        """Look before `call` writes `paths` (None: anything). That there can be no checkpoint stops no
        call: it is said, once."""
        problem = await asyncio.to_thread(self.shadow.begin, call, paths, jobs)
        if problem:
            self._say(say, f"no checkpoint of {call.title}: {problem}", "rewind cannot take this call back")
        elif paths is None:
            self._tell_left_out(say)

    async def finish(self, call: str, say: WarnUser) -> None:
        """Look after it. Goes on to its end when it is cancelled meanwhile."""
        try:
            await asyncio.shield(asyncio.ensure_future(asyncio.to_thread(self.shadow.finish, call)))
        except CockpitError as error:
            self._say(say, error.message, error.hint)

    async def _warm(self) -> None:
        # What is in the way is said with the first call that needs it.
        with suppress(OSError, CockpitError):
            await asyncio.to_thread(self.shadow.warm)
            await asyncio.to_thread(self.shadow.tidy)

    def _tell_left_out(self, say: WarnUser) -> None:
        if "left out" in self.told:
            return
        self.told.add("left out")
        if text := describe_left_out(self.shadow.left_out()):
            say(text, "rewind leaves them as they are")

    def _say(self, say: WarnUser, text: str, hint: str) -> None:
        reason = text.rpartition(": ")[2]
        if reason not in self.told:
            self.told.add(reason)
            say(text, hint)


def describe_left_out(files: tuple[tuple[str, StoredFile], ...]) -> str:
    """A sentence about the files whose bytes are not kept; secrets go without saying."""
    said = [(path, LEFT_OUT_REASONS[kept.why]) for path, kept in files if kept.why in LEFT_OUT_REASONS]
    if not said:
        return ""
    named = ", ".join(f"{path} ({why})" for path, why in said[:MAX_NAMED_FILES])
    more = f" and {len(said) - MAX_NAMED_FILES} more" if len(said) > MAX_NAMED_FILES else ""
    return f"checkpoints do not hold {named}{more}"


MAX_READS = 64
MAX_READ_LENGTH = 256_000

FileStamps = tuple[tuple[str, float, int], ...]


class ReadCache:
    """The reads of one session. Only calls that name plain files are kept."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[FileStamps, Done]] = OrderedDict()

    async def stamp(self, tool: Tool, preview: Preview | None, context: Context) -> FileStamps | None:
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

    def find(self, call: ToolCall, stamp: FileStamps | None) -> Done | None:
        kept = self._kept.get(_call_key(call))
        return kept[1] if kept is not None and kept[0] == stamp else None

    def keep(self, call: ToolCall, stamp: FileStamps | None, done: Done) -> None:
        if stamp is None or done.is_error or len(done.text) > MAX_READ_LENGTH:
            return
        self._kept[_call_key(call)] = (stamp, done)
        if len(self._kept) > MAX_READS:
            self._kept.popitem(last=False)


def _call_key(call: ToolCall) -> str:
    return f"{call.name} {json.dumps(dict(call.arguments), sort_keys=True, ensure_ascii=False)}"
