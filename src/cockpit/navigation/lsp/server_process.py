"""The process of a server, from start to end: capabilities, requests, documents, shutdown. Does not
restart."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from cockpit.navigation.lsp.connection import LspConnection
from cockpit.navigation.lsp.documents import (
    DiskFreshness,
    DocumentTextCache,
    OpenDocuments,
    parse_sync_options,
)
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
# Both pass columns to and from jedi unchanged, whatever encoding they agreed to. Observed with an emoji on
# the line in jedi-language-server 0.47 (which says utf-8) and pylsp 1.15 (which says nothing).
CHARACTER_COUNTING_SERVERS = ("jedi-language-server", "pylsp")
# clangd compiles headers in the background. `wantDiagnostics` (its extension of `didChange`) makes it finish
# with each version instead of skipping to the last: see `requests.EXTRA_BLANK_LINES`.
STALE_PROBLEM_SERVERS: Mapping[str, Mapping[str, object]] = {"clangd": {"wantDiagnostics": True}}
# The methods whose names do not follow from those of the capabilities.
CAPABILITY_METHODS = {
    "workspaceSymbolProvider": "workspace/symbol",
    "callHierarchyProvider": "textDocument/prepareCallHierarchy",
    "typeHierarchyProvider": "textDocument/prepareTypeHierarchy",
    "documentFormattingProvider": "textDocument/formatting",
    "executeCommandProvider": "workspace/executeCommand",
}
RETRY_PAUSE = 0.05


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
    """The options that the server declared or registered for `name` (such as `definitionProvider`); None
    if it does not support it."""
    declared = get_nested(capabilities, *name.split("."))
    if declared is not None and declared is not False:
        return declared
    method = CAPABILITY_METHODS.get(name, f"textDocument/{name.removesuffix('Provider')}")
    for registered_method, options in registered.values():
        if registered_method == method:
            return options if options is not None else True
    return None


def negotiated_encoding(answer: object) -> Encoding:
    """How the server that answered `initialize` with this counts columns."""
    if get_nested(answer, "serverInfo", "name") in CHARACTER_COUNTING_SERVERS:
        return "utf-32"
    return parse_encoding(get_nested(answer, "capabilities", "positionEncoding"))


@dataclass(frozen=True, slots=True)
class LspContext:
    """What the servers of a root share.

    `gate` returns why a server may not start (empty: it may) and `find` its argv (empty: not installed); both
    are called in a thread. `make_room` stops another server if too many run. `id_of` is the protocol's
    language id of a file.
    """

    root: str
    texts: DocumentTextCache
    limits: LspLimits
    gate: Callable[[LanguageServer], str]
    find: Callable[[LanguageServer], tuple[str, ...]]
    make_room: Callable[[LanguageServer], Awaitable[None]]
    id_of: Callable[[str], str]
    on_change: Callable[[], None]


class LspServer:
    """A running server. `activity` is signalled when it sent something; `on_change` is called then, too."""

    def __init__(self, spec: LanguageServer, folder: str, log: ServerLog, context: LspContext) -> None:
        self.spec = spec
        self.folder = folder
        self.root = context.root
        self.texts = context.texts
        self.limits = context.limits
        self.lease = ServerLease()
        self.activity = ChangeSignal()
        self.log = log
        self.child: ServerProcess | None = None
        self.lost = asyncio.Event()
        self.capabilities: object = None
        self.encoding: Encoding = "utf-16"
        self._extra: Mapping[str, object] = {}
        self.pending: dict[int, float] = {}
        self._request_count = 0
        self._probed = False
        self.known: set[str] = set()
        self.refreshed = 0
        self.freshness = DiskFreshness()
        self.problems = ProblemStore(self.root, self.texts)
        self.readiness = ProjectReadiness(self.limits, time.monotonic())
        self._on_change = context.on_change
        self._id_of = context.id_of
        self._loop = asyncio.get_running_loop()
        self._is_wake_scheduled = False
        self._converting: asyncio.Task[None] | None = None
        whole = {"uri": path_to_uri(folder), "name": spec.name}
        self.incoming = ServerMessages(spec.settings, whole, log, self._wake)
        self._connection: LspConnection | None = None
        self.documents = self._documents()

    async def start(self, argv: tuple[str, ...]) -> None:
        """Start the process and initialize it. Raises `OSError`, `LspServerGone`, `LspRequestRefused`,
        `MalformedMessage`."""
        self.log.say("cockpit", f"starting {' '.join(argv)} in {self.folder}")
        spawning = asyncio.ensure_future(
            asyncio.to_thread(spawn_server, argv, self.folder, self.spec.environment, self.log)
        )
        try:
            self.child = await asyncio.shield(spawning)
        except asyncio.CancelledError:
            # The thread goes on: wait for its process, so that the caller can stop it.
            self.child = await spawning
            raise
        self._connection = LspConnection(
            self.child.pipes, self.incoming, lambda raw: self.log.write(raw[:500], "stdout"), self._is_lost
        )
        params = initialize_params(self.spec, self.folder)
        answer = as_object(await self._connection.request("initialize", params))
        self.capabilities = as_object(answer.get("capabilities"))
        self._extra = STALE_PROBLEM_SERVERS.get(str(get_nested(answer, "serverInfo", "name")), {})
        self.encoding = negotiated_encoding(answer)
        self.problems.encoding = self.encoding
        self.documents = self._documents()
        self._connection.notify("initialized", {})
        if self.spec.settings:
            settings = {"settings": dict(self.spec.settings)}
            self._connection.notify("workspace/didChangeConfiguration", settings)
        self.readiness = ProjectReadiness(self.limits, time.monotonic())

    def _documents(self) -> OpenDocuments:
        sync = parse_sync_options(self.capabilities, self.encoding, self._extra)
        return OpenDocuments(self.notify, self.texts, sync, self._id_of, self._max_open_documents)

    def _max_open_documents(self) -> int:
        """How many documents may be open. A server may register diagnostics on request later."""
        pulls = self.offer("diagnosticProvider") is not None
        return self.limits.pulled if pulls else self.limits.documents

    def offer(self, name: str) -> object:
        """The options of a capability; None if the server does not have it."""
        return find_capability(self.capabilities, self.incoming.registered, name)

    def require(self, name: str, action: str) -> object:
        """The same, but raises `LspNotSupported` if the server does not have it."""
        capability = self.offer(name)
        if capability is None:
            raise LspNotSupported(f"{self.spec.name} cannot {action}")
        return capability

    async def ask(self, method: str, params: Mapping[str, object] | None = None) -> object:
        """The result of a request; the caller bounds the time. Raises `LspRequestRefused`,
        `LspServerGone`."""
        if self._connection is None:
            raise LspServerGone(f"{self.spec.name} is not running")
        self._request_count += 1
        key = self._request_count
        self.pending[key] = time.monotonic()
        cancelled = False
        try:
            while True:
                try:
                    return await self._connection.request(method, params)
                except LspRequestRefused as refused:
                    # The text changed meanwhile (LSP 3.17, ContentModified): ask again.
                    if refused.code not in RETRY_CODES:
                        raise
                    await asyncio.sleep(RETRY_PAUSE)
        except asyncio.CancelledError:
            cancelled = True
            raise
        finally:
            # A cancelled request stays pending until the server sends anything: that reveals a hung one.
            if not cancelled:
                self.pending.pop(key, None)

    def notify(self, method: str, params: object = None) -> None:
        if self._connection is not None:
            self._connection.notify(method, params)

    def is_hung(self, now: float) -> bool:
        """Whether a request has waited too long while the server sent nothing at all."""
        if self._connection is None:
            return False
        connection, client = self._connection, self._connection.client
        self.pending = {key: at for key, at in self.pending.items() if at > client.last_answer_at}
        waited = now - max(min(self.pending.values(), default=now), client.last_message_at)
        # It may only have dropped a cancelled request, as some do: probe it before it is stopped.
        if waited > self.limits.hung / 2 and not self._probed:
            connection.probe()
        self._probed = waited > self.limits.hung / 2
        return connection.writer.stuck or waited > self.limits.hung

    @property
    def is_over(self) -> bool:
        """Whether the process no longer answers."""
        return self._connection is None or self._connection.is_over

    def notify_change(self) -> None:
        """Notify listeners that something about this server changed."""
        self._on_change()

    @property
    def publishes_stale_problems(self) -> bool:
        """Whether it may publish problems of a version that it computed with old headers."""
        return bool(self._extra)

    @property
    def settled(self) -> bool:
        return self.readiness.is_settled(self.incoming, time.monotonic())

    async def stop(self, politely: bool = True) -> None:
        """Stop it: `shutdown`, then `exit`, then its process group is killed."""
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
        self.activity.notify()
        self._on_change()

    def _wake(self) -> None:
        """Called in the reader's thread: one wake-up for any number of messages."""
        if self._is_wake_scheduled or self._loop.is_closed():
            return
        self._is_wake_scheduled = True
        self._loop.call_soon_threadsafe(self._on_activity)

    def _on_activity(self) -> None:
        self._is_wake_scheduled = False
        self.activity.notify()
        self._on_change()
        if self._converting is None or self._converting.done():
            self._converting = self._loop.create_task(self._convert())

    async def _convert(self) -> None:
        """Convert published problems to rows, off the loop."""
        while fresh := self.incoming.take():
            changed = await asyncio.to_thread(
                self.problems.published, fresh, self.spec.name, self.documents.version_of
            )
            if changed:
                self._on_change()
