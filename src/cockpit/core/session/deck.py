"""The deck of this process: its sessions, and the plugins, workspaces and circuit breaker they share."""

import asyncio
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pluggy

from cockpit import __version__, paths
from cockpit.core.agent.models import CircuitBreaker
from cockpit.core.agent.working_folder import CallCheckpoints, WorkingFolder
from cockpit.core.agent.worktrees import resume_worktree
from cockpit.core.plugins.catalog import PluginCatalog, PluginMeter, build_catalog
from cockpit.core.queries.code_panels import CodePanels
from cockpit.core.session.assembly import SessionParts, active_rules, assemble_session
from cockpit.core.session.mcp_connections import McpServerPool, import_mcp
from cockpit.core.session.options import RunOptions, flag_settings
from cockpit.core.session.resume import PastSession, read_past, report_faults, start_session
from cockpit.core.session.session import AgentSession
from cockpit.core.transcript import session_store
from cockpit.core.transcript.transcript import LoadedTranscript, Transcript, TranscriptHeader, load_transcript
from cockpit.errors import CockpitError, SessionUnknown
from cockpit.navigation.navigator import LiveNavigator, ManagedNavigator, NavigatorConfig
from cockpit.plugin.discovery import DiscoveredPlugin, load_plugins
from cockpit.plugin.values import Language, Observer, Resident
from cockpit.protocol import wire
from cockpit.protocol.channel import Channel
from cockpit.protocol.events import Envelope, TurnFinished, Warned
from cockpit.protocol.queries import SessionRow
from cockpit.safety.policy import load_active_rules
from cockpit.safety.redaction import secrets_of
from cockpit.settings import files as settings_files
from cockpit.settings import permissions, trust
from cockpit.settings.files import EffectiveSettings
from cockpit.workspace.checkpoints.store import CheckpointStore
from cockpit.workspace.local import LocalWorkspace
from cockpit.workspace.sandbox.values import SandboxUse, parse_sandbox_use


