"""The servers of a root: their supervisors, which of them answer for a file, their limits, and the user's
commands on them."""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import assert_never

from cockpit.navigation.answers import find_language, find_languages
from cockpit.navigation.lsp import requests, server_programs, status_files
from cockpit.navigation.lsp.documents import DocumentTextCache
from cockpit.navigation.lsp.limits import LspLimits
from cockpit.navigation.lsp.server_process import LspContext
from cockpit.navigation.lsp.server_supervisor import LspSupervisor
from cockpit.navigation.lsp.status_files import ServerVerb
from cockpit.plugin.languages import Language, LanguageServer
from cockpit.protocol.code import ServerRow
from cockpit.workspace.processes.server_process import ServerLog

ServerKey = tuple[str, tuple[str, ...], str]


class LspServerPool:
    """The supervisors of one root's servers. `root` is its real path."""

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
        self.supervisors: dict[ServerKey, LspSupervisor] = {}
        self.listeners: list[Callable[[], None]] = []
        self._languages = tuple(languages)
        self._trusted = trusted
        self._asked_languages: set[str] = set()
        self._is_worktree: bool | None = None
        self._context = LspContext(
            root, self.texts, limits, self.gate, self.find, self._make_room, self.id_of, self._notify
        )

    def id_of(self, path: str) -> str:
        """The protocol's language id of a file."""
        language = find_language(path, self._languages)
        return language.ids.get(Path(path).suffix, language.name) if language is not None else "plaintext"

    def supervisors_for(self, path: str) -> tuple[list[LspSupervisor], list[LspSupervisor]]:
        """The servers that may answer for a file, the preferred first, and those that run in addition."""
        languages = find_languages(path, self._languages)
        candidates = [(language, server) for language in languages for server in language.servers]
        # A server that the project names goes before one that cockpit knows.
        candidates.sort(key=lambda pair: not pair[1].named_by)
        supervisors = [self._supervisor_of(language.name, server) for language, server in candidates]
        additional = [supervisor for supervisor in supervisors if supervisor.spec.beside]
        return [supervisor for supervisor in supervisors if supervisor not in additional], additional

    def _supervisor_of(self, language: str, server: LanguageServer) -> LspSupervisor:
        key = (server.name, server.command, server.folder)
        supervisor = self.supervisors.get(key)
        if supervisor is None:
            log = ServerLog(self.folder / "logs" / f"{_file_name(server.name)}.log")
            supervisor = self.supervisors[key] = LspSupervisor(server, language, self._context, log)
        return supervisor

    def named(self, name: str) -> list[LspSupervisor]:
        """The servers called `name`; without a name, those that were ever wanted."""
        for language in self._languages:
            for server in language.servers:
                if name and server.name == name:
                    self._supervisor_of(language.name, server)
        return [
            supervisor
            for supervisor in self.supervisors.values()
            if (supervisor.spec.name == name if name else supervisor.was_wanted)
        ]

    def may_start_for(self, path: str) -> bool:
        """Whether servers may start for `path` now. In a worktree the first question of a language goes to
        tree-sitter, so that many worktrees do not multiply servers. Called in a thread."""
        is_worktree = self.check_worktree()
        names = {language.name for language in find_languages(path, self._languages)}
        may = not is_worktree or bool(names & self._asked_languages)
        self._asked_languages |= names
        return may

    def check_worktree(self) -> bool:
        """Whether the root is a worktree: there `.git` is a file, not a folder. Blocking."""
        if self._is_worktree is None:
            self._is_worktree = Path(self.root, ".git").is_file()
        return self._is_worktree

    @property
    def is_worktree(self) -> bool | None:
        """None if it has not been checked yet."""
        return self._is_worktree

    def gate(self, server: LanguageServer) -> str:
        """Why a server may not start; empty if it may. Called in a thread."""
        trusted = self._trusted()
        if server.named_by:
            if not trusted:
                return f"named by {server.named_by}: starts only in a trusted folder; /trust yes"
            if not server_programs.is_approved(self.approved, server, self.root):
                command = " ".join(server.command)
                return f"{server.named_by} wants to run `{command}`; /lsp allow {server.name}"
        if server.runs_project and not trusted:
            return "runs code of the project: starts only in a trusted folder; /trust yes"
        return ""

    def find(self, server: LanguageServer) -> tuple[str, ...]:
        """The argv of a server; empty if its program is not installed. Called in a thread."""
        return server_programs.find_program(server.command, self.root, self._trusted())

    @property
    def approved(self) -> Path:
        """The file of the command lines that the user approved."""
        return server_programs.approvals_file(self.folder)

    async def _make_room(self, newcomer: LanguageServer) -> None:
        """Stop the least recently used server while one more would be too many."""
        while True:
            others = [each for each in self.supervisors.values() if each.spec is not newcomer and each.is_up]
            if len(others) < self.limits.servers:
                return
            coldest = min(others, key=lambda supervisor: supervisor.used)
            await coldest.stop(f"stopped to make room for {newcomer.name}; starts again when needed")

    async def fit(self) -> None:
        """Stop the least recently used servers while all together use too much memory."""
        up = sorted((each for each in self.supervisors.values() if each.is_up), key=lambda each: each.used)
        total = sum(supervisor.megabytes for supervisor in up)
        while total > self.limits.megabytes and len(up) > 1:
            coldest = up.pop(0)
            total -= coldest.megabytes
            await coldest.stop(f"stopped to free {coldest.megabytes} MiB; starts again when needed")
        if total > self.limits.megabytes:
            limit, name = self.limits.megabytes, up[0].spec.name
            await up[0].stop(
                f"uses {total} MiB alone, more than {limit}; /lsp restart {name}", stays_stopped=True
            )

    def rows(self) -> tuple[ServerRow, ...]:
        """Every server that was ever wanted; of programs that are not installed, only the first choice of
        a language."""
        shown = [supervisor for supervisor in self.supervisors.values() if supervisor.was_wanted]

        def has_better(supervisor: LspSupervisor) -> bool:
            """Whether another server of the language is installed, or comes first."""
            rivals = [
                other for other in shown if other.language == supervisor.language and not other.spec.beside
            ]
            return rivals[0] is not supervisor or any(other.state != "absent" for other in rivals)

        return tuple(
            supervisor.row()
            for supervisor in shown
            if supervisor.state != "absent" or supervisor.spec.beside or not has_better(supervisor)
        )

    def _notify(self) -> None:
        for listener in tuple(self.listeners):
            listener()


