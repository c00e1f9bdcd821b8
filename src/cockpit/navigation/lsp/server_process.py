"""What we tell a server that we can, and what it told us. Values and pure functions.

One process of one server, from its start to its end: initialized, asked, ended. Does not start again.

Imports python-lsp-jsonrpc (through `connection`): only `life` imports it, when a server starts.
"""

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from cockpit.navigation.lsp.connection import LspConnection
from cockpit.navigation.lsp.documents import DiskFreshness, DocumentTextCache, OpenDocuments, SyncOptions
from cockpit.navigation.lsp.limits import LspLimits
from cockpit.navigation.lsp.protocol import (
    RETRY_CODES,
    Encoding,
    LspNotSupported,
    LspRequestRefused,
    LspServerGone,
    as_object,
    get_nested,
    parse_encoding,
    path_to_uri,
)
from cockpit.navigation.lsp.server_messages import ProblemStore, ProjectReadiness, ServerMessages
from cockpit.navigation.lsp.synchronization import ChangeSignal, ServerLease
from cockpit.plugin.languages import LanguageServer
from cockpit.workspace.processes.server_process import ServerLog, ServerProcess, spawn_server

SYMBOL_KINDS = {"valueSet": list(range(1, 27))}
CLIENT_CAPABILITIES: Mapping[str, object] = {
    "general": {"positionEncodings": ["utf-8", "utf-16"]},
    "window": {"workDoneProgress": True, "showMessage": {}},
    "workspace": {
        "applyEdit": True,
        "configuration": True,
        "workspaceFolders": True,
        "workspaceEdit": {"documentChanges": True, "resourceOperations": ["create", "rename", "delete"]},
        "didChangeWatchedFiles": {"dynamicRegistration": True, "relativePatternSupport": True},
        "symbol": {"symbolKind": SYMBOL_KINDS},
        "executeCommand": {},
        "diagnostics": {"refreshSupport": True},
    },
    "textDocument": {
        "synchronization": {"didSave": True},
        "publishDiagnostics": {"versionSupport": True, "codeDescriptionSupport": False},
        "diagnostic": {"dynamicRegistration": True, "relatedDocumentSupport": True},
        "definition": {"linkSupport": True},
        "implementation": {"linkSupport": True},
        "references": {},
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True, "symbolKind": SYMBOL_KINDS},
        "callHierarchy": {},
        "typeHierarchy": {},
        "rename": {"prepareSupport": True},
        "formatting": {},
        "codeAction": {
            "codeActionLiteralSupport": {
                "codeActionKind": {"valueSet": ["", "quickfix", "refactor", "source", "source.fixAll"]}
            },
            "isPreferredSupport": True,
            "disabledSupport": True,
            "dataSupport": True,
            "resolveSupport": {"properties": ["edit"]},
        },
    },
}


def initialize_params(server: LanguageServer, folder: str) -> dict[str, object]:
    """The parameters of `initialize`."""
    uri = path_to_uri(folder)
    return {
        "processId": os.getpid(),
        "clientInfo": {"name": "cockpit"},
        "rootPath": folder,
        "rootUri": uri,
        "workspaceFolders": [{"uri": uri, "name": Path(folder).name}],
        "initializationOptions": server.initialization,
        "capabilities": CLIENT_CAPABILITIES,
        "trace": "off",
    }


def find_capability(capabilities: object, registered: Mapping[str, tuple[str, object]], name: str) -> object:
    """What the server said of `name` (`definitionProvider`), or registered for it later; None for nothing."""
    found = get_nested(capabilities, *name.split("."))
    if found is not None and found is not False:
        return found
    method = CAPABILITY_METHODS.get(name, "")
    for one, options in registered.values():
        if one == method:
            return options if options is not None else True
    return None


# Both hand the protocol's columns to jedi and jedi's back as they are, whatever encoding they agreed to: seen
# with an emoji on the line, jedi-language-server 0.47 (which says utf-8) and pylsp 1.15 (which says nothing).
CHARACTER_COUNTING_SERVERS = ("jedi-language-server", "pylsp")
CAPABILITY_METHODS = {
    "diagnosticProvider": "textDocument/diagnostic",
    "renameProvider": "textDocument/rename",
    "definitionProvider": "textDocument/definition",
    "implementationProvider": "textDocument/implementation",
    "referencesProvider": "textDocument/references",
    "hoverProvider": "textDocument/hover",
    "documentSymbolProvider": "textDocument/documentSymbol",
    "workspaceSymbolProvider": "workspace/symbol",
    "callHierarchyProvider": "textDocument/prepareCallHierarchy",
    "typeHierarchyProvider": "textDocument/prepareTypeHierarchy",
    "codeActionProvider": "textDocument/codeAction",
    "documentFormattingProvider": "textDocument/formatting",
    "executeCommandProvider": "workspace/executeCommand",
}


def negotiated_encoding(answer: object) -> Encoding:
    """How the server that answered `initialize` so counts columns."""
    if get_nested(answer, "serverInfo", "name") in CHARACTER_COUNTING_SERVERS:
        return "utf-32"
    return parse_encoding(get_nested(answer, "capabilities", "positionEncoding"))


