"""Putting a session together out of its parts. Opens nothing, starts nothing."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from cockpit.core.agent import plan_mode
from cockpit.core.agent.agent import Agent, Host, stricter_mode
from cockpit.core.agent.guards import SessionGuards
from cockpit.core.agent.models import CircuitBreaker, ModelUnknown, choose_model
from cockpit.core.agent.session_state import PLAN_TOOL, restore_progress
from cockpit.core.agent.turn_limits import Budget, TurnLimits
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
from cockpit.core.transcript.log import RedactionGate, SessionLog
from cockpit.core.transcript.session_store import StoredResults, new_session_id
from cockpit.core.transcript.transcript import Transcript
from cockpit.errors import SettingsInvalid
from cockpit.plugin.context import Navigator, Workspace
from cockpit.protocol.content import Text
from cockpit.protocol.events import Envelope, SessionChanged, Warned
from cockpit.protocol.messages import MODES, Mode
from cockpit.safety.audit_log import AuditFailed, AuditLog
from cockpit.safety.redaction import Redactor, secrets_of
from cockpit.settings import permissions
from cockpit.settings.files import EffectiveSettings, add_user_word


@dataclass(frozen=True, slots=True)
class SessionParts:
    """What a session stands on."""

    root: str
    id: str
    file: Path
    transcript: Transcript
    settings: EffectiveSettings
    catalog: PluginCatalog
    trusted: bool
    workspace: Workspace
    navigator: Navigator
    breaker: CircuitBreaker
    options: RunOptions


def assemble_session(
    ground: SessionParts, past: PastSession, reload: Reload, on_close: Callable[[], None]
) -> AgentSession:
    """The session, with what its past says of it. Raises `SettingsInvalid`, `ModelUnknown`."""
    redactor = _build_redactor(ground)
    log = SessionLog(ground.id, ground.transcript, tuple(past.envelopes), RedactionGate(redactor))
    host = _build_host(ground, past, log, redactor)

    def warn(text: str) -> None:
        log.emit(Warned(text))

    main = Agent("main", host, past.history, AgentToolbox(host.catalog), Budget(host.limits))
    money = host.settings.number("limits.session_money")
    turns = TurnQueue(main, Budget(TurnLimits(steps=None, money=money)), past.title)
    host.crew = SubagentPool(
        main, lambda: turns.budget.child(host.limits), lambda text: _start_wake_turn(turns, text)
    )
    main.agents = AgentOpener(main, host.crew)
    log.watch(host.crew.see)
    residents = Residents(host.root, host.session, log.emit)
    session = AgentSession(host, main, turns, residents, Observers(warn), reload, on_close)
    session.seen.extend(past.ids)
    host.answer = session.ask
    host.call_tool = call_tool_for_plugin
    host.change_mode = session.changed
    log.watch(lambda envelope: plan_mode.fold_plan_event(host, envelope))
    if host.mode == "plan":
        main.toolbox.search(f"select:{PLAN_TOOL}")
    log.watch(_audit_changes(host))
    log.watch(past.history.see)
    log.watch(session.observers.see)
    session.occasions = SessionGuards(main)
    host.beginning = session.occasions.begun
    log.watch(session.occasions.see)
    return session


def _build_host(ground: SessionParts, past: PastSession, log: SessionLog, redactor: Redactor) -> Host:
    settings, options = ground.settings, ground.options
    seconds = options.approval_seconds or settings.number("approvals.seconds") or 0.0
    approvals = Approvals(log, new_session_id, options.someone, seconds)
    host = Host(
        session=ground.id,
        root=ground.root,
        log=log,
        catalog=ground.catalog,
        settings=settings,
        workspace=ground.workspace,
        navigator=ground.navigator,
        approvals=approvals,
        results=StoredResults(ground.file.with_suffix("") / "results", redactor.exact),
        breaker=ground.breaker,
        state=str(ground.file.with_suffix("")),
        model=_preferred_model(settings, options.model or past.model),
        mode=_preferred_mode(settings, options.mode or past.mode),
        trusted=ground.trusted,
        limits=_effective_limits(options.limits, settings),
        rules=load_rules(ground.root, ground.trusted),
        audit=AuditLog(ground.id, redact=redactor.text),
        redactor=redactor,
        forbidden=_flag_rules(options),
        session_rules=list(past.rules),
        usage=past.usage,
        origin=options.origin,
    )
    approvals.new_id = host.new_id
    host.plan = plan_mode.restore_plan(past.plan, host.mode)
    host.carrying = restore_progress(host.plan, past.envelopes)
    host.settled = _settings_mode(settings) if host.mode == "plan" else host.mode
    host.model = _resolve_model(host, options)
    host.remember = lambda rule: save_rule(rule, ground.root)
    return host


def _start_wake_turn(turns: TurnQueue, text: str) -> None:
    """A turn of its own, because settings want one when a subagent ends in the background."""
    host = turns.main.host
    turns.add(QueuedPrompt(host.new_id(), host.origin, (Text(text),)))


def _audit_changes(host: Host) -> Callable[[Envelope], None]:
    """Writes into the audit when mode or trust change: they widen what runs unasked."""
    known: tuple[Mode, bool] = host.mode, host.trusted

    def see(envelope: Envelope) -> None:
        nonlocal known
        event = envelope.event
        if not isinstance(event, SessionChanged) or (event.mode, event.trusted) == known:
            return
        known = event.mode, event.trusted
        try:
            host.audit.noted("changed", envelope.agent, mode=event.mode, trusted=event.trusted)
        except AuditFailed as error:
            host.log.tell(Warned(error.message, error.hint, "audit"))

    return see


def _build_redactor(ground: SessionParts) -> Redactor:
    known = secrets_of(ground.root, ground.trusted, os.environ)
    raw = ground.settings.text("redaction.file_reads") == "raw"
    return Redactor(known, "raw" if raw else "redacted")


def _resolve_model(host: Host, options: RunOptions) -> str:
    """The full name of the model. One that a stored session had and that is gone is replaced; one
    that was asked for is an error."""
    try:
        return choose_model(host.catalog, host.settings, host.model).name
    except ModelUnknown as error:
        if options.model:
            raise
        replacement = choose_model(host.catalog, EffectiveSettings({}), "").name
        host.log.emit(Warned(f"{error.message}; {replacement} is used", "/model chooses another"))
        return replacement


def load_rules(root: str, trusted: bool) -> tuple[PermissionRule, ...]:
    """The rules in force for a root: everybody's, those kept for this folder, and what tightens of the
    files a trusted folder brings."""
    return tuple(
        parse_rule(one.level, one.text, one.where)
        for one in permissions.load_entries(root, trusted)
        if one.applies
    )


def save_rule(rule: PermissionRule, root: str) -> None:
    """Keep a person's `always` in their own settings, for this folder only."""
    add_user_word(("projects", root, "permissions", rule.level), f"{rule.tool}({rule.pattern})")


