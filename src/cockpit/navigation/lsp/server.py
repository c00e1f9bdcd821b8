"""One process of one server, from its start to its end: initialized, asked, ended. Does not start again.

Imports python-lsp-jsonrpc (through `connection`): only `life` imports it, when a server starts.
"""

import asyncio
import time
from collections.abc import Callable, Mapping

from cockpit.navigation.lsp import offers
from cockpit.navigation.lsp.bells import Bell
from cockpit.navigation.lsp.connection import Connection
from cockpit.navigation.lsp.documents import Documents, Sync
from cockpit.navigation.lsp.faults import AGAIN, Gone, Refused, Unable
from cockpit.navigation.lsp.freshness import Freshness
from cockpit.navigation.lsp.incoming import Incoming
from cockpit.navigation.lsp.lease import Lease
from cockpit.navigation.lsp.limits import Limits
from cockpit.navigation.lsp.positions import Encoding
from cockpit.navigation.lsp.problems import ProblemStore
from cockpit.navigation.lsp.settling import Settling
from cockpit.navigation.lsp.shapes import record
from cockpit.navigation.lsp.texts import Texts
from cockpit.navigation.lsp.uris import uri_of
from cockpit.plugin.languages import LanguageServer
from cockpit.workspace.logs import Log
from cockpit.workspace.piped import Child, spawn

PAUSE = 0.05


