"""The workspace on this machine: files, processes and all-or-nothing writing under one root."""

import asyncio
import os
import stat
from typing import Literal

from cockpit.plugin.changes import ChangeSet, Edit, FileChange
from cockpit.plugin.context import Applied, ChangeRefused, PathRefused
from cockpit.workspace import beneath
from cockpit.workspace.calls import Calls
from cockpit.workspace.changes import NEW_MODE, Seen, Tree, planned, undoing
from cockpit.workspace.files import LocalFiles
from cockpit.workspace.look_alikes import refuse_look_alike, refuse_look_alikes
from cockpit.workspace.processes import LocalProcesses
from cockpit.workspace.recovery import Recovered, recover
from cockpit.workspace.resolver import Resolver
from cockpit.workspace.sandbox.values import SandboxSettings
from cockpit.workspace.transaction import Target, Transaction


class LocalWorkspace:
    """`Workspace` over a folder. `state` is where journals of writes are kept; "" keeps none, and then
    a crash in the middle of a write is not mended. `calls` are the file calls, for fault tests.
    `sandbox` is what settings say of holding programs in. For a worktree, `origin` is the tree it was made
    from, which nothing here writes, and `linked` are the folders of it that links of the worktree lead to.
    """

    def __init__(
        self,
        root: str,
        state: str = "",
        calls: Calls | None = None,
        sandbox: SandboxSettings | None = None,
        origin: str = "",
        linked: tuple[str, ...] = (),
    ) -> None:
        named = os.path.abspath(root)
        self.resolver = Resolver(os.path.realpath(named), named, origin=origin)
        self._journals = os.path.join(state, "journals") if state else ""
        self._calls = calls or Calls()
        self._files = LocalFiles(self.resolver)
        self._processes = LocalProcesses(self.resolver.root, sandbox, linked)
        self._writing = asyncio.Lock()
        self._made: set[str] = set()

    @property
    def root(self) -> str:
        return self.resolver.root

    @property
    def files(self) -> LocalFiles:
        return self._files

    @property
    def processes(self) -> LocalProcesses:
        return self._processes

    def resolve(self, path: str, access: Literal["read", "write"]) -> str:
        return self.resolver.resolve(path, access)

    def is_inside(self, path: str) -> bool:
        return self.resolver.is_inside(path)

    async def plan(self, edits: tuple[Edit, ...], agent: str = "main", call: str = "") -> ChangeSet:
        return await asyncio.to_thread(self._plan, edits, agent, call)

    async def apply(self, changes: ChangeSet) -> Applied:
        """Cancelled while it writes, it takes back what it wrote."""
        async with self._writing:
            writing = asyncio.ensure_future(asyncio.to_thread(self._write, changes))
            try:
                return await asyncio.shield(writing)
            except asyncio.CancelledError:
                applied = await _settled(writing)
                if applied is not None:
                    await _settled(asyncio.ensure_future(asyncio.to_thread(self._write, applied.undo)))
                raise

    async def recover(self) -> tuple[Recovered, ...]:
        """Bring to an end what a crash left half written, of any root. Call it once at the start."""
        if not self._journals:
            return ()
        return await asyncio.to_thread(recover, self._journals, self._calls)

    async def close(self) -> None:
        """End every process; nothing can be started after."""
        await self._processes.close()

    def _plan(self, edits: tuple[Edit, ...], agent: str, call: str) -> ChangeSet:
        changes = planned(edits, Tree(self._find, self._look, self.resolver.relative), agent, call)
        gone = {one.moved_from or one.path for one in changes.files if one.moved_from or one.after is None}
        made: list[str] = []
        for change in changes.files:
            if change.before is None or change.moved_from:
                made.append(change.path)
                refuse_look_alike(self.resolver.root, change.path, gone)
        refuse_look_alikes(made)
        return changes

    def _write(self, changes: ChangeSet) -> Applied:
        targets = tuple(target for change in changes.files for target in self._targets(change))
        transaction = Transaction(targets, self._journals, self._calls)
        bits = transaction.run()
        self._made.update(transaction.made)
        self._drop_empty(targets)
        modes = {self.resolver.relative(path): mode for path, mode in bits.items()}
        return Applied(changes, undoing(changes, modes))

    def _drop_empty(self, targets: tuple[Target, ...]) -> None:
        """Folders that were made for files which are gone again go with them: an undo leaves none."""
        for target in targets:
            above = os.path.dirname(target.path)
            while target.after is None and above in self._made:
                try:
                    os.rmdir(above)
                except OSError:
                    break
                self._made.discard(above)
                above = os.path.dirname(above)

    def _find(self, path: str) -> str:
        """The real path of a file to be written. A link on the way is refused by name."""
        real = self.resolver.resolve(path, "write")
        lexical = os.path.normpath(self.resolver.lexical(path))
        if os.path.normcase(lexical) != os.path.normcase(real):
            name = self.resolver.relative(real)
            raise PathRefused(
                f"{path} is a symbolic link, or leads over one, to {name}; name that path instead"
            )
        return real

    def _targets(self, change: FileChange) -> tuple[Target, ...]:
        real = self._find(change.path)
        if not change.moved_from:
            return (Target(real, change.before_hash, change.after, change.mode),)
        source = self._find(change.moved_from)
        gone = Target(source, change.before_hash, None, change.mode)
        return (gone, Target(real, "", change.after, change.mode))

    def _look(self, real: str) -> Seen:
        """What stands at a real path. Raises `ChangeRefused` for what is no plain file of its own."""
        name = self.resolver.relative(real)
        try:
            facts = os.lstat(real)
        except FileNotFoundError:
            return Seen(None, NEW_MODE)
        except NotADirectoryError as error:
            raise ChangeRefused(f"{name} cannot be written: a folder in it is a file") from error
        if stat.S_ISDIR(facts.st_mode):
            raise ChangeRefused(f"{name} is a folder; name a file in it")
        if not stat.S_ISREG(facts.st_mode):
            raise ChangeRefused(f"{name} is a {beneath.kind_of(facts.st_mode)}, not a file")
        if facts.st_nlink > 1:
            hint = "replace it by a copy of its own first"
            raise ChangeRefused(f"{name} is a hard link: {facts.st_nlink} names share it", hint)
        try:
            return Seen(beneath.read_file(real), stat.S_IMODE(facts.st_mode))
        except OSError as error:
            raise ChangeRefused(f"{name} cannot be read: {error.strerror or error}") from error


async def _settled(task: "asyncio.Future[Applied]") -> Applied | None:
    """Wait for a write that cannot be stopped, through further cancelling; None when it failed."""
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            continue
    return None if task.exception() else task.result()