def _flag_rules(options: RunOptions) -> tuple[PermissionRule, ...]:
    denied = tuple(parse_rule("deny", text, "--deny") for text in options.deny)
    return (*denied, *(parse_rule("allow", text, "--allow") for text in options.allow))


def _preferred_model(settings: EffectiveSettings, wanted: str) -> str:
    """The model that was asked for, unless the machine's settings name one."""
    own = settings.text("models.default")
    return own if own and settings.is_managed("models.default") else wanted or own


def _preferred_mode(settings: EffectiveSettings, wanted: Mode | None) -> Mode:
    """The mode that was asked for; where the machine's settings name one, the stricter of both."""
    own = _settings_mode(settings)
    return stricter_mode(own, wanted) if settings.is_managed("mode") else wanted or own


def _settings_mode(settings: EffectiveSettings) -> Mode:
    name = settings.text("mode", "ask")
    for mode in MODES:
        if name == mode:
            return mode
    raise SettingsInvalid(f"mode = {name!r} is no mode", f"one of {', '.join(MODES)}")


def _effective_limits(given: TurnLimits, settings: EffectiveSettings) -> TurnLimits:
    """The limits in force; those of the command line are a layer of the settings."""
    stop_file = given.stop_file or settings.text("limits.stop_file")

    def whole(name: str) -> int | None:
        value = settings.number(f"limits.{name}")
        return None if value is None else int(value)

    return replace(
        given,
        steps=given.steps and (whole("steps") or given.steps),
        tool_calls=whole("tool_calls"),
        seconds=settings.number("limits.seconds"),
        tokens=whole("tokens"),
        money=settings.number("limits.money"),
        stop_file=stop_file,
    )
