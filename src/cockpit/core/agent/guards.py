"""Runs guards. No guard loosens a verdict.

`run_guards` runs those of one point in order. `SessionGuards` runs those of points outside of turns: the
start and end of a session, and notifications to the user.
"""

import asyncio
import json
import math
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import assert_never

from cockpit.core.agent.agent import Agent
from cockpit.core.agent.plugin_context import build_context
from cockpit.plugin.context import Context
from cockpit.plugin.safety import (
    Add,
    Ask,
    Continue,
    Guard,
    Guarded,
    Halt,
    Pass,
    Point,
    Refuse,
    Rewrite,
    Ruling,
)
from cockpit.protocol.events import (
    ApprovalRequested,
    Envelope,
    Event,
    QuestionAsked,
    TurnFinished,
    TurnStarted,
    Warned,
)
from cockpit.protocol.messages import Json

Warn = Callable[[str], None]
Rulings = tuple[Ruling, ...]
MAX_SHOWN_ARGUMENTS = 400


@dataclass(frozen=True, slots=True)
class GuardOutcome:
    """What the guards of a point decided. `asks`, `refusal` and `halt` are reasons, empty for none."""

    guarded: Guarded
    added: tuple[str, ...] = ()
    asks: str = ""
    refusal: str = ""
    goes_on: str = ""
    halt: str = ""


@dataclass(slots=True)
class _GuardRun:
    guarded: Guarded
    warn: Warn
    added: list[str] = field(default_factory=list)
    asks: str = ""
    refusal: str = ""
    goes_on: str = ""
    halt: str = ""


def has_guards(agent: Agent, point: Point) -> bool:
    """Whether any guard is registered for this point."""
    return any(guard.point == point for guard in agent.services.catalog.all(Guard))


async def run_guards(
    agent: Agent, guarded: Guarded, guards: tuple[Guard, ...] | None = None, call: str = ""
) -> GuardOutcome:
    """Run every guard of the point (or `guards`). A guard that halts ends the turn of `agent`."""
    services = agent.services
    registered = services.catalog.all(Guard) if guards is None else guards
    selected = tuple(guard for guard in registered if guard.point == guarded.point)
    if not selected:
        return GuardOutcome(guarded)
    role = agent.role.name if agent.role is not None else ""
    guarded = replace(guarded, role=role, transcript=f"{services.storage}.jsonl")

    def warn(text: str) -> None:
        services.log.emit(Warned(text), agent.path, call)

    def context(guard: Guard) -> Context:
        return build_context(agent, services.catalog.owner(Guard, guard.name))

    outcome = await run_guard_list(selected, guarded, context, warn)
    agent.halt = agent.halt or outcome.halt
    return outcome


async def run_guard_list(
    guards: tuple[Guard, ...], guarded: Guarded, context: Callable[[Guard], Context], warn: Warn
) -> GuardOutcome:
    """Run `guards` one after another, or group by group; each sees what the one before changed."""
    passage = _GuardRun(guarded, warn)
    for together in _group_guards(guards):
        asking = (_run_guard(guard, passage.guarded, context(guard), warn) for guard in together)
        ruled = await asyncio.gather(*asking) if len(together) > 1 else [await next(asking)]
        for guard, rulings in zip(together, ruled, strict=True):
            for ruling in rulings:
                _apply_ruling(ruling, guard, passage)
        if passage.refusal or passage.halt:
            break
    return GuardOutcome(
        passage.guarded,
        tuple(passage.added),
        passage.asks,
        passage.refusal,
        passage.goes_on,
        passage.halt,
    )


def _group_guards(guards: tuple[Guard, ...]) -> Iterator[list[Guard]]:
    """Guards that run at the same time. A group runs where its first guard is."""
    groups: set[str] = set()
    for guard in guards:
        if not guard.group:
            yield [guard]
        elif guard.group not in groups:
            groups.add(guard.group)
            yield [member for member in guards if member.group == guard.group]


async def _run_guard(guard: Guard, guarded: Guarded, context: Context, warn: Warn) -> Rulings:
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
    return (_ruling_on_failure(guarded.point, fault),)


def _ruling_on_failure(point: Point, fault: str) -> Ruling:
    """A guard that failed has not agreed: before a call the user is asked."""
    return Ask(fault) if point == "tool_call" else Pass()