class Server:
    """A live server. `stirred` rings when it said something of itself; `heard` is called then too."""

    def __init__(
        self,
        spec: LanguageServer,
        folder: str,
        texts: Texts,
        log: Log,
        limits: Limits,
        id_of: Callable[[str], str],
        heard: Callable[[], None],
        root: str,
    ) -> None:
        self.spec = spec
        self.folder = folder
        self.root = root
        self.texts = texts
        self.limits = limits
        self.lease = Lease()
        self.stirred = Bell()
        self.log = log
        self.child: Child | None = None
        self.lost = asyncio.Event()
        self.capabilities: object = None
        self.encoding: Encoding = "utf-16"
        self.pending: dict[int, float] = {}
        self._asked = 0
        self._probed = False
        self.known: set[str] = set()
        self.refreshed = 0
        self.freshness = Freshness()
        self.problems = ProblemStore(root, texts)
        self.settling = Settling(limits, time.monotonic())
        self._heard = heard
        self._id_of = id_of
        self._loop = asyncio.get_running_loop()
        self._woken = False
        self._converting: asyncio.Task[None] | None = None
        whole = {"uri": uri_of(folder), "name": spec.name}
        self.incoming = Incoming(spec.settings, whole, log, self._wake)
        self._connection: Connection | None = None
        self.documents = self._documents()

    async def start(self, argv: tuple[str, ...]) -> None:
        """Start the process and shake hands. Raises `OSError`, `Gone`, `Refused`, `Misshapen`."""
        self.log.say("cockpit", f"starting {' '.join(argv)} in {self.folder}")
        spawning = asyncio.ensure_future(
            asyncio.to_thread(spawn, argv, self.folder, self.spec.environment, self.log)
        )
        try:
            self.child = await asyncio.shield(spawning)
        except asyncio.CancelledError:
            # The thread goes on: what it started is ended as soon as it is there.
            self.child = await spawning
            raise
        self._connection = Connection(
            self.child.pipes, self.incoming, lambda raw: self.log.write(raw[:500], "stdout"), self._is_lost
        )
        words = offers.first_words(self.spec, self.folder)
        answer = record(await self._connection.request("initialize", words))
        self.capabilities = record(answer.get("capabilities"))
        self.encoding = offers.encoding(answer)
        self.problems.encoding = self.encoding
        self.documents = self._documents()
        self._connection.notify("initialized", {})
        if self.spec.settings:
            settings = {"settings": dict(self.spec.settings)}
            self._connection.notify("workspace/didChangeConfiguration", settings)
        self.settling = Settling(self.limits, time.monotonic())

    def _documents(self) -> Documents:
        saves, with_text = offers.wants_save(self.capabilities)
        sync = Sync(offers.sync_kind(self.capabilities), saves, with_text, self.encoding)
        return Documents(self.notify, self.texts, sync, self._id_of, self._most_open)

    def _most_open(self) -> int:
        """How many documents stay open; a server may say only later that it is pulled."""
        pulls = self.offer("diagnosticProvider") is not None
        return self.limits.pulled if pulls else self.limits.documents

    def offer(self, name: str) -> object:
        """What the server offers of `name`, None for nothing."""
        return offers.offered(self.capabilities, self.incoming.registered, name)

    def must(self, name: str, words: str) -> object:
        """The same. Raises `Unable` for nothing."""
        found = self.offer(name)
        if found is None:
            raise Unable(f"{self.spec.name} cannot {words}")
        return found

    async def ask(self, method: str, params: Mapping[str, object] | None = None) -> object:
        """A request's result; the caller bounds its time. Raises `Refused`, `Gone`."""
        if self._connection is None:
            raise Gone(f"{self.spec.name} is not running")
        self._asked += 1
        key = self._asked
        self.pending[key] = time.monotonic()
        cancelled = False
        try:
            while True:
                try:
                    return await self._connection.request(method, params)
                except Refused as refused:
                    # The text changed while it thought (LSP 3.17, ContentModified): asked again.
                    if refused.code not in AGAIN:
                        raise
                    await asyncio.sleep(PAUSE)
        except asyncio.CancelledError:
            cancelled = True
            raise
        finally:
            # What was given up stays here until the server says anything: that is how a hung one shows.
            if not cancelled:
                self.pending.pop(key, None)

    def notify(self, method: str, params: object = None) -> None:
        if self._connection is not None:
            self._connection.notify(method, params)

    def is_hung(self, now: float) -> bool:
        """Whether a request waited too long for a server that has said nothing at all since."""
        if self._connection is None:
            return False
        connection = self._connection
        self.pending = {key: at for key, at in self.pending.items() if at > connection.answered}
        waited = now - max(min(self.pending.values(), default=now), connection.said)
        # It may only have dropped what was cancelled, as some do: it is asked once more before it is ended.
        if waited > self.limits.hung / 2 and not self._probed:
            connection.probe()
        self._probed = waited > self.limits.hung / 2
        return connection.stuck or waited > self.limits.hung

    @property
    def is_over(self) -> bool:
        """Whether nobody answers any more."""
        return self._connection is None or self._connection.is_over

    def tell(self) -> None:
        """Something known of this server changed."""
        self._heard()

    @property
    def settled(self) -> bool:
        return self.settling.is_settled(self.incoming, time.monotonic())

    async def stop(self, politely: bool = True) -> None:
        """End it: asked to with `shutdown`, then `exit`, then ended with its group."""
        connection, self._connection = self._connection, None
        patience = min(self.spec.shutdown_seconds, 1.2) if politely and not self.lost.is_set() else 0.0
        if connection is not None and patience:
            try:
                async with asyncio.timeout(patience):
                    await connection.request("shutdown")
            except (TimeoutError, Gone, Refused):
                patience = 0.0
            connection.notify("exit")
        if connection is not None:
            connection.close()
        if self._converting is not None:
            self._converting.cancel()
        child, self.child = self.child, None
        if child is not None:
            await child.end(min(patience, 0.3))

    def _is_lost(self) -> None:
        self.lost.set()
        self.stirred.ring()
        self._heard()

    def _wake(self) -> None:
        """Called in the reader's thread: one wake-up for however much was said."""
        if self._woken or self._loop.is_closed():
            return
        self._woken = True
        self._loop.call_soon_threadsafe(self._stir)

    def _stir(self) -> None:
        self._woken = False
        self.stirred.ring()
        self._heard()
        if self._converting is None or self._converting.done():
            self._converting = self._loop.create_task(self._convert())

    async def _convert(self) -> None:
        """Turn what was published into rows, off the loop."""
        while fresh := self.incoming.take():
            changed = await asyncio.to_thread(
                self.problems.published, fresh, self.spec.name, self.documents.version_of
            )
            if changed:
                self._heard()
