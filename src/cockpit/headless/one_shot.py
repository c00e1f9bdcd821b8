"""One prompt to its end: results on stdout, everything else on stderr, the outcome as exit code."""

import asyncio
import json
import re
import signal
import sys
import time
import uuid
from dataclasses import dataclass, field
from typing import Literal, TextIO

from cockpit.headless.signals import INTERRUPTED_EXIT_CODE, watch_signals
from cockpit.protocol import wire
from cockpit.protocol.channel import Channel, Deck
from cockpit.protocol.content import Text, plain_text
from cockpit.protocol.events import (
    Envelope,
    MessageFinished,
    Noticed,
    SessionClosed,
    SessionStarted,
    ToolCallFinished,
    TurnFinished,
    Warned,
)
from cockpit.protocol.messages import AssistantMessage, StopReason
from cockpit.protocol.ops import Interrupt, Invoke, Op, Prompt
from cockpit.protocol.safe_text import clean, escape_json

OutputFormat = Literal["text", "json", "stream-json"]
ORIGIN = "headless"
# `/release-notes`, `/git:commit`; `/etc/hosts` is the beginning of a prompt.
COMMAND_NAME = re.compile(r"[\w?][\w:.-]*")

OK, ERROR, USAGE, LIMIT, DENIED = 0, 1, 2, 3, 4


@dataclass(slots=True)
class PromptOutcome:
    """What one prompt came to. `failed`: a command said what is wrong instead of an answer; `began` is
    when, in seconds since the epoch."""

    text: str = ""
    session: str = ""
    finished: TurnFinished | None = None
    denied: list[str] = field(default_factory=list)
    closed: bool = False
    failed: bool = False
    interrupted: bool = False
    goes_on: bool = False
    began: float = 0.0


async def run_prompt(
    deck: Deck,
    root: str,
    resume: str | None,
    prompt: str,
    output: OutputFormat = "text",
    out: TextIO = sys.stdout,
    err: TextIO = sys.stderr,
) -> int:
    """Run `prompt` in a session and print what it brings. Returns the exit code.

    0 end of turn, 1 error, 3 a limit, 4 the turn ended and a call was denied, 130 interrupted.
    A prompt that begins with `/` runs that command.
    """
    began = time.time()
    channel = await deck.open(root, resume)
    op = _build_op(prompt)
    outcome = PromptOutcome(session=channel.session, began=began)
    # The reader begins first, so that it misses nothing.
    reading = asyncio.create_task(_read_events(channel, op, output, outcome, out, err))

    async def interrupt() -> None:
        await channel.submit(Interrupt(uuid.uuid4().hex[:12], ORIGIN))
        # A turn ends with an event that says so; a command that is cancelled says nothing.
        if isinstance(op, Invoke):
            outcome.interrupted = True
            reading.cancel()

    interrupting: set[asyncio.Task[None]] = set()

    def come(signed: signal.Signals) -> bool:
        if not reading.done():
            interrupting.add(asyncio.create_task(interrupt()))
        return True

    stop = watch_signals(come)
    try:
        await asyncio.sleep(0)
        await channel.submit(op)
        await asyncio.wait((reading,))
        if not reading.cancelled():
            reading.result()
    finally:
        await deck.close()
        stop()
    _print_outcome(outcome, output, out)
    return _exit_code(outcome)


def _build_op(prompt: str) -> Op:
    id = uuid.uuid4().hex[:12]
    if (
        prompt.startswith("/")
        and (words := prompt[1:].split(maxsplit=1))
        and COMMAND_NAME.fullmatch(words[0])
    ):
        rest = words[1] if len(words) > 1 else ""
        return Invoke(id, ORIGIN, "", words[0], {"text": rest})
    return Prompt(id, ORIGIN, (Text(prompt),))


async def _read_events(
    channel: Channel, op: Op, output: OutputFormat, outcome: PromptOutcome, out: TextIO, err: TextIO
) -> None:
    async for envelope in channel.events():
        # What a resumed session holds from before was said then.
        if envelope.time < outcome.began:
            continue
        if output == "stream-json":
            out.write(escape_json(wire.dumps(envelope)) + "\n")
            out.flush()
        if _take_event(envelope, op, outcome, err):
            return


def _take_event(envelope: Envelope, op: Op, outcome: PromptOutcome, err: TextIO) -> bool:
    """Note what an envelope says; True when nothing more is awaited."""
    is_ours = envelope.turn == op.id and envelope.agent == "main"
    match envelope.event:
        case SessionStarted(trusted=False):
            err.write("cockpit: folder not trusted: its settings and instructions are ignored (--trust)\n")
        case Warned(text, hint):
            _print_error(err, f"cockpit: {text}{f' ({hint})' if hint and chr(10) not in hint else ''}\n")
            outcome.failed = isinstance(op, Invoke) and not envelope.turn and envelope.event.source == ""
            return outcome.failed
        case MessageFinished(message=AssistantMessage(text=text, finish=finish)) if is_ours and text:
            # An answer that was longer than one reply goes on in the next.
            outcome.text = outcome.text + text if outcome.goes_on else text
            outcome.goes_on = finish == "length"
        case ToolCallFinished(result=result) if result.outcome == "denied":
            outcome.denied.append(result.name)
            _print_error(err, f"cockpit: {result.name} was not run: {result.text}\n")
        case Noticed(kind="show", content=content, data=data) if data.get("op") == op.id:
            outcome.text = plain_text(content)
            return True
        case Noticed(kind="action", data=data) if data.get("op") == op.id:
            _print_error(err, f"cockpit: /{data.get('command')} needs the full screen\n")
            outcome.failed = True
            return True
        case TurnFinished() as finished if is_ours:
            outcome.finished = finished
            if finished.message:
                _print_error(err, f"cockpit: {finished.message}\n")
            return True
        case SessionClosed():
            outcome.closed = True
            return True
        case _:
            pass
    return False


def _print_error(err: TextIO, line: str) -> None:
    err.write(clean(line))


def _print_outcome(outcome: PromptOutcome, output: OutputFormat, out: TextIO) -> None:
    if output == "text" and outcome.text:
        out.write(clean(outcome.text).rstrip("\n") + "\n")
    elif output == "json":
        out.write(escape_json(json.dumps(_outcome_json(outcome), ensure_ascii=False)) + "\n")
    out.flush()


def _outcome_json(outcome: PromptOutcome) -> dict[str, object]:
    finished = outcome.finished
    summary: dict[str, object] = {
        "type": "result",
        "result": outcome.text,
        "session": outcome.session,
        "is_error": _exit_code(outcome) not in (OK, DENIED),
        "denied": outcome.denied,
    }
    if finished is not None:
        summary |= {
            "stop_reason": finished.stop_reason,
            "limit": finished.limit,
            "message": finished.message,
            "seconds": finished.seconds,
            "usage": wire.encode(finished.usage),
            "cost": finished.usage.cost,
        }
    return summary


def _exit_code(outcome: PromptOutcome) -> int:
    if outcome.interrupted:
        return INTERRUPTED_EXIT_CODE
    if outcome.finished is None:
        return ERROR if outcome.closed or outcome.failed else OK
    by_reason: dict[StopReason, int] = {
        "end_turn": DENIED if outcome.finished.denied else OK,
        "max_tokens": LIMIT,
        "max_turn_requests": LIMIT,
        "refusal": ERROR,
        "cancelled": INTERRUPTED_EXIT_CODE,
        "error": ERROR,
    }
    return by_reason[outcome.finished.stop_reason]
