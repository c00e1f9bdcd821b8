"""Which servers a root has: by language and file, each once, started when needed and kept within the limits.
Asks nothing of them.

What a person may do to servers: restart, stop, allow; and what was done, in words.

What is done once a second while servers run: idle ones end, hung ones begin again, memory is kept, other
processes are shown the rows and heard. Decides nothing else.
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

from cockpit.navigation.backends import find_languages
from cockpit.navigation.lsp import server_programs, status_files
from cockpit.navigation.lsp.documents import DocumentTextCache
from cockpit.navigation.lsp.limits import LspLimits
from cockpit.navigation.lsp.server_supervisor import LspContext, LspSupervisor
from cockpit.navigation.lsp.status_files import ServerVerb
from cockpit.plugin.languages import Language, LanguageServer
from cockpit.protocol.code import ServerRow
from cockpit.workspace.processes.server_process import ServerLog

if TYPE_CHECKING:
    from cockpit.navigation.lsp.server_process import LspServer


ServerKey = tuple[str, tuple[str, ...], str]


class LspServerPool:
    """The lives of one root's servers. `root` is its real path."""

    def __init__(
        self,
        root: str,
        languages: Sequence[Language],
        trusted: Callable[[], bool],
        state: Path,
        limits: LspLimits,
    ) -> None:
        self.root = root
        self.folder = status_files.status_folder(state, root)
        self.limits = limits
        self.texts = DocumentTextCache()
        self.lives: dict[ServerKey, LspSupervisor] = {}
        self.listeners: list[Callable[[], None]] = []
        self._languages = tuple(languages)
        self._trusted = trusted
        self._asked: set[str] = set()
        self._is_worktree: bool | None = None
        self._house = LspContext(
            root, self.texts, limits, self.gate, self.find, self._room, self.id_of, self._heard
        )

    def languages_of(self, path: str) -> tuple[Language, ...]:
        """The languages of a file, by its name."""
        return tuple(find_languages(path, self._languages))

    def id_of(self, path: str) -> str:
        """The protocol's language id of a file."""
        suffix = Path(path).suffix
        for one in self.languages_of(path):
            return one.ids.get(suffix, one.name)
        return "plaintext"

    def lives_of(self, path: str) -> tuple[list[LspSupervisor], list[LspSupervisor]]:
        """The servers that may answer for a file, the most wanted first, and those that run beside them."""
        found = [(one, server) for one in self.languages_of(path) for server in one.servers]
        # What the project names for itself goes before what cockpit knows for everybody.
        found.sort(key=lambda pair: not pair[1].named_by)
        lives = [self._life(language.name, server) for language, server in found]
        return [one for one in lives if not one.spec.beside], [one for one in lives if one.spec.beside]

    def _life(self, language: str, server: LanguageServer) -> LspSupervisor:
        key = (server.name, server.command, server.folder)
        life = self.lives.get(key)
        if life is None:
            log = ServerLog(self.folder / "logs" / f"{_file_name(server.name)}.log")
            life = self.lives[key] = LspSupervisor(server, language, self._house, log)
        return life

    def all_servers(self) -> Iterator[tuple[Language, LanguageServer]]:
        for language in self._languages:
            for server in language.servers:
                yield language, server

    def named(self, name: str) -> list[LspSupervisor]:
        """The servers called `name`; without one, those that were ever wanted."""
        for language, server in self.all_servers():
            if name and server.name == name:
                self._life(language.name, server)
        return [one for one in self.lives.values() if (one.spec.name == name if name else one.touched)]

    def may_start_for(self, path: str) -> bool:
        """Whether servers start for `path` now: in a worktree the first ask of a language is left to
        tree-sitter, so that a fleet of them does not multiply servers. Called in a thread."""
        is_worktree = self.look_at_root()
        names = {one.name for one in self.languages_of(path)}
        may = not is_worktree or bool(names & self._asked)
        self._asked |= names
        return may

    def look_at_root(self) -> bool:
        """Whether the root is a worktree: git leaves a file there in place of a folder. Blocking."""
        if self._is_worktree is None:
            self._is_worktree = Path(self.root, ".git").is_file()
        return self._is_worktree

    @property
    def is_worktree(self) -> bool | None:
        """None while nobody has looked."""
        return self._is_worktree

    def gate(self, server: LanguageServer) -> str:
        """Why a server may not start, in words; empty when it may. Called in a thread."""
        trusted = self._trusted()
        if server.named_by:
            if not trusted:
                return f"named by {server.named_by}: it starts in a trusted folder only; /trust yes"
            if not server_programs.is_approved(self.approved, server, self.root):
                command = " ".join(server.command)
                return f"{server.named_by} wants to run `{command}`; /lsp allow {server.name}"
        if server.runs_project and not trusted:
            return "it runs code of the project: it starts in a trusted folder only; /trust yes"
        return ""

    def find(self, server: LanguageServer) -> tuple[str, ...]:
        """The argv of a server, empty where its program is not installed. Called in a thread."""
        return server_programs.find_program(server.command, self.root, self._trusted())

    @property
    def approved(self) -> Path:
        """The file of the command lines a person said yes to."""
        return server_programs.approvals_file(self.folder)

    async def _room(self, newcomer: LspSupervisor) -> None:
        """End the coldest where one more would be too many."""
        while True:
            others = [one for one in self.lives.values() if one is not newcomer and one.is_up]
            if len(others) < self.limits.servers:
                return
            coldest = min(others, key=lambda one: one.used)
            await coldest.stop(f"made room for {newcomer.spec.name}; starts again when needed")

    async def fit(self) -> None:
        """End the coldest while all together take too much memory."""
        up = sorted((one for one in self.lives.values() if one.is_up), key=lambda one: one.used)
        total = sum(one.megabytes for one in up)
        while total > self.limits.megabytes and len(up) > 1:
            coldest = up.pop(0)
            total -= coldest.megabytes
            await coldest.stop(f"gave back {coldest.megabytes} MiB; starts again when needed")
        if total > self.limits.megabytes:
            words = f"took {total} MiB alone, over {self.limits.megabytes}; /lsp restart {up[0].spec.name}"
            await up[0].stop(words, held=True)

    def rows(self) -> tuple[ServerRow, ...]:
        """What was ever wanted; of programs that are not installed only the first a language would use."""
        shown = [one for one in self.lives.values() if one.touched]
        kept: list[ServerRow] = []
        for one in shown:
            rivals = [other for other in shown if other.language == one.language and not other.spec.beside]
            absent = one.state == "absent" and not one.spec.beside
            if absent and (rivals[0] is not one or any(other.state != "absent" for other in rivals)):
                continue
            kept.append(one.row())
        return tuple(kept)

    def _heard(self) -> None:
        for one in tuple(self.listeners):
            one()