def _apply_ruling(ruling: Ruling, guard: Guard, passage: _GuardRun) -> None:
    match ruling:
        case Pass():
            pass
        case Rewrite(text, arguments):
            _apply_rewrite(text, arguments, guard, passage)
        case Add(text):
            passage.added.append(text)
        case Ask(reason):
            passage.asks = passage.asks or f"{guard.name}: {reason}"
        case Refuse(reason):
            passage.refusal = passage.refusal or f"{guard.name}: {reason}"
        case Continue(reason):
            passage.goes_on = "\n\n".join(filter(None, (passage.goes_on, reason)))
        case Halt(reason):
            passage.halt = passage.halt or f"{guard.name}: {reason}"
        case _:
            assert_never(ruling)


def _apply_rewrite(text: str, arguments: Mapping[str, Json] | None, guard: Guard, passage: _GuardRun) -> None:
    """Apply another text or other arguments. At `permission` the user is asked about the call as it
    is now."""
    call = passage.guarded.call
    if call is not None and arguments is not None and passage.guarded.point == "tool_call":
        if call.arguments != arguments:
            written = json.dumps(arguments, ensure_ascii=False, default=str)
            passage.warn(
                f"{guard.name} changed what {call.name} is called with: {written[:MAX_SHOWN_ARGUMENTS]}"
            )
        call = replace(call, arguments=arguments)
    passage.guarded = replace(passage.guarded, text=text or passage.guarded.text, call=call)


# The end of a session never waits longer for its guards.
SESSION_END_SECONDS = 60.0


@dataclass(slots=True)
class SessionGuards:
    """The guards of one session outside of its turns. The user is notified `idle_seconds` after a
    turn ended."""

    main: Agent
    idle_seconds: float = 60.0
    _begun: set[str] = field(default_factory=set)
    _beginning: "asyncio.Task[None] | None" = None
    _added: list[str] = field(default_factory=list)
    _telling: "set[asyncio.Task[None]]" = field(default_factory=set)
    _idling: asyncio.TimerHandle | None = None

    def begin(self, source: str) -> None:
        """Run the guards of the start (or the `resume`) of the session. After a reload only new
        guards run."""
        everybody = self.main.services.catalog.all(Guard)
        fresh = tuple(
            one for one in everybody if one.point == "session_start" and one.name not in self._begun
        )
        if not fresh:
            return
        self._begun |= {one.name for one in fresh}
        self._beginning = asyncio.create_task(self._begin(source, fresh, self._beginning))

    async def start_texts(self) -> tuple[str, ...]:
        """Wait for the guards of the start and return what they add, each text once."""
        if self._beginning is not None:
            await asyncio.shield(self._beginning)
        added, self._added = tuple(self._added), []
        return added

    def see(self, envelope: Envelope) -> None:
        """Notify the user of requests to answer, and of a turn that ended a while ago."""
        event = envelope.event
        if envelope.agent == "main" and isinstance(event, TurnStarted | TurnFinished):
            self._is_idle(isinstance(event, TurnFinished))
        if not isinstance(event, ApprovalRequested | QuestionAsked):
            return
        if self.main.services.approvals.can_ask and has_guards(self.main, "notification"):
            self._tell(self._notify(*_notification(event)))

    async def end(self, reason: str) -> None:
        """End what still runs here, then run the guards of the end."""
        self._is_idle(False)
        running = {*self._telling, *((self._beginning,) if self._beginning else ())}
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        if has_guards(self.main, "session_end"):
            ending = asyncio.create_task(self._end(reason))
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

    async def _notify(self, kind: str, text: str) -> None:
        await run_guards(self.main, Guarded("notification", text, facts={"kind": kind}))

    async def _end(self, reason: str) -> None:
        await run_guards(self.main, Guarded("session_end", facts={"reason": reason}))

    def _is_idle(self, idle: bool) -> None:
        if self._idling is not None:
            self._idling.cancel()
            self._idling = None
        if idle and self.main.services.approvals.can_ask and has_guards(self.main, "notification"):
            loop = asyncio.get_running_loop()
            self._idling = loop.call_later(self.idle_seconds, self._waits)

    def _waits(self) -> None:
        self._tell(self._notify("idle_prompt", "cockpit is waiting for your input"))

    def _tell(self, telling: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(telling)
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)


def _notification(event: Event) -> tuple[str, str]:
    if isinstance(event, ApprovalRequested):
        return "permission_prompt", f"cockpit needs your permission to use {event.tool}: {event.title}"
    return "elicitation_dialog", event.question if isinstance(event, QuestionAsked) else ""
