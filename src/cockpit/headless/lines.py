"""The same Channel line by line: for pipes, dumb terminals and screen readers.

Prompts and answers to questions come from stdin, a line each; everything is printed as it happens.
A person may speak into a running turn (it is steered); a pipe's lines wait until they can be taken.
Ctrl+C interrupts what runs, and ends the session when nothing does.
"""

import asyncio
import signal
import sys
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TextIO

from cockpit.headless import forms
from cockpit.headless.approving import asked, decision_of
from cockpit.headless.signals import INTERRUPTED, on_signals
from cockpit.headless.slash import op_of
from cockpit.headless.typed import typed
from cockpit.protocol.channel import Channel, Deck
from cockpit.protocol.clean import clean
from cockpit.protocol.content import Text, plain
from cockpit.protocol.events import (
    ApprovalRequested,
    ApprovalResolved,
    Envelope,
    MessageFinished,
    Noticed,
    PlanChanged,
    QuestionAsked,
    SessionClosed,
    SessionStarted,
    TextDelta,
    ToolCallFinished,
    ToolCallStarted,
    TurnFinished,
    TurnStarted,
    Warned,
)
from cockpit.protocol.messages import AssistantMessage
from cockpit.protocol.ops import Decide, Interrupt, Op, Prompt, SelectMode, Steer, Trust

ORIGIN = "tui"
SHOWN = 60


@dataclass(slots=True)
class Screen:
    """What is on the last line, and what the next line of input answers. `command` is the op of a
    slash command that has not answered yet; `echoes` prints prompts that nobody typed here.
    `interrupted`: a signal came, and nothing was typed since; `stopping`: what runs is being stopped."""

    out: TextIO
    echoes: bool = True
    approval: ApprovalRequested | None = None
    question: QuestionAsked | None = None
    trust: bool = False
    busy: bool = False
    command: str = ""
    ended: bool = False
    interrupted: bool = False
    stopping: bool = False
    mid_line: bool = False
    streamed: str = ""
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def can_take(self) -> bool:
        """Whether a line would be a prompt or an answer now, rather than a word into a turn."""
        waits = self.approval is not None or self.question is not None
        return waits or self.ended or not self.runs()

    def runs(self) -> bool:
        return self.busy or self.stopping or bool(self.command)


async def run_lines(
    deck: Deck, root: str, resume: str | None, source: TextIO = sys.stdin, out: TextIO = sys.stdout
) -> int:
    """Serve a session until the input or a signal ends it. Returns the exit code: 0, or 130 when a
    signal came last."""
    channel = await deck.open(root, resume)
    screen = Screen(out, echoes=not source.isatty())
    showing = asyncio.create_task(_show(screen, channel))
    serving = asyncio.create_task(_serve(screen, channel, source))
    interrupting: set[asyncio.Task[None]] = set()

    def come(signed: signal.Signals) -> bool:
        is_first = not screen.interrupted
        screen.interrupted = True
        # What the terminal printed for the key is on the line.
        screen.mid_line = screen.mid_line or not screen.echoes
        if signed == signal.SIGINT and screen.runs() and is_first:
            interrupting.add(asyncio.create_task(_interrupt(screen, channel)))
            return False
        serving.cancel()
        return True

    stop = on_signals(come)
    try:
        await asyncio.wait((serving, showing), return_when=asyncio.FIRST_COMPLETED)
    finally:
        serving.cancel()
        await deck.close()
        ends = await asyncio.gather(serving, showing, *interrupting, return_exceptions=True)
        stop()
    if screen.interrupted:
        # That nothing can be printed any more is part of a terminal's end.
        return INTERRUPTED
    for end in ends:
        if isinstance(end, Exception):
            raise end
    return 0


async def _serve(screen: Screen, channel: Channel, source: TextIO) -> None:
    is_person = source.isatty()
    async for line in typed(source):
        if not is_person:
            await _until(screen, screen.can_take)
        # What is said while a turn is being stopped would be stopped with it.
        await _until(screen, lambda: not screen.stopping)
        if line.strip() in ("/exit", "/quit"):
            screen.interrupted = False
            break
        if line.strip():
            screen.interrupted = False
            try:
                await channel.submit(_op(screen, line.rstrip("\n")))
            except forms.Unfit as error:
                _line(screen, f"! {error}")
    await _finish(screen, channel)


async def _interrupt(screen: Screen, channel: Channel) -> None:
    screen.stopping = True
    try:
        await channel.submit(Interrupt(uuid.uuid4().hex[:12], ORIGIN))
    finally:
        # A turn ends with an event that says so; a command that is cancelled says nothing.
        screen.stopping, screen.command = False, ""
        screen.news.set()


async def _finish(screen: Screen, channel: Channel) -> None:
    """Wait for what runs. The input is over: nobody will answer what is asked now."""
    while True:
        await _until(screen, screen.can_take)
        if screen.approval is not None:
            await channel.submit(_decide(screen, "n"))
        elif screen.question is not None:
            nobody = "nobody is there to answer; go on with what is most likely"
            await channel.submit(_answer(screen, nobody if screen.question.takes_words else "cancel"))
        else:
            return