def sync_kind(capabilities: object) -> int:
    """How the server takes changes: 0 not at all, 1 whole texts, 2 ranges."""
    sync = get_nested(capabilities, "textDocumentSync")
    kind = get_nested(sync, "change") if isinstance(sync, dict) else sync
    return kind if isinstance(kind, int) and not isinstance(kind, bool) and 0 <= kind <= 2 else 1


def wants_save(capabilities: object) -> tuple[bool, bool]:
    """Whether the server wants `didSave`, and with the text."""
    save = get_nested(capabilities, "textDocumentSync", "save")
    return bool(save) or isinstance(save, dict), get_nested(save, "includeText") is True


RETRY_PAUSE = 0.05


class LspServer:
    """A live server. `stirred` rings when it said something of itself; `heard` is called then too."""

    def __init__(
        self,
        spec: LanguageServer,
        folder: str,
        texts: DocumentTextCache,
        log: ServerLog,
        limits: LspLimits,
        id_of: Callable[[str], str],
        heard: Callable[[], None],
        root: str,
    ) -> None:
        self.spec = spec
        self.folder = folder
        self.root = root
        self.texts = texts
        self.limits = limits
        self.lease = ServerLease()
        self.stirred = ChangeSignal()
        self.log = log
        self.child: ServerProcess | None = None
        self.lost = asyncio.Event()
        self.capabilities: object = None
        self.encoding: Encoding = "utf-16"
        self.pending: dict[int, float] = {}
        self._asked = 0
        self._probed = False
        self.known: set[str] = set()
        self.refreshed = 0
        self.freshness = DiskFreshness()
        self.problems = ProblemStore(root, texts)
        self.settling = ProjectReadiness(limits, time.monotonic())
        self._heard = heard
        self._id_of = id_of
        self._loop = asyncio.get_running_loop()
        self._woken = False
        self._converting: asyncio.Task[None] | None = None
        whole = {"uri": path_to_uri(folder), "name": spec.name}
        self.incoming = ServerMessages(spec.settings, whole, log, self._wake)
        self._connection: LspConnection | None = None
        self.documents = self._documents()

    async def start(self, argv: tuple[str, ...]) -> None:
        """Start the process and shake hands. Raises `OSError`, `Gone`, `Refused`, `Misshapen`."""
        self.log.say("cockpit", f"starting {' '.join(argv)} in {self.folder}")
        spawning = asyncio.ensure_future(
            asyncio.to_thread(spawn_server, argv, self.folder, self.spec.environment, self.log)
        )
        try:
            self.child = await asyncio.shield(spawning)
        except asyncio.CancelledError:
            # The thread goes on: what it started is ended as soon as it is there.
            self.child = await spawning
            raise
        self._connection = LspConnection(
            self.child.pipes, self.incoming, lambda raw: self.log.write(raw[:500], "stdout"), self._is_lost
        )
        words = initialize_params(self.spec, self.folder)
        answer = as_object(await self._connection.request("initialize", words))
        self.capabilities = as_object(answer.get("capabilities"))
        self.encoding = negotiated_encoding(answer)
        self.problems.encoding = self.encoding
        self.documents = self._documents()
        self._connection.notify("initialized", {})
        if self.spec.settings:
            settings = {"settings": dict(self.spec.settings)}
            self._connection.notify("workspace/didChangeConfiguration", settings)
        self.settling = ProjectReadiness(self.limits, time.monotonic())

    def _documents(self) -> OpenDocuments:
        saves, with_text = wants_save(self.capabilities)
        sync = SyncOptions(sync_kind(self.capabilities), saves, with_text, self.encoding)
        return OpenDocuments(self.notify, self.texts, sync, self._id_of, self._most_open)

    def _most_open(self) -> int:
        """How many documents stay open; a server may say only later that it is pulled."""
        pulls = self.offer("diagnosticProvider") is not None
        return self.limits.pulled if pulls else self.limits.documents

    def offer(self, name: str) -> object:
        """What the server offers of `name`, None for nothing."""
        return find_capability(self.capabilities, self.incoming.registered, name)

    def must(self, name: str, words: str) -> object:
        """The same. Raises `Unable` for nothing."""
        found = self.offer(name)
        if found is None:
            raise LspNotSupported(f"{self.spec.name} cannot {words}")
        return found

    async def ask(self, method: str, params: Mapping[str, object] | None = None) -> object:
        """A request's result; the caller bounds its time. Raises `Refused`, `Gone`."""
        if self._connection is None:
            raise LspServerGone(f"{self.spec.name} is not running")
        self._asked += 1
        key = self._asked
        self.pending[key] = time.monotonic()
        cancelled = False
        try:
            while True:
                try:
                    return await self._connection.request(method, params)
                except LspRequestRefused as refused:
                    # The text changed while it thought (LSP 3.17, ContentModified): asked again.
                    if refused.code not in RETRY_CODES:
                        raise
                    await asyncio.sleep(RETRY_PAUSE)
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
            except (TimeoutError, LspServerGone, LspRequestRefused):
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
