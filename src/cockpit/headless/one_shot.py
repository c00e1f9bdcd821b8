"""The one-shot frontend (`-p`): runs a single prompt. Its result is on stdout, messages are on stderr."""

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
# `/release-notes` and `/git:commit` are commands; `/etc/hosts` begins a prompt.
COMMAND = re.compile(r"/\s*(?P<name>[\w?][\w:.-]*)(?:\s+(?P<text>\S.*)?)?", re.DOTALL)

OK, ERROR, USAGE, LIMIT, DENIED = 0, 1, 2, 3, 4


@dataclass(slots=True)
class PromptOutcome:
    """The outcome of a prompt.

    `failed`: a command answered with an error. `continues`: the answer was cut off and continues in the next
    message. `started` is in seconds since the epoch.
    """

    text: str = ""
    session: str = ""
    finished: TurnFinished | None = None
    denied: list[str] = field(default_factory=list)
    closed: bool = False
    failed: bool = False
    interrupted: bool = False
    continues: bool = False
    started: float = 0.0


async def run_prompt(
    deck: Deck,
    root: str,
    resume: str | None,
    prompt: str,
    output: OutputFormat = "text",
    out: TextIO | None = None,
) -> int:
    """Run `prompt` in a session and print the result on `out` (None: stdout). A prompt that begins with `/`
    runs that command.

    Returns the exit code: 0 end of turn, 1 error, 3 a limit, 4 end of turn with a denied call, 130
    interrupted.
    """
    out, started = out or sys.stdout, time.time()
    channel = await deck.open(root, resume)
    op = _build_op(prompt)
    outcome = PromptOutcome(session=channel.session, started=started)
    # The reader starts first, so that it misses no event.
    reading = asyncio.create_task(_read_events(channel, op, output, outcome, out))

    async def interrupt() -> None:
        await channel.submit(Interrupt(uuid.uuid4().hex[:12], ORIGIN))
        # A turn ends with an event; a cancelled command emits none.
        if isinstance(op, Invoke):
            outcome.interrupted = True
            reading.cancel()

    interrupting: set[asyncio.Task[None]] = set()

    def on_signal(received: signal.Signals) -> bool:
        if not reading.done():
            interrupting.add(asyncio.create_task(interrupt()))
        return True

    stop = watch_signals(on_signal)
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
    if command := COMMAND.fullmatch(prompt):
        return Invoke(id, ORIGIN, "", command["name"], {"text": command["text"] or ""})
    return Prompt(id, ORIGIN, (Text(prompt),))


async def _read_events(
    channel: Channel, op: Op, output: OutputFormat, outcome: PromptOutcome, out: TextIO
) -> None:
    async for envelope in channel.events():
        # Events of a resumed session from before this run were printed by that run.
        if envelope.time < outcome.started:
            continue
        if output == "stream-json":
            out.write(escape_json(wire.dumps(envelope)) + "\n")
            out.flush()
        if _apply_event(envelope, op, outcome):
            return


def _apply_event(envelope: Envelope, op: Op, outcome: PromptOutcome) -> bool:
    """Update the outcome from an event. True if it is the last one."""
    is_ours = envelope.turn == op.id and envelope.agent == "main"
    match envelope.event:
        case SessionStarted(trusted=False):
            _print_error("folder not trusted: its settings and instructions are ignored (--trust)")
        case Warned(text, hint):
            _print_error(f"{text} ({hint})" if hint and "\n" not in hint else text)
            outcome.failed = isinstance(op, Invoke) and not envelope.turn and envelope.event.source == ""
            return outcome.failed
        case MessageFinished(message=AssistantMessage(text=text, finish=finish)) if is_ours and text:
            # An answer that was too long for one reply continues in the next.
            outcome.text = outcome.text + text if outcome.continues else text
            outcome.continues = finish == "length"
        case ToolCallFinished(result=result) if result.outcome == "denied":
            outcome.denied.append(result.name)
            _print_error(f"{result.name} was not run: {result.text}")
        case Noticed(kind="show", content=content, data=data) if data.get("op") == op.id:
            outcome.text = plain_text(content)
            return True
        case Noticed(kind="action", data=data) if data.get("op") == op.id:
            _print_error(f"/{data.get('command')} needs the full screen")
            outcome.failed = True
            return True
        case TurnFinished() as finished if is_ours:
            outcome.finished = finished
            if finished.message:
                _print_error(finished.message)
            return True
        case SessionClosed():
            outcome.closed = True
            return True
        case _:
            pass
    return False


def _print_error(text: str) -> None:
    sys.stderr.write(clean(f"cockpit: {text}\n"))


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
        for name in ("stop_reason", "limit", "message", "seconds"):
            summary[name] = getattr(finished, name)
        summary |= {"usage": wire.encode(finished.usage), "cost": finished.usage.cost}
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
