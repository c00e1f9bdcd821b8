"""Which servers a root has: by language and file, each once, started when needed and kept within the limits.
Asks nothing of them."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from cockpit.navigation.languages import languages_of
from cockpit.navigation.lsp import approvals, programs, status
from cockpit.navigation.lsp.life import House, Life
from cockpit.navigation.lsp.limits import Limits
from cockpit.navigation.lsp.texts import Texts
from cockpit.plugin.languages import Language, LanguageServer
from cockpit.protocol.code import ServerRow
from cockpit.workspace.logs import Log

Key = tuple[str, tuple[str, ...], str]


class Roster:
    """The lives of one root's servers. `root` is its real path."""

    def __init__(
        self,
        root: str,
        languages: Sequence[Language],
        trusted: Callable[[], bool],
        state: Path,
        limits: Limits,
    ) -> None:
        self.root = root
        self.folder = status.folder_of(state, root)
        self.limits = limits
        self.texts = Texts()
        self.lives: dict[Key, Life] = {}
        self.listeners: list[Callable[[], None]] = []
        self._languages = tuple(languages)
        self._trusted = trusted
        self._asked: set[str] = set()
        self._is_worktree: bool | None = None
        self._house = House(
            root, self.texts, limits, self.gate, self.find, self._room, self.id_of, self._heard
        )

    def languages_of(self, path: str) -> tuple[Language, ...]:
        """The languages of a file, by its name."""
        return tuple(languages_of(path, self._languages))

    def id_of(self, path: str) -> str:
        """The protocol's language id of a file."""
        suffix = Path(path).suffix
        for one in self.languages_of(path):
            return one.ids.get(suffix, one.name)
        return "plaintext"

    def lives_of(self, path: str) -> tuple[list[Life], list[Life]]:
        """The servers that may answer for a file, the most wanted first, and those that run beside them."""
        found = [(one, server) for one in self.languages_of(path) for server in one.servers]
        # What the project names for itself goes before what cockpit knows for everybody.
        found.sort(key=lambda pair: not pair[1].named_by)
        lives = [self._life(language.name, server) for language, server in found]
        return [one for one in lives if not one.spec.beside], [one for one in lives if one.spec.beside]

    def _life(self, language: str, server: LanguageServer) -> Life:
        key = (server.name, server.command, server.folder)
        life = self.lives.get(key)
        if life is None:
            log = Log(self.folder / "logs" / f"{_file_name(server.name)}.log")
            life = self.lives[key] = Life(server, language, self._house, log)
        return life

    def all_servers(self) -> Iterator[tuple[Language, LanguageServer]]:
        for language in self._languages:
            for server in language.servers:
                yield language, server

    def named(self, name: str) -> list[Life]:
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
            if not approvals.is_allowed(self.approved, server, self.root):
                command = " ".join(server.command)
                return f"{server.named_by} wants to run `{command}`; /lsp allow {server.name}"
        if server.runs_project and not trusted:
            return "it runs code of the project: it starts in a trusted folder only; /trust yes"
        return ""

    def find(self, server: LanguageServer) -> tuple[str, ...]:
        """The argv of a server, empty where its program is not installed. Called in a thread."""
        return programs.found(server.command, self.root, self._trusted())

    @property
    def approved(self) -> Path:
        """The file of the command lines a person said yes to."""
        return approvals.file_in(self.folder)

    async def _room(self, newcomer: Life) -> None:
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
