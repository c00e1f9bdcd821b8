"""Builds a session from its parts. Opens no file and starts nothing."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from cockpit.core.agent.agent import Agent, Services
from cockpit.core.agent.guards import SessionGuards
from cockpit.core.agent.models import CircuitBreaker, ModelUnknown, choose_model
from cockpit.core.agent.session_state import PLAN_TOOL, stricter_mode
from cockpit.core.agent.turn_limits import Budget, TurnLimits
from cockpit.core.agent.working_folder import WorkingFolder
from cockpit.core.calls.tool_calls import call_tool_for_plugin
from cockpit.core.permission.approvals import Approvals
from cockpit.core.permission.rules import PermissionRule, parse_rule
from cockpit.core.plugins.background import Observers, Residents
from cockpit.core.plugins.catalog import PluginCatalog
from cockpit.core.plugins.toolbox import AgentToolbox
from cockpit.core.session.options import RunOptions
from cockpit.core.session.resume import PastSession
from cockpit.core.session.session import AgentSession, Reload
from cockpit.core.session.turn_queue import QueuedPrompt, TurnQueue
from cockpit.core.subagents.opener import AgentOpener
from cockpit.core.subagents.pool import SubagentPool
from cockpit.core.transcript.log import RedactionGate, SessionLog, new_id
from cockpit.core.transcript.session_store import StoredResults
from cockpit.core.transcript.transcript import Transcript
from cockpit.errors import SettingsInvalid
from cockpit.protocol.content import Text
from cockpit.protocol.events import Envelope, SessionChanged, Warned
from cockpit.protocol.messages import MODES, Mode
from cockpit.protocol.queries import Query, Reply
from cockpit.safety.audit_log import AuditFailed, AuditLog
from cockpit.safety.redaction import Redactor, secrets_of
from cockpit.settings import permissions
from cockpit.settings.files import EffectiveSettings


@dataclass(frozen=True, slots=True)
class SessionParts:
    """The parts a session is built from. `home` is its own folder, `file` its transcript."""

    id: str
    file: Path
    home: WorkingFolder
    transcript: Transcript
    settings: EffectiveSettings
    catalog: PluginCatalog
    trusted: bool
    breaker: CircuitBreaker
    options: RunOptions


def assemble_session(
    parts: SessionParts, past: PastSession, reload: Reload, on_close: Callable[[], None]
) -> AgentSession:
    """The session, in the state that `past` records. Raises `SettingsInvalid`, `ModelUnknown`."""
    settings, options, state = parts.settings, parts.options, past.state
    mode = _preferred_mode(settings, options.mode or (state.mode if past.envelopes else None))
    raw = settings.text("redaction.file_reads") == "raw"
    secrets = secrets_of(parts.home.root, parts.trusted, os.environ)
    redactor = Redactor(secrets, "raw" if raw else "redacted")
    log = SessionLog(parts.id, parts.transcript, tuple(past.envelopes), RedactionGate(redactor))
    model = _resolve_model(parts, log, _preferred_model(settings, options.model or state.model))
    seconds = options.approval_seconds or settings.number("approvals.seconds") or 0.0

    def warn(text: str) -> None:
        log.emit(Warned(text))

    async def answer(query: Query) -> Reply:
        return await session.ask(query)

    services = Services(
        session=parts.id,
        storage=str(parts.file.with_suffix("")),
        home=parts.home,
        log=log,
        catalog=parts.catalog,
        settings=settings,
        rules=active_rules(parts.home.root, parts.trusted, options),
        limits=_effective_limits(options.limits, settings),
        approvals=Approvals(log, options.someone, seconds),
        results=StoredResults(parts.file.with_suffix("") / "results", redactor.exact),
        breaker=parts.breaker,
        audit=AuditLog(parts.id, redact=redactor.text),
        redactor=redactor,
        answer_query=answer,
        call_tool=call_tool_for_plugin,
    )
    state.start(log.emit, model, mode, parts.trusted, _settings_mode(settings))
    state.set_origin(options.origin)
    toolbox = AgentToolbox(services.catalog)
    main = Agent("main", services, state, past.history, toolbox, Budget(services.limits), services.home)
    if mode == "plan":
        toolbox.search(f"select:{PLAN_TOOL}")
    guards = SessionGuards(main)
    pool = SubagentPool(
        main,
        lambda: turns.budget.child(services.limits),
        # With `agents.follow_up` a subagent that ends in the background starts a turn.
        lambda text: turns.add(QueuedPrompt(new_id(), state.origin, (Text(text),))),
    )
    main.agents = AgentOpener(main, pool)
    money = settings.number("limits.session_money")
    turns = TurnQueue(main, Budget(TurnLimits(steps=None, money=money)), pool, guards)
    residents = Residents(services.root, parts.id, log.emit)
    observers = Observers(warn)
    session = AgentSession(main, pool, turns, guards, residents, observers, reload, on_close)
    session.ids.extend(past.ids)
    audit_changes = _audit_changes(services, mode, parts.trusted)
    for see in (state.follow, pool.see, audit_changes, past.history.see, observers.see, guards.see):
        log.watch(see)
    return session


def _audit_changes(services: Services, mode: Mode, trusted: bool) -> Callable[[Envelope], None]:
    """A watcher that audits changes of mode and trust, because they widen what runs without asking."""
    known = mode, trusted

    def see(envelope: Envelope) -> None:
        nonlocal known
        event = envelope.event
        if not isinstance(event, SessionChanged) or (event.mode, event.trusted) == known:
            return
        known = event.mode, event.trusted
        try:
            services.audit.noted("changed", envelope.agent, mode=event.mode, trusted=event.trusted)
        except AuditFailed as error:
            services.log.emit_unwritten(Warned(error.message, error.hint, "audit"))

    return see


def _resolve_model(parts: SessionParts, log: SessionLog, model: str) -> str:
    """The full name of the model. A stored session's model that no longer exists is replaced; an unknown
    model of the command line is an error."""
    try:
        return choose_model(parts.catalog, parts.settings, model).name
    except ModelUnknown as error:
        if parts.options.model:
            raise
        replacement = choose_model(parts.catalog, EffectiveSettings({}), "").name
        log.emit(Warned(f"{error.message}; {replacement} is used", "/model chooses another"))
        return replacement


def active_rules(root: str, trusted: bool, options: RunOptions) -> tuple[PermissionRule, ...]:
    """The rules of the command line and of settings."""
    denied = tuple(parse_rule("deny", text, "--deny") for text in options.deny)
    allowed = tuple(parse_rule("allow", text, "--allow") for text in options.allow)
    return (*denied, *allowed, *load_rules(root, trusted))


def load_rules(root: str, trusted: bool) -> tuple[PermissionRule, ...]:
    """The rules settings give a root: the user's, those stored for this folder, and the restrictions in
    the files of a trusted folder."""
    return tuple(
        parse_rule(entry.level, entry.text, entry.where)
        for entry in permissions.load_entries(root, trusted)
        if entry.applies
    )


def _preferred_model(settings: EffectiveSettings, requested: str) -> str:
    """The requested model, unless managed settings name one."""
    own = settings.text("models.default")
    return own if own and settings.is_managed("models.default") else requested or own


def _preferred_mode(settings: EffectiveSettings, requested: Mode | None) -> Mode:
    """The requested mode; where managed settings name one, the stricter of both."""
    own = _settings_mode(settings)
    return stricter_mode(own, requested) if settings.is_managed("mode") else requested or own


def _settings_mode(settings: EffectiveSettings) -> Mode:
    name = settings.text("mode", "ask")
    for mode in MODES:
        if name == mode:
            return mode
    raise SettingsInvalid(f"unknown mode {name!r}", f"set mode to one of {', '.join(MODES)}")


def _effective_limits(limits: TurnLimits, settings: EffectiveSettings) -> TurnLimits:
    """The limits in force; those of the command line are a layer of the settings."""

    def whole(name: str) -> int | None:
        value = settings.number(f"limits.{name}")
        return None if value is None else int(value)

    return replace(
        limits,
        steps=limits.steps and (whole("steps") or limits.steps),
        tool_calls=whole("tool_calls"),
        seconds=settings.number("limits.seconds"),
        tokens=whole("tokens"),
        money=settings.number("limits.money"),
        stop_file=limits.stop_file or settings.text("limits.stop_file"),
    )
