"""Runs guards. No guard loosens a verdict.

`run_guards` runs the guards of one point in order. `SessionGuards` runs those of points outside turns: the
start and end of a session, and notifications to the user.
"""

import asyncio
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import assert_never

from cockpit.core.agent.agent import Agent
from cockpit.core.agent.plugin_context import build_context
from cockpit.plugin import safety
from cockpit.plugin.context import Context
from cockpit.plugin.safety import Guard, Guarded, Ruling
from cockpit.protocol.events import ApprovalRequested, Envelope, QuestionAsked, TurnFinished, TurnStarted
from cockpit.protocol.messages import Json

Warn = Callable[[str], None]
MAX_SHOWN_ARGUMENTS = 400


@dataclass(slots=True)
class GuardOutcome:
    """What the guards of a point decided. `added` are texts, `goes_on` is the reason to continue a turn;
    `asks`, `refusal` and `halt` are reasons, empty for none."""

    guarded: Guarded
    added: list[str] = field(default_factory=list)
    asks: str = ""
    refusal: str = ""
    goes_on: str = ""
    halt: str = ""


def has_guards(agent: Agent, point: safety.Point) -> bool:
    """Whether any guard is registered for this point."""
    return any(guard.point == point for guard in agent.services.catalog.all(Guard))


async def run_guards(
    agent: Agent, guarded: Guarded, guards: tuple[Guard, ...] | None = None, call: str = ""
) -> GuardOutcome:
    """Run every guard of the point (or `guards`) one after another, or group by group; each sees the changes
    of those before it. A guard that halts ends the turn of `agent`."""
    services = agent.services
    registered = services.catalog.all(Guard) if guards is None else guards
    selected = tuple(guard for guard in registered if guard.point == guarded.point)
    if not selected:
        return GuardOutcome(guarded)
    role = agent.role.name if agent.role is not None else ""
    guarded = replace(guarded, role=role, transcript=f"{services.storage}.jsonl")

    def warn(text: str) -> None:
        agent.warn(text, call=call)

    def context(guard: Guard) -> Context:
        return build_context(agent, services.catalog.owner(Guard, guard.name))

    outcome = GuardOutcome(guarded)
    for group in _group_guards(selected):
        checks = (_run_guard(guard, outcome.guarded, context(guard), warn) for guard in group)
        ruled = await asyncio.gather(*checks) if len(group) > 1 else [await next(checks)]
        for guard, rulings in zip(group, ruled, strict=True):
            for ruling in rulings:
                _apply_ruling(ruling, guard, outcome, warn)
        if outcome.refusal or outcome.halt:
            break
    agent.halt = agent.halt or outcome.halt
    return outcome


def _group_guards(guards: tuple[Guard, ...]) -> Iterator[list[Guard]]:
    """Guards that run at the same time. A group runs where its first guard is."""
    groups: set[str] = set()
    for guard in guards:
        if not guard.group:
            yield [guard]
        elif guard.group not in groups:
            groups.add(guard.group)
            yield [member for member in guards if member.group == guard.group]


async def _run_guard(guard: Guard, guarded: Guarded, context: Context, warn: Warn) -> tuple[Ruling, ...]:
    seconds = None if math.isinf(guard.timeout_s) else guard.timeout_s
    try:
        async with asyncio.timeout(seconds):
            ruled = await guard.check(guarded, context)
        return ruled if isinstance(ruled, tuple) else (ruled,)
    except TimeoutError:
        fault = f"the guard {guard.name} did not answer within {guard.timeout_s:g} s"
    # Plugin code: a guard that raises (also `sys.exit`) must not end the turn.
    except (Exception, SystemExit) as error:
        fault = f"the guard {guard.name} failed: {type(error).__name__}: {error}"
    warn(fault)
    # A guard that failed has not agreed: before a call the user is asked.
    return (safety.Ask(fault) if guarded.point == "tool_call" else safety.Pass(),)


def _apply_ruling(ruling: Ruling, guard: Guard, outcome: GuardOutcome, warn: Warn) -> None:
    match ruling:
        case safety.Pass():
            pass
        case safety.Rewrite(text, arguments):
            _apply_rewrite(text, arguments, guard, outcome, warn)
        case safety.Add(text):
            outcome.added.append(text)
        case safety.Ask(reason):
            outcome.asks = outcome.asks or f"{guard.name}: {reason}"
        case safety.Refuse(reason):
            outcome.refusal = outcome.refusal or f"{guard.name}: {reason}"
        case safety.Continue(reason):
            outcome.goes_on = "\n\n".join(filter(None, (outcome.goes_on, reason)))
        case safety.Halt(reason):
            outcome.halt = outcome.halt or f"{guard.name}: {reason}"
        case _:
            assert_never(ruling)