def _file_name(name: str) -> str:
    return re.sub(r"[^\w.-]", "_", name)[:60] or "server"


async def run_command(pool: LspServerPool, verb: ServerVerb, name: str) -> str:
    """Do `verb` to the servers called `name` (empty: all that were ever wanted). Returns what was done."""
    supervisors = pool.named(name)
    if not supervisors:
        return f"no server called {name}" if name else "no language server was started yet"
    match verb:
        case "restart":
            await asyncio.gather(*(supervisor.restart() for supervisor in supervisors))
            return _describe_result(supervisors, "restarted")
        case "stop":
            up = [supervisor for supervisor in supervisors if supervisor.is_up]
            detail = "stopped; /lsp restart starts it again"
            await asyncio.gather(*(_stop_server(pool, supervisor, detail) for supervisor in up))
            return _describe_result(up, "stopped") if up else "no language server is running"
        case "allow":
            waiting = [supervisor for supervisor in supervisors if supervisor.spec.named_by]
            if not waiting:
                return "no server is waiting for approval"
            for supervisor in waiting:
                await asyncio.to_thread(server_programs.approve, pool.approved, supervisor.spec, pool.root)
                supervisor.was_wanted = True
                await supervisor.restart()
            return "\n".join(f"allowed: {' '.join(supervisor.spec.command)}" for supervisor in waiting)
        case other:
            assert_never(other)


async def _stop_server(pool: LspServerPool, supervisor: LspSupervisor, detail: str) -> None:
    """Stop a server until the user restarts it, or if it may not run now, until it may."""
    obstacle = await asyncio.to_thread(pool.gate, supervisor.spec)
    await supervisor.stop(obstacle or detail, stays_stopped=not obstacle)


def _describe_result(lives: list[LspSupervisor], action: str) -> str:
    return f"{action}: {', '.join(supervisor.spec.name for supervisor in lives)}"


RunCommand = Callable[[status_files.ServerVerb, str], Awaitable[str]]


class LspHousekeeping:
    """Checks the servers once a second: stops idle ones, restarts hung ones, limits memory, and exchanges
    rows and commands with other cockpit processes. Runs from the first server until it is closed."""

    def __init__(self, pool: LspServerPool, command: RunCommand) -> None:
        self._pool = pool
        self._files = status_files.ProcessFiles(pool.folder)
        self._command = command
        self._task: asyncio.Task[None] | None = None
        self._written_rows: tuple[ServerRow, ...] = ()
        self._measured_at = 0.0
        self._closed = False
        self._refreshing: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Start if it does not run yet. Returns at once."""
        if self._task is None and not self._closed:
            self._task = asyncio.create_task(self._run(), name="lsp-keeping")

    async def close(self) -> None:
        """Stop, and remove the files for other processes."""
        self._closed = True
        task, self._task = self._task, None
        if self._refreshing is not None:
            self._refreshing.cancel()
        if task is not None:
            task.cancel()
            await asyncio.wait({task})
            await asyncio.to_thread(self._files.remove)

    async def _run(self) -> None:
        while True:
            await self.run_checks()
            await asyncio.sleep(self._pool.limits.every)

    async def run_checks(self) -> None:
        """Do one round of checks."""
        limits, now = self._pool.limits, time.monotonic()
        for supervisor in tuple(self._pool.supervisors.values()):
            await self._check_server(supervisor, now)
        if now - self._measured_at >= limits.measured_every:
            self._measured_at = now
            await self._measure()
        rows = self._pool.rows()
        if rows != self._written_rows:
            self._written_rows = rows
            await asyncio.to_thread(self._files.write_rows, rows)
        request = await asyncio.to_thread(self._files.take_request)
        if request is not None:
            verb, name, token = request
            result = await self._command(verb, name)
            await asyncio.to_thread(self._files.write_answer, token, result)

    async def _check_server(self, supervisor: LspSupervisor, now: float) -> None:
        server = supervisor.server
        if server is None:
            return
        if server.is_hung(now):
            await supervisor.kill_and_restart("stopped answering and was ended")
        elif now - supervisor.used > self._pool.limits.idle:
            await supervisor.stop("idle; starts again when needed")
        elif server.refreshed != server.incoming.refreshed:
            server.refreshed = server.incoming.refreshed
            self._refreshing = asyncio.create_task(requests.notify_changed(server, ()))

    async def _measure(self) -> None:
        up = {
            supervisor.server.child.pid: supervisor
            for supervisor in self._pool.supervisors.values()
            if supervisor.server is not None and supervisor.server.child is not None
        }
        for pid, size in (await asyncio.to_thread(status_files.measure_megabytes, tuple(up))).items():
            up[pid].megabytes = size
        await self._pool.fit()