def _file_name(name: str) -> str:
    return "".join(one if one.isalnum() or one in "-_." else "_" for one in name)[:60] or "server"


async def run_command(roster: LspServerPool, verb: ServerVerb, name: str) -> str:
    """Do `verb` to the servers called `name` (empty: all that were wanted)."""
    lives = roster.named(name)
    if not lives:
        return f"no server is called {name}" if name else "no language server was started yet"
    match verb:
        case "restart":
            await asyncio.gather(*(one.restart() for one in lives))
            return _describe_result(lives, "restarted")
        case "stop":
            up = [one for one in lives if one.is_up]
            words = "stopped; /lsp restart starts it again"
            await asyncio.gather(*(_stop_server(roster, one, words) for one in up))
            return _describe_result(up, "stopped") if up else "no language server is running"
        case "allow":
            waiting = [one for one in lives if one.spec.named_by]
            if not waiting:
                return "nothing waits for a yes"
            for one in waiting:
                await asyncio.to_thread(server_programs.approve, roster.approved, one.spec, roster.root)
                one.touched = True
                await one.restart()
            return "\n".join(f"allowed: {' '.join(one.spec.command)}" for one in waiting)
        case other:
            assert_never(other)


async def _stop_server(roster: LspServerPool, life: LspSupervisor, words: str) -> None:
    """It stays down until a person restarts it. One that may not run now starts again once it may."""
    barred = await asyncio.to_thread(roster.gate, life.spec)
    await life.stop(barred or words, held=not barred)


def _describe_result(lives: list[LspSupervisor], words: str) -> str:
    return f"{words}: {', '.join(one.spec.name for one in lives)}"


RunCommand = Callable[[status_files.ServerVerb, str], Awaitable[str]]


class LspHousekeeping:
    """Runs from the first server on until it is closed."""

    def __init__(self, roster: LspServerPool, command: RunCommand) -> None:
        self._roster = roster
        self._command = command
        self._task: asyncio.Task[None] | None = None
        self._shown: tuple[ServerRow, ...] = ()
        self._measured = 0.0
        self._closed = False
        self._again: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Start, where it does not run yet. Returns at once."""
        if self._task is None and not self._closed:
            self._task = asyncio.create_task(self._run(), name="lsp-keeping")

    async def close(self) -> None:
        """Stop, and take away what other processes see."""
        self._closed = True
        task, self._task = self._task, None
        if self._again is not None:
            self._again.cancel()
        if task is not None:
            task.cancel()
            await asyncio.wait({task})
            await asyncio.to_thread(status_files.remove_files, self._roster.folder, os.getpid())

    async def _run(self) -> None:
        while True:
            await self.look()
            await asyncio.sleep(self._roster.limits.every)

    async def look(self) -> None:
        """One round."""
        limits, now = self._roster.limits, time.monotonic()
        for life in tuple(self._roster.lives.values()):
            await self._one(life, now)
        if now - self._measured >= limits.measured_every:
            self._measured = now
            await self._measure()
        rows = self._roster.rows()
        if rows != self._shown:
            self._shown = rows
            await asyncio.to_thread(status_files.write_rows, self._roster.folder, rows)
        asked = await asyncio.to_thread(status_files.take_request, self._roster.folder)
        if asked is not None:
            verb, name, token = asked
            words = await self._command(verb, name)
            await asyncio.to_thread(status_files.write_answer, self._roster.folder, token, words)

    async def _one(self, life: LspSupervisor, now: float) -> None:
        server = life.server
        if server is None:
            return
        if server.is_hung(now):
            await life.gave_up("answered nothing any more and was ended")
        elif now - life.used > self._roster.limits.idle:
            await life.stop("idle; starts again when needed")
        elif server.refreshed != server.incoming.refreshed:
            server.refreshed = server.incoming.refreshed
            self._again = asyncio.create_task(_refresh_problems(server))

    async def _measure(self) -> None:
        up = {
            life.server.child.pid: life
            for life in self._roster.lives.values()
            if life.server is not None and life.server.child is not None
        }
        for pid, size in (await asyncio.to_thread(status_files.measure_megabytes, tuple(up))).items():
            up[pid].megabytes = size
        await self._roster.fit()


async def _refresh_problems(server: "LspServer") -> None:
    """The server says that the problems it was pulled for may be others now."""
    from cockpit.navigation.lsp import requests

    await requests.notify_changed(server, ())
