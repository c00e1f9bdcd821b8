"""Runs the guards of one point in their order. No guard loosens anything."""

import asyncio
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import assert_never

from cockpit.core.agent import Agent
from cockpit.core.view import context_of
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
from cockpit.protocol.events import Warned
from cockpit.protocol.messages import Json

Warn = Callable[[str], None]
Rulings = tuple[Ruling, ...]
SHOWN = 400


@dataclass(frozen=True, slots=True)
class Guardedly:
    """What the guards of a point made of it: `asks`, `refusal` and `halt` are reasons, empty for none."""

    guarded: Guarded
    added: tuple[str, ...] = ()
    asks: str = ""
    refusal: str = ""
    goes_on: str = ""
    halt: str = ""


@dataclass(slots=True)
class _Passage:
    guarded: Guarded
    warn: Warn
    added: list[str] = field(default_factory=list)
    asks: str = ""
    refusal: str = ""
    goes_on: str = ""
    halt: str = ""


def has_guards(agent: Agent, point: Point) -> bool:
    """Whether anybody looks at this point."""
    return any(guard.point == point for guard in agent.host.catalog.all(Guard))


async def ask_guards(
    agent: Agent, guarded: Guarded, guards: tuple[Guard, ...] | None = None, call: str = ""
) -> Guardedly:
    """Put `guarded` before every guard of its point (or before `guards`). A guard that halts ends the
    turn of `agent`."""
    host = agent.host
    everybody = host.catalog.all(Guard) if guards is None else guards
    asked = tuple(guard for guard in everybody if guard.point == guarded.point)
    if not asked:
        return Guardedly(guarded)
    role = agent.role.name if agent.role is not None else ""
    guarded = replace(guarded, role=role, transcript=f"{host.state}.jsonl")

    def warn(text: str) -> None:
        host.log.emit(Warned(text), agent.path, call)

    def context(guard: Guard) -> Context:
        return context_of(agent, host.catalog.owner(Guard, guard.name))

    passed = await pass_through(asked, guarded, context, warn)
    agent.halt = agent.halt or passed.halt
    return passed


async def pass_through(
    guards: tuple[Guard, ...], guarded: Guarded, context: Callable[[Guard], Context], warn: Warn
) -> Guardedly:
    """Ask every one of `guards`, each (or each group) with what the one before made of it."""
    passage = _Passage(guarded, warn)
    for together in _groups(guards):
        asking = (_check(guard, passage.guarded, context(guard), warn) for guard in together)
        ruled = await asyncio.gather(*asking) if len(together) > 1 else [await next(asking)]
        for guard, rulings in zip(together, ruled, strict=True):
            for ruling in rulings:
                _take(ruling, guard, passage)
        if passage.refusal or passage.halt:
            break
    return Guardedly(
        passage.guarded,
        tuple(passage.added),
        passage.asks,
        passage.refusal,
        passage.goes_on,
        passage.halt,
    )


def _groups(guards: tuple[Guard, ...]) -> Iterator[list[Guard]]:
    """Those that are asked at the same time; a group stands where its first one stands."""
    told: set[str] = set()
    for guard in guards:
        if not guard.group:
            yield [guard]
        elif guard.group not in told:
            told.add(guard.group)
            yield [one for one in guards if one.group == guard.group]


async def _check(guard: Guard, guarded: Guarded, context: Context, warn: Warn) -> Rulings:
    seconds = None if math.isinf(guard.timeout_s) else guard.timeout_s
    try:
        async with asyncio.timeout(seconds):
            ruled = await guard.check(guarded, context)
        return ruled if isinstance(ruled, tuple) else (ruled,)
    except TimeoutError:
        fault = f"the guard {guard.name} did not answer within {guard.timeout_s:g} s"
    # Foreign code: a guard that raises (also `sys.exit`) must not end the turn.
    except (Exception, SystemExit) as error:
        fault = f"the guard {guard.name} failed: {type(error).__name__}: {error}"
    warn(fault)
    return (_failed(guarded.point, fault),)


def _failed(point: Point, fault: str) -> Ruling:
    """A check that failed has not agreed, where agreement is what was asked."""
    return Ask(fault) if point == "tool_call" else Pass()


def _take(ruling: Ruling, guard: Guard, passage: _Passage) -> None:
    match ruling:
        case Pass():
            pass
        case Rewrite(text, arguments):
            _rewrite(text, arguments, guard, passage)
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


def _rewrite(text: str, arguments: Mapping[str, Json] | None, guard: Guard, passage: _Passage) -> None:
    """Another text or other arguments. At `permission` a person is asked about the call as it stands."""
    call = passage.guarded.call
    if call is not None and arguments is not None and passage.guarded.point == "tool_call":
        if call.arguments != arguments:
            written = json.dumps(arguments, ensure_ascii=False, default=str)
            passage.warn(f"{guard.name} changed what {call.name} is called with: {written[:SHOWN]}")
        call = replace(call, arguments=arguments)
    passage.guarded = replace(passage.guarded, text=text or passage.guarded.text, call=call)