async def _until(screen: Screen, is_so: Callable[[], bool]) -> None:
    while not is_so():
        screen.news.clear()
        await screen.news.wait()


def _op(screen: Screen, line: str) -> Op:
    id = uuid.uuid4().hex[:12]
    if screen.trust:
        screen.trust = False
        return Trust(id, ORIGIN, line.strip().lower() in ("y", "yes"))
    if screen.approval is not None:
        return _decide(screen, line)
    if screen.question is not None:
        return _answer(screen, line)
    if line.startswith("/") and len(line) > 1:
        op = op_of(id, ORIGIN, line)
        screen.command = "" if isinstance(op, SelectMode) else id
        return op
    content = (Text(line),)
    if screen.busy:
        return Steer(id, ORIGIN, content)
    screen.busy = True
    return Prompt(id, ORIGIN, content)


def _answer(screen: Screen, line: str) -> Op:
    question, id = screen.question, uuid.uuid4().hex[:12]
    if question is None:
        raise RuntimeError("no question waits")
    op = forms.answer_of(question, line, id, ORIGIN)
    screen.question = None
    return op


def _decide(screen: Screen, line: str) -> Op:
    request, screen.approval = screen.approval, None
    if request is None:
        raise RuntimeError("no approval waits")
    decision, note = decision_of(request, line)
    return Decide(uuid.uuid4().hex[:12], ORIGIN, request.id, decision, note)


async def _show(screen: Screen, channel: Channel) -> None:
    async for envelope in channel.events():
        draw(screen, envelope)
        screen.out.flush()
        screen.news.set()
    _line(screen, "")
    screen.ended = True
    screen.news.set()


def draw(screen: Screen, envelope: Envelope) -> None:
    """Print what an envelope says, in lines."""
    match envelope.event:
        case SessionStarted() as started:
            _line(screen, f"cockpit in {started.root}, model {started.model}, mode {started.mode}")
            if not started.trusted:
                screen.trust = screen.out.isatty()
                _line(screen, "This folder is not trusted: its settings and instructions are ignored.")
                if screen.trust:
                    _line(screen, "Trust it? y or n")
        case TextDelta(text=text):
            screen.out.write(clean(text))
            screen.streamed += text
            screen.mid_line = not text.endswith("\n")
        case MessageFinished(message=AssistantMessage(text=text)):
            if text and not screen.streamed:
                _line(screen, text)
            screen.streamed = ""
            _line(screen, "")
        case ToolCallStarted(title=title):
            _line(screen, f"> {title}")
        case ToolCallFinished(result=result):
            _line(screen, f"< {result.name}: {result.outcome}")
            _lines(screen, plain(result.blocks) or result.text)
        case ApprovalRequested() as request:
            _ask(screen, request)
        case ApprovalResolved(id=id):
            if screen.approval is not None and screen.approval.id == id:
                screen.approval = None
        case QuestionAsked() as question:
            screen.question = question
            for line in forms.asked(question):
                _line(screen, line)
        case PlanChanged(state=state):
            _line(screen, f"* plan mode: {state}")
        case Noticed() as noticed:
            _notice(screen, noticed)
        case Warned() as warning:
            _warn(screen, warning)
        case TurnStarted(content=content) if envelope.agent == "main":
            screen.busy, screen.command = True, ""
            if screen.echoes:
                _line(screen, f"You: {plain(content)}")
        case TurnFinished(stop_reason=reason, message=message) if envelope.agent == "main":
            screen.busy, screen.question = False, None
            _line(screen, f"[{reason}]" + (f" {message}" if message else ""))
        case SessionClosed():
            screen.busy = False
        case _:
            pass


def _ask(screen: Screen, request: ApprovalRequested) -> None:
    screen.approval = request
    for line in asked(request):
        _line(screen, line)


def _notice(screen: Screen, noticed: Noticed) -> None:
    if noticed.data.get("op") == screen.command:
        screen.command = ""
    if noticed.kind == "action":
        _line(screen, f"! /{noticed.data.get('command')} needs the full screen")
    else:
        _lines(screen, plain(noticed.content))


def _warn(screen: Screen, warning: Warned) -> None:
    if not screen.busy:
        # A command that fails says so with a warning, and with nothing else.
        screen.command = ""
    _line(screen, f"! {warning.text}" + (f" ({warning.hint})" if warning.hint else ""))


def _line(screen: Screen, text: str) -> None:
    if screen.mid_line:
        screen.out.write("\n")
        screen.mid_line = False
    if text:
        screen.out.write(clean(text) + "\n")


def _lines(screen: Screen, text: str) -> None:
    lines = text.rstrip("\n").split("\n")
    for line in lines[:SHOWN]:
        _line(screen, f"  {line}")
    if len(lines) > SHOWN:
        _line(screen, f"  … {len(lines) - SHOWN} more lines")
