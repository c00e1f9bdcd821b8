"""Runs the guards of one point in their order. No guard loosens anything."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import assert_never

from cockpit.plugin.context import Context
from cockpit.plugin.safety import Add, Ask, Continue, Guard, Guarded, Pass, Point, Refuse, Rewrite, Ruling


@dataclass(frozen=True, slots=True)
class Guardedly:
    """What the guards of a point made of it: `asks` and `refusal` are reasons, empty for none."""

    guarded: Guarded
    added: tuple[str, ...] = ()
    asks: str = ""
    refusal: str = ""
    goes_on: str = ""


@dataclass(slots=True)
class _Passage:
    guarded: Guarded
    added: list[str] = field(default_factory=list)
    asks: str = ""
    refusal: str = ""
    goes_on: str = ""


async def pass_through(
    guards: tuple[Guard, ...], guarded: Guarded, context: Context, warn: Callable[[str], None]
) -> Guardedly:
    """Ask every guard of `guarded.point`, each with what the one before made of it."""
    passage = _Passage(guarded)
    for guard in guards:
        if guard.point != guarded.point:
            continue
        ruling = await _check(guard, passage.guarded, context, warn)
        _take(ruling, guard, passage)
        if passage.refusal:
            break
    return Guardedly(passage.guarded, tuple(passage.added), passage.asks, passage.refusal, passage.goes_on)


async def _check(guard: Guard, guarded: Guarded, context: Context, warn: Callable[[str], None]) -> Ruling:
    try:
        async with asyncio.timeout(guard.timeout_s):
            return await guard.check(guarded, context)
    except TimeoutError:
        fault = f"the guard {guard.name} did not answer within {guard.timeout_s:g} s"
    # Foreign code: a guard that raises must not end the turn.
    except Exception as error:
        fault = f"the guard {guard.name} failed: {type(error).__name__}: {error}"
    warn(fault)
    return _failed(guarded.point, fault)


def _failed(point: Point, fault: str) -> Ruling:
    """A check that failed has not agreed, where agreement is what was asked."""
    return Ask(fault) if point == "tool_call" else Pass()


def _take(ruling: Ruling, guard: Guard, passage: _Passage) -> None:
    match ruling:
        case Pass():
            pass
        case Rewrite(text, arguments):
            call = passage.guarded.call
            if call is not None and arguments is not None:
                call = replace(call, arguments=arguments)
            passage.guarded = replace(passage.guarded, text=text or passage.guarded.text, call=call)
        case Add(text):
            passage.added.append(text)
        case Ask(reason):
            passage.asks = passage.asks or f"{guard.name}: {reason}"
        case Refuse(reason):
            passage.refusal = f"{guard.name}: {reason}"
        case Continue(reason):
            passage.goes_on = passage.goes_on or reason
        case _:
            assert_never(ruling)
