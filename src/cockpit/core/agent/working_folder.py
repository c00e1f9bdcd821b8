"""The folder an agent works in, with its workspace, navigator, checkpoints and read cache.

It is the session's own folder or a worktree. `OpenWorktrees` closes the worktrees with the session.
"""

import asyncio
import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

from cockpit.errors import CockpitError
from cockpit.plugin.context import Context, Navigator, Workspace
from cockpit.plugin.tools import Done, Preview, Tool
from cockpit.protocol.messages import ToolCall
from cockpit.workspace.checkpoints.records import CheckpointCall, MissingReason, StoredFile
from cockpit.workspace.checkpoints.store import CheckpointStore
from cockpit.workspace.worktrees.values import Worktree

WarnUser = Callable[[str, str], None]
FileStamps = tuple[tuple[str, float, int], ...]

MAX_READS = 64
MAX_READ_LENGTH = 256_000
MAX_NAMED_FILES = 3
LEFT_OUT_REASONS: dict[MissingReason, str] = {
    "large": "too large",
    "total": "over the total limit",
    "unreadable": "not readable",
}


@dataclass(slots=True)
class CallCheckpoints:
    """Takes checkpoints of one folder around each call that can write. `warned` are the reasons that were
    reported already."""

    store: CheckpointStore
    warned: set[str] = field(default_factory=set)
    _warming: "asyncio.Task[None] | None" = None

    def warm(self) -> None:
        """Scan the folder in the background, once."""
        if self._warming is None:
            self._warming = asyncio.create_task(self._warm())

    async def begin(
        self, call: CheckpointCall, paths: tuple[str, ...] | None, jobs: bool, warn: WarnUser
    ) -> None:
        """Scan before `call` writes `paths` (None: anything). Without a checkpoint the call still
        runs; the user is warned once."""
        problem = await asyncio.to_thread(self.store.begin, call, paths, jobs)
        if problem:
            self._warn(warn, f"no checkpoint of {call.title}: {problem}", "rewind cannot undo this call")
        elif paths is None and "left out" not in self.warned:
            self.warned.add("left out")
            if text := describe_left_out(self.store.left_out()):
                warn(text, "rewind does not change them")

    async def finish(self, call: str, warn: WarnUser) -> None:
        """Scan after `call`, to the end even when it is cancelled meanwhile."""
        try:
            await asyncio.shield(asyncio.ensure_future(asyncio.to_thread(self.store.finish, call)))
        except CockpitError as error:
            self._warn(warn, error.message, error.hint)

    async def _warm(self) -> None:
        # A problem is reported with the first call that needs a checkpoint.
        with suppress(OSError, CockpitError):
            await asyncio.to_thread(self.store.warm)
            await asyncio.to_thread(self.store.tidy)

    def _warn(self, warn: WarnUser, text: str, hint: str) -> None:
        reason = text.rpartition(": ")[2]
        if reason not in self.warned:
            self.warned.add(reason)
            warn(text, hint)


def describe_left_out(files: tuple[tuple[str, StoredFile], ...]) -> str:
    """A sentence about the files whose content is not in checkpoints, except secrets."""
    reasons = [(path, LEFT_OUT_REASONS[file.why]) for path, file in files if file.why in LEFT_OUT_REASONS]
    if not reasons:
        return ""
    named = ", ".join(f"{path} ({reason})" for path, reason in reasons[:MAX_NAMED_FILES])
    more = f" and {len(reasons) - MAX_NAMED_FILES} more" if len(reasons) > MAX_NAMED_FILES else ""
    return f"checkpoints do not contain {named}{more}"


class ReadCache:
    """Answers a repeated read of unchanged files. Holds `MAX_READS` reads and drops the oldest first."""

    def __init__(self) -> None:
        self._reads: OrderedDict[str, tuple[FileStamps, Done]] = OrderedDict()

    async def stamp(self, tool: Tool, preview: Preview | None, context: Context) -> FileStamps | None:
        """The current state of the files a call reads, or None when the call cannot be cached."""
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
        read = self._reads.get(_call_key(call))
        return read[1] if read is not None and read[0] == stamp else None

    def store(self, call: ToolCall, stamp: FileStamps | None, done: Done) -> None:
        if stamp is None or done.is_error or len(done.text) > MAX_READ_LENGTH:
            return
        self._reads[_call_key(call)] = (stamp, done)
        if len(self._reads) > MAX_READS:
            self._reads.popitem(last=False)


def _call_key(call: ToolCall) -> str:
    return f"{call.name} {json.dumps(dict(call.arguments), sort_keys=True, ensure_ascii=False)}"


@dataclass(frozen=True, slots=True)
class WorkingFolder:
    """A folder to work in. `tree` is set for a worktree, and `close` ends what runs there."""

    root: str
    workspace: Workspace
    navigator: Navigator
    branch: str = ""
    checkpoints: CallCheckpoints | None = None
    reads: ReadCache = field(default_factory=ReadCache)
    tree: Worktree | None = None
    close: Callable[[], Awaitable[None]] | None = None


class OpenWorktrees:
    """The open worktrees of one session."""

    def __init__(self) -> None:
        self._folders: list[WorkingFolder] = []

    def add(self, folder: WorkingFolder) -> None:
        self._folders.append(folder)

    async def close(self, folder: WorkingFolder) -> None:
        """End what runs in `folder`. The worktree itself stays."""
        if folder in self._folders:
            self._folders.remove(folder)
        if folder.close is not None:
            await folder.close()

    async def close_all(self) -> None:
        folders, self._folders = self._folders, []
        await asyncio.gather(*(folder.close() for folder in folders if folder.close is not None))