def _apply_rewrite(
    text: str, arguments: Mapping[str, Json] | None, guard: Guard, outcome: GuardOutcome, warn: Warn
) -> None:
    """Apply another text or other arguments. At `permission` the user is asked about the call as it
    is now."""
    guarded = outcome.guarded
    call = guarded.call
    if call is not None and arguments is not None and guarded.point == "tool_call":
        if call.arguments != arguments:
            written = json.dumps(arguments, ensure_ascii=False, default=str)
            warn(f"{guard.name} changed the arguments of {call.name}: {written[:MAX_SHOWN_ARGUMENTS]}")
        call = replace(call, arguments=arguments)
    outcome.guarded = replace(guarded, text=text or guarded.text, call=call)


# The end of a session waits no longer for its guards.
SESSION_END_SECONDS = 60.0


@dataclass(slots=True)
class SessionGuards:
    """The guards of one session outside its turns. The user is notified `idle_seconds` after a turn ended."""

    main: Agent
    idle_seconds: float = 60.0
    _started: set[str] = field(default_factory=set)
    _starting: "asyncio.Task[None] | None" = None
    _added: list[str] = field(default_factory=list)
    _notifying: "set[asyncio.Task[None]]" = field(default_factory=set)
    _idle_timer: asyncio.TimerHandle | None = None

    def begin(self, source: str) -> None:
        """Run the guards of the start (or the `resume`) of the session. After a reload only new
        guards run."""
        guards = self.main.services.catalog.all(Guard)
        fresh = tuple(
            guard for guard in guards if guard.point == "session_start" and guard.name not in self._started
        )
        if not fresh:
            return
        self._started |= {guard.name for guard in fresh}
        self._starting = asyncio.create_task(self._begin(source, fresh, self._starting))

    async def start_texts(self) -> tuple[str, ...]:
        """Wait for the guards of the start and return what they add, each text once."""
        if self._starting is not None:
            await asyncio.shield(self._starting)
        added, self._added = tuple(self._added), []
        return added

    def see(self, envelope: Envelope) -> None:
        """Notify the user of requests to answer, and of a turn that ended a while ago."""
        event = envelope.event
        if envelope.agent == "main" and isinstance(event, TurnStarted | TurnFinished):
            self._set_idle(isinstance(event, TurnFinished))
        if isinstance(event, ApprovalRequested):
            text = f"cockpit needs your permission to use {event.tool}: {event.title}"
            self._notify("permission_prompt", text)
        elif isinstance(event, QuestionAsked):
            self._notify("elicitation_dialog", event.question)

    async def end(self, reason: str) -> None:
        """End what still runs here, then run the guards of the end."""
        self._set_idle(False)
        running = {*self._notifying, *((self._starting,) if self._starting else ())}
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        if has_guards(self.main, "session_end"):
            ending = asyncio.create_task(self._run(Guarded("session_end", facts={"reason": reason})))
            await asyncio.wait((ending,), timeout=SESSION_END_SECONDS)
            ending.cancel()

    async def _begin(
        self, source: str, fresh: tuple[Guard, ...], before: "asyncio.Task[None] | None"
    ) -> None:
        if before is not None:
            await before
        guarded = Guarded("session_start", facts={"source": source, "model": self.main.state.model})
        passed = await run_guards(self.main, guarded, fresh)
        self._added += passed.added

    async def _run(self, guarded: Guarded) -> None:
        await run_guards(self.main, guarded)

    def _set_idle(self, idle: bool) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None
        if idle and self._can_notify():
            text = "cockpit is waiting for your input"
            loop = asyncio.get_running_loop()
            self._idle_timer = loop.call_later(self.idle_seconds, self._notify, "idle_prompt", text)

    def _can_notify(self) -> bool:
        return self.main.services.approvals.can_ask and has_guards(self.main, "notification")

    def _notify(self, kind: str, text: str) -> None:
        if self._can_notify():
            task = asyncio.create_task(self._run(Guarded("notification", text, facts={"kind": kind})))
            self._notifying.add(task)
            task.add_done_callback(self._notifying.discard)
