"""Putting a session together out of its parts. Opens nothing, starts nothing."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from cockpit.core import planning
from cockpit.core.agent import Agent, Host, stricter_mode
from cockpit.core.approval import Approvals
from cockpit.core.budget import Budget, Limits
from cockpit.core.carrying import TOOL, carried
from cockpit.core.catalog import Catalog
from cockpit.core.gate import Gate
from cockpit.core.inner_calls import call_tool
from cockpit.core.log import Log
from cockpit.core.observers import Observers
from cockpit.core.occasions import Occasions
from cockpit.core.opening import Past
from cockpit.core.options import Options
from cockpit.core.residents import Residents
from cockpit.core.results import StoredResults
from cockpit.core.router import Breaker, ModelUnknown, choose
from cockpit.core.rules import Rule, parse
from cockpit.core.session import Reload, Session
from cockpit.core.store import new_id
from cockpit.core.subagents.crew import Crew
from cockpit.core.subagents.opening import Opening
from cockpit.core.toolbox import Toolbox
from cockpit.core.transcript import Transcript
from cockpit.core.turns import Turns, Waiting
from cockpit.errors import SettingsInvalid
from cockpit.plugin.context import Navigator, Workspace
from cockpit.protocol.content import Text
from cockpit.protocol.events import Envelope, SessionChanged, Warned
from cockpit.protocol.messages import MODES, Mode
from cockpit.safety.audit import Audit, AuditFailed
from cockpit.safety.redaction import Redactor, secrets_of
from cockpit.settings import permissions
from cockpit.settings.files import Settings, add_user_word


@dataclass(frozen=True, slots=True)
class Ground:
    """What a session stands on."""

    root: str
    id: str
    file: Path
    transcript: Transcript
    settings: Settings
    catalog: Catalog
    trusted: bool
    workspace: Workspace
    navigator: Navigator
    breaker: Breaker
    options: Options


def assemble(ground: Ground, past: Past, reload: Reload, on_close: Callable[[], None]) -> Session:
    """The session, with what its past says of it. Raises `SettingsInvalid`, `ModelUnknown`."""
    redactor = _redactor(ground)
    log = Log(ground.id, ground.transcript, tuple(past.envelopes), Gate(redactor))
    host = _host(ground, past, log, redactor)

    def warn(text: str) -> None:
        log.emit(Warned(text))

    main = Agent("main", host, past.history, Toolbox(host.catalog), Budget(host.limits))
    money = host.settings.number("limits.session_money")
    turns = Turns(main, Budget(Limits(steps=None, money=money)), past.title)
    host.crew = Crew(main, lambda: turns.budget.child(host.limits), lambda text: _wake(turns, text))
    main.agents = Opening(main, host.crew)
    log.watch(host.crew.see)
    residents = Residents(host.root, host.session, log.emit)
    session = Session(host, main, turns, residents, Observers(warn), reload, on_close)
    session.seen.extend(past.ids)
    host.answer = session.ask
    host.call_tool = call_tool
    host.change_mode = session.changed
    log.watch(lambda envelope: planning.see(host, envelope))
    if host.mode == "plan":
        main.toolbox.search(f"select:{TOOL}")
    log.watch(_changes_noted(host))
    log.watch(past.history.see)
    log.watch(session.observers.see)
    session.occasions = Occasions(main)
    host.beginning = session.occasions.begun
    log.watch(session.occasions.see)
    return session


def _host(ground: Ground, past: Past, log: Log, redactor: Redactor) -> Host:
    settings, options = ground.settings, ground.options
    seconds = options.approval_seconds or settings.number("approvals.seconds") or 0.0
    approvals = Approvals(log, new_id, options.someone, seconds)
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
        model=_chosen_model(settings, options.model or past.model),
        mode=_chosen_mode(settings, options.mode or past.mode),
        trusted=ground.trusted,
        limits=_limits(options.limits, settings),
        rules=rules_of(ground.root, ground.trusted),
        audit=Audit(ground.id, redact=redactor.text),
        redactor=redactor,
        forbidden=_given(options),
        session_rules=list(past.rules),
        usage=past.usage,
        origin=options.origin,
    )
    approvals.new_id = host.new_id
    host.plan = planning.restored(past.plan, host.mode)
    host.carrying = carried(host.plan, past.envelopes)
    host.settled = _mode(settings) if host.mode == "plan" else host.mode
    host.model = _model(host, options)
    host.remember = lambda rule: remember(rule, ground.root)
    return host


def _wake(turns: Turns, text: str) -> None:
    """A turn of its own, because settings want one when a subagent ends in the background."""
    host = turns.main.host
    turns.add(Waiting(host.new_id(), host.origin, (Text(text),)))


def _changes_noted(host: Host) -> Callable[[Envelope], None]:
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


def _redactor(ground: Ground) -> Redactor:
    known = secrets_of(ground.root, ground.trusted, os.environ)
    raw = ground.settings.text("redaction.file_reads") == "raw"
    return Redactor(known, "raw" if raw else "redacted")


def _model(host: Host, options: Options) -> str:
    """The full name of the model. One that a stored session had and that is gone is replaced; one
    that was asked for is an error."""
    try:
        return choose(host.catalog, host.settings, host.model).name
    except ModelUnknown as error:
        if options.model:
            raise
        replacement = choose(host.catalog, Settings({}), "").name
        host.log.emit(Warned(f"{error.message}; {replacement} is used", "/model chooses another"))
        return replacement


def rules_of(root: str, trusted: bool) -> tuple[Rule, ...]:
    """The rules in force for a root: everybody's, those kept for this folder, and what tightens of the
    files a trusted folder brings."""
    return tuple(
        parse(one.level, one.text, one.where) for one in permissions.entries(root, trusted) if one.applies
    )


def remember(rule: Rule, root: str) -> None:
    """Keep a person's `always` in their own settings, for this folder only."""
    add_user_word(("projects", root, "permissions", rule.level), f"{rule.tool}({rule.pattern})")


def _given(options: Options) -> tuple[Rule, ...]:
    denied = tuple(parse("deny", text, "--deny") for text in options.deny)
    return (*denied, *(parse("allow", text, "--allow") for text in options.allow))


def _chosen_model(settings: Settings, wanted: str) -> str:
    """The model that was asked for, unless the machine's settings name one."""
    own = settings.text("models.default")
    return own if own and settings.is_managed("models.default") else wanted or own


def _chosen_mode(settings: Settings, wanted: Mode | None) -> Mode:
    """The mode that was asked for; where the machine's settings name one, the stricter of both."""
    own = _mode(settings)
    return stricter_mode(own, wanted) if settings.is_managed("mode") else wanted or own


def _mode(settings: Settings) -> Mode:
    name = settings.text("mode", "ask")
    for mode in MODES:
        if name == mode:
            return mode
    raise SettingsInvalid(f"mode = {name!r} is no mode", f"one of {', '.join(MODES)}")


def _limits(given: Limits, settings: Settings) -> Limits:
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