class LocalDeck:
    """Opens sessions whose core runs on this event loop."""

    def __init__(self, options: RunOptions | None = None) -> None:
        self._options = options or RunOptions()
        self._sessions: dict[str, AgentSession] = {}
        self._workspaces: dict[str, LocalWorkspace] = {}
        self._navigators: dict[str, ManagedNavigator] = {}
        self._checkpoint_stores: dict[str, CheckpointStore] = {}
        self._panels: dict[str, CodePanels] = {}
        self._breaker = CircuitBreaker()
        self._plugins: tuple[pluggy.PluginManager, tuple[DiscoveredPlugin, ...]] | None = None
        self._meter = PluginMeter()
        self._servers = McpServerPool(self._options.connects)
        self._probing: dict[str, asyncio.Task[None]] = {}
        self._loading = asyncio.Lock()
        self._reloading: dict[str, asyncio.Task[None]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    async def open(self, root: str, resume: str | None = None) -> Channel:
        """A new session on `root`, or the stored session `resume`. Raises `SessionUnknown`, `SessionBusy`,
        `SettingsInvalid`, and `CockpitError` for a root that is not a folder."""
        self._loop = asyncio.get_running_loop()
        root = await asyncio.to_thread(_resolve_root, root)
        if resume is None:
            return await self._open(root, session_store.new_session_id(), None)
        path = session_store.session_file(resume, root)
        if path.stem in self._sessions:
            return self._sessions[path.stem]
        root = await asyncio.to_thread(_root_of_session, path)
        return await self._open(root, path.stem, path)

    async def list(self, root: str | None = None) -> tuple[SessionRow, ...]:
        return await asyncio.to_thread(session_store.list_sessions, root)

    async def fork(self, session: str, turn: str) -> Channel:
        """A new session with the history of `session` up to the end of `turn`."""
        loaded = await asyncio.to_thread(load_transcript, session_store.session_file(session))
        id = session_store.new_session_id()
        header = TranscriptHeader(id, loaded.header.root, time.time(), __version__, f"{session}/{turn}")
        copy = Transcript(session_store.session_folder(header.root) / f"{id}.jsonl", header)
        for record in loaded.records[: _turn_end(loaded, turn)]:
            copy.write(record)
        copy.close()
        return await self.open(header.root, id)

    async def close(self) -> None:
        for session in tuple(self._sessions.values()):
            await session.close("the deck was closed")
        await self._servers.close()
        await asyncio.gather(*(navigator.navigator.life.close() for navigator in self._navigators.values()))
        self._navigators.clear()
        for workspace in self._workspaces.values():
            await workspace.close()
        self._workspaces.clear()
        for store in self._checkpoint_stores.values():
            await asyncio.to_thread(store.close)
        self._checkpoint_stores.clear()

    async def _open(self, root: str, id: str, path: Path | None) -> AgentSession:
        trusted = await asyncio.to_thread(self._trusted, root)
        settings, catalog = await self._load_catalog(root, trusted)
        sandbox = parse_sandbox_use(settings.text("sandbox.use", "auto"))
        file = path or session_store.session_folder(root) / f"{id}.jsonl"
        transcript = Transcript(file, TranscriptHeader(id, root, time.time(), __version__))
        # Read only now, when this process is the writer; a torn end is cut.
        loaded = await asyncio.to_thread(load_transcript, file, True) if path is not None else None
        past = read_past(loaded) if loaded is not None else PastSession()
        workspace, recovered = await self._workspace(root, sandbox)
        navigator = await self._navigator(root, catalog, trusted)
        checkpoints = CallCheckpoints(self._checkpoint_store(root))
        home = WorkingFolder(root, workspace, navigator, checkpoints=checkpoints)
        parts = SessionParts(
            id, file, home, transcript, settings, catalog, trusted, self._breaker, self._options
        )
        session = assemble_session(parts, past, self._reload, lambda: self._forget(id))
        self._sessions[id] = session
        # A headless prompt is over before starting a server would pay.
        warm = self._options.origin != "headless"
        self._panels[id] = CodePanels(navigator, root, session.services.log.emit, warm)
        self._servers.attach(session, at_once=not warm)
        if self._options.record:
            session.services.log.watch(_event_recorder(Path(self._options.record)))
        moved = await resume_worktree(session.main, past.worktree)
        reports = (*recovered, *(loaded.reports if loaded is not None else ()), *moved)
        start_session(session, past, reports, self._options.takes_up)
        self._probing[id] = asyncio.create_task(session.report_isolation())
        return session

    async def _workspace(
        self, root: str, sandbox: SandboxUse = "auto"
    ) -> tuple[LocalWorkspace, tuple[str, ...]]:
        """The workspace all sessions of a root share, and what was recovered when it was opened."""
        if root in self._workspaces:
            return self._workspaces[root], ()
        workspace = LocalWorkspace(root, str(paths.state()), sandbox=sandbox)
        self._workspaces[root] = workspace
        return workspace, tuple(map(str, await workspace.recover()))

    def _checkpoint_store(self, root: str) -> CheckpointStore:
        """The checkpoints all sessions of a root share. Nothing is created before a call writes."""
        if root not in self._checkpoint_stores:
            folder = paths.state() / "checkpoints" / session_store.session_folder(root).name
            self._checkpoint_stores[root] = CheckpointStore(root, folder)
        return self._checkpoint_stores[root]

    async def _navigator(self, root: str, catalog: PluginCatalog, trusted: bool) -> LiveNavigator:
        """The navigator all sessions of a root share, with the current languages."""
        workspace, _ = await self._workspace(root)

        def warn(text: str) -> None:
            for session in self._sessions.values():
                if session.services.root == root:
                    session.warn(text)

        folders = str(paths.state()), str(paths.cache())
        config = NavigatorConfig(workspace, catalog.all(Language), trusted, *folders, warn)
        managed = self._navigators.get(root)
        if managed is None:
            managed = self._navigators[root] = ManagedNavigator(config)
        elif managed.root != config:
            await managed.use(config)
        return managed.navigator

    async def _load_catalog(self, root: str, trusted: bool) -> tuple[EffectiveSettings, PluginCatalog]:
        """Settings and catalog of a root, loaded in a thread because plugins run, with the current offers of
        MCP servers."""
        async with self._loading:
            settings, catalog = await asyncio.to_thread(self._build, root, trusted)
        return settings, self._servers.joined(root, trusted, settings, catalog)

    def _build(self, root: str, trusted: bool) -> tuple[EffectiveSettings, PluginCatalog]:
        settings = settings_files.load_settings(root, trusted, flag_settings(self._options))
        # A rule file that cannot be read prevents the start: a missing rule stops nothing.
        policy = load_active_rules(root, trusted)
        unread = tuple(f"{entry}; {entry.remedy}" for entry in permissions.read_entries(root, trusted)[1])
        settings = replace(settings, left_out=(*settings.left_out, *policy.left_out, *unread))
        if self._plugins is None:
            self._plugins = load_plugins(settings.words("plugins.disabled"))
        manager, found = self._plugins
        environment = settings_files.load_environment(root, trusted)
        catalog = build_catalog(
            manager, found, root, settings, environment, trusted, lambda: self._changed(root), self._meter
        )
        import_mcp(catalog)
        return settings, catalog

    def _trusted(self, root: str) -> bool:
        if self._options.trust is None:
            return trust.is_trusted(root) is True
        if self._options.keep_trust:
            trust.save_trust(root, self._options.trust)
        return self._options.trust

    def _changed(self, root: str) -> None:
        """A plugin reports, from any thread, that it registers something else now."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._reload_root, root)

    def _reload_root(self, root: str) -> None:
        waiting = self._reloading.get(root)
        if waiting is None or waiting.done():
            self._reloading[root] = asyncio.create_task(self._rebuild(root))

    async def _rebuild(self, root: str) -> None:
        sessions = [session for session in self._sessions.values() if session.services.root == root]
        for trusted in {session.state.trusted for session in sessions}:
            settings, catalog = await self._load_catalog(root, trusted)
            await self._navigator(root, catalog, trusted)
            for session in sessions:
                if session.state.trusted == trusted:
                    self._apply_reload(session, settings, catalog)

    async def _reload(self, session: AgentSession, trusted: bool, keep: bool) -> None:
        """Trust has changed: load the folder's files again, or drop what they registered."""
        root = session.services.root
        if keep:
            await asyncio.to_thread(trust.save_trust, root, trusted)
        settings, catalog = await self._load_catalog(root, trusted)
        await self._navigator(root, catalog, trusted)
        session.state.set_trusted(trusted)
        session.services.redactor.use(await asyncio.to_thread(secrets_of, root, trusted, os.environ))
        self._servers.attach(session, at_once=True)
        self._apply_reload(session, settings, catalog)

    def _apply_reload(
        self, session: AgentSession, settings: EffectiveSettings, catalog: PluginCatalog
    ) -> None:
        """Use reloaded settings and plugins from the next step on; residents that still exist keep
        running."""
        services = session.services
        services.breaker.forgive()
        known = {*services.catalog.warnings, *services.settings.left_out}
        faults = set(services.catalog.faults)
        rules = active_rules(services.root, session.state.trusted, self._options)
        session.use_services(replace(services, settings=settings, catalog=catalog, rules=rules))
        for agent in session.agents():
            agent.context.fixed.clear()
        session.observers.keep(catalog.all(Observer))
        session.residents.keep(catalog.all(Resident))
        for text in (*catalog.warnings, *settings.left_out):
            if text not in known:
                services.log.emit(Warned(text, source="plugins"))
        report_faults(session.main, faults)

    def _forget(self, id: str) -> None:
        self._sessions.pop(id, None)
        self._servers.detach(id)
        if (probing := self._probing.pop(id, None)) is not None:
            probing.cancel()
        if (panels := self._panels.pop(id, None)) is not None:
            panels.close()


def _event_recorder(file: Path) -> Callable[[Envelope], None]:
    """A function that appends every envelope, transient ones too, to `file` for replay."""
    file.parent.mkdir(parents=True, exist_ok=True)

    def write(envelope: Envelope) -> None:
        with file.open("a", encoding="utf-8", errors="surrogatepass") as out:
            out.write(wire.dumps(envelope) + "\n")

    return write


def _resolve_root(root: str) -> str:
    real = os.path.realpath(root)
    if not Path(real).is_dir():
        raise CockpitError(f"{root} is not a folder", "name the folder of a project")
    return real


def _root_of_session(path: Path) -> str:
    root = load_transcript(path).header.root
    if not Path(root).is_dir():
        raise CockpitError(
            f"the folder of that session is gone: {root}", "restore it, or start a new session"
        )
    return root


def _turn_end(loaded: LoadedTranscript, turn: str) -> int:
    for at, record in enumerate(loaded.records):
        if isinstance(record, Envelope) and isinstance(record.event, TurnFinished) and record.turn == turn:
            return at + 1
    session = loaded.header.session
    raise SessionUnknown(f"session {session} has no finished turn {turn}", "/history lists them")
