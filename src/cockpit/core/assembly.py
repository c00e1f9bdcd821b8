"""Putting a session together out of its parts. Opens nothing, starts nothing."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from cockpit.core.agent import Agent, Host
from cockpit.core.approval import Approvals
from cockpit.core.audit import Audit
from cockpit.core.budget import Budget, Limits
from cockpit.core.catalog import Catalog
from cockpit.core.log import Log
from cockpit.core.observers import Observers
from cockpit.core.opening import Past
from cockpit.core.options import Options
from cockpit.core.redaction import Redactor
from cockpit.core.residents import Residents
from cockpit.core.results import StoredResults
from cockpit.core.router import Breaker, ModelUnknown, choose
from cockpit.core.rules import Rule, parse
from cockpit.core.session import Reload, Session
from cockpit.core.store import new_id
from cockpit.core.subagent import OpenedAgents
from cockpit.core.toolbox import Toolbox
from cockpit.core.transcript import Transcript
from cockpit.core.turns import Turns
from cockpit.errors import SettingsInvalid
from cockpit.plugin.context import Navigator, Workspace
from cockpit.protocol.events import Warned
from cockpit.protocol.messages import MODES, Mode
from cockpit.settings.files import Settings, add_user_word, environment


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
    log = Log(ground.id, ground.transcript, tuple(past.envelopes))
    host = _host(ground, past, log)

    def warn(text: str) -> None:
        log.emit(Warned(text))

    agents = OpenedAgents(lambda: main)
    main = Agent("main", host, past.history, Toolbox(host.catalog), Budget(host.limits), agents)
    money = host.settings.number("limits.session_money")
    turns = Turns(main, Budget(Limits(steps=None, money=money)), past.title)
    residents = Residents(host.root, host.session, log.emit)
    session = Session(host, main, turns, residents, Observers(warn), reload, on_close)
    session.seen.extend(past.ids)
    host.answer = session.ask
    log.watch(past.history.see)
    log.watch(session.observers.see)
    return session


def _host(ground: Ground, past: Past, log: Log) -> Host:
    settings, options = ground.settings, ground.options
    approvals = Approvals(log, new_id, options.someone, options.approval_seconds)
    host = Host(
        session=ground.id,
        root=ground.root,
        log=log,
        catalog=ground.catalog,
        settings=settings,
        workspace=ground.workspace,
        navigator=ground.navigator,
        approvals=approvals,
        results=StoredResults(ground.file.with_suffix("") / "results"),
        breaker=ground.breaker,
        state=str(ground.file.with_suffix("")),
        model=options.model or past.model or settings.text("models.default"),
        mode=options.mode or past.mode or _mode(settings),
        trusted=ground.trusted,
        limits=_limits(options.limits, settings),
        rules=rules_of(settings, ground.root),
        audit=Audit(ground.id),
        redactor=Redactor(environment(ground.root, ground.trusted)),
        forbidden=_given(options),
        session_rules=list(past.rules),
        usage=past.usage,
        origin=options.origin,
    )
    approvals.new_id = host.new_id
    host.model = _model(host, options)
    host.remember = lambda rule: remember(rule, ground.root)
    return host


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


def rules_of(settings: Settings, root: str) -> tuple[Rule, ...]:
    """The rules in force for a root: everybody's, then those kept for this folder."""
    tables = (("settings", "permissions"), (f"your settings for {Path(root).name}", "projects"))
    rules: list[Rule] = []
    for source, key in tables:
        table = settings.table(key)
        if key == "projects":
            own = cast("dict[str, dict[str, object]]", table.get(root) or {})
            table = cast("dict[str, object]", own.get("permissions") or {})
        for level in ("deny", "ask", "allow"):
            words = table.get(level) or []
            if not isinstance(words, list):
                raise SettingsInvalid(f"permissions.{level} must be a list", 'write ["Tool(pattern)"]')
            rules += [parse(level, str(word), source) for word in words]
    return tuple(rules)


def remember(rule: Rule, root: str) -> None:
    """Keep a person's `always` in their own settings, for this folder only."""
    add_user_word(("projects", root, "permissions", rule.level), f"{rule.tool}({rule.pattern})")


def _given(options: Options) -> tuple[Rule, ...]:
    denied = tuple(parse("deny", text, "--deny") for text in options.deny)
    return (*denied, *(parse("allow", text, "--allow") for text in options.allow))


def _mode(settings: Settings) -> Mode:
    name = settings.text("mode", "ask")
    for mode in MODES:
        if name == mode:
            return mode
    raise SettingsInvalid(f"mode = {name!r} is no mode", f"one of {', '.join(MODES)}")


def _limits(given: Limits, settings: Settings) -> Limits:
    """The command line's limits, with the settings' where it says nothing."""
    table = settings.table("limits")
    default = Limits()

    def number(name: str) -> float | None:
        value = table.get(name)
        return float(value) if isinstance(value, int | float) else None

    steps = number("steps")
    calls, tokens = number("tool_calls"), number("tokens")
    return replace(
        given,
        steps=given.steps if given.steps != default.steps else int(steps) if steps else given.steps,
        tool_calls=given.tool_calls or (int(calls) if calls else None),
        seconds=given.seconds or number("seconds"),
        tokens=given.tokens or (int(tokens) if tokens else None),
        money=given.money if given.money is not None else number("money"),
        stop_file=given.stop_file or str(table.get("stop_file") or ""),
    )
