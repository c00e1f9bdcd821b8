"""A typed `/command` as the op it means. `/do` and `/plan` are a person's ops; the rest the core runs.

Lines from a stream, one when it is asked for, read so that nothing ever waits for the reader.

The same Channel line by line: for pipes, dumb terminals and screen readers.

Prompts and answers to questions come from stdin, a line each; everything is printed as it happens.
A person may speak into a running turn (it is steered); a pipe's lines wait until they can be taken.
Ctrl+C interrupts what runs, and ends the session when nothing does.
"""

import asyncio
import signal
import sys
import threading
import uuid
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import TextIO

from cockpit.headless import questions
from cockpit.headless.questions import format_approval, parse_decision
from cockpit.headless.signals import INTERRUPTED_EXIT_CODE, watch_signals
from cockpit.protocol.channel import Channel, Deck
from cockpit.protocol.content import Text, plain_text
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
from cockpit.protocol.ops import Decide, DecidePlan, Interrupt, Invoke, Op, Prompt, SelectMode, Steer, Trust
from cockpit.protocol.safe_text import clean


def parse_command(id: str, origin: str, line: str) -> Op:
    name, _, rest = line[1:].partition(" ")
    match name:
        case "do":
            return DecidePlan(id, origin, "", "approve", note=rest.strip())
        case "plan" if not rest.strip():
            return SelectMode(id, origin, "plan")
        case _:
            return Invoke(id, origin, "", name, {"text": rest})


async def read_lines(source: TextIO) -> AsyncIterator[str]:
    """The lines of `source`, with their newlines, to its end.

    A thread that sits in `readline` cannot be stopped. In an executor the loop would wait for it until
    somebody presses Enter; a daemon is left behind.
    """
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[str] = asyncio.Queue()
    wanted = threading.Semaphore(0)

    def read() -> None:
        line = "begin"
        while line:
            wanted.acquire()
            try:
                line = source.readline()
            except (OSError, ValueError):
                # The terminal is gone, or the stream was closed: the input is over.
                line = ""
            try:
                loop.call_soon_threadsafe(lines.put_nowait, line)
            except RuntimeError:
                # The loop ended meanwhile: nobody wants the line.
                return

    threading.Thread(target=read, name="cockpit-lines", daemon=True).start()
    while True:
        wanted.release()
        line = await lines.get()
        if not line:
            return
        yield line


ORIGIN = "tui"
MAX_SHOWN = 60


@dataclass(slots=True)
class LineScreen:
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
    screen = LineScreen(out, echoes=not source.isatty())
    showing = asyncio.create_task(_show_events(screen, channel))
    serving = asyncio.create_task(_serve_input(screen, channel, source))
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

    stop = watch_signals(come)
    try:
        await asyncio.wait((serving, showing), return_when=asyncio.FIRST_COMPLETED)
    finally:
        serving.cancel()
        await deck.close()
        ends = await asyncio.gather(serving, showing, *interrupting, return_exceptions=True)
        stop()
    if screen.interrupted:
        # That nothing can be printed any more is part of a terminal's end.
        return INTERRUPTED_EXIT_CODE
    for end in ends:
        if isinstance(end, Exception):
            raise end
    return 0


async def _serve_input(screen: LineScreen, channel: Channel, source: TextIO) -> None:
    is_person = source.isatty()
    async for line in read_lines(source):
        if not is_person:
            await _wait_until(screen, screen.can_take)
        # What is said while a turn is being stopped would be stopped with it.
        await _wait_until(screen, lambda: not screen.stopping)
        if line.strip() in ("/exit", "/quit"):
            screen.interrupted = False
            break
        if line.strip():
            screen.interrupted = False
            try:
                await channel.submit(_build_op(screen, line.rstrip("\n")))
            except questions.FormValueInvalid as error:
                _print_line(screen, f"! {error}")
    await _finish(screen, channel)


async def _interrupt(screen: LineScreen, channel: Channel) -> None:
    screen.stopping = True
    try:
        await channel.submit(Interrupt(uuid.uuid4().hex[:12], ORIGIN))
    finally:
        # A turn ends with an event that says so; a command that is cancelled says nothing.
        screen.stopping, screen.command = False, ""
        screen.news.set()


async def _finish(screen: LineScreen, channel: Channel) -> None:
    """Wait for what runs. The input is over: nobody will answer what is asked now."""
    while True:
        await _wait_until(screen, screen.can_take)
        if screen.approval is not None:
            await channel.submit(_decide_approval(screen, "n"))
        elif screen.question is not None:
            nobody = "nobody is there to answer; go on with what is most likely"
            await channel.submit(
                _answer_question(screen, nobody if screen.question.takes_words else "cancel")
            )
        else:
            return


async def _wait_until(screen: LineScreen, is_so: Callable[[], bool]) -> None:
    while not is_so():
        screen.news.clear()
        await screen.news.wait()


def _build_op(screen: LineScreen, line: str) -> Op:
    id = uuid.uuid4().hex[:12]
    if screen.trust:
        screen.trust = False
        return Trust(id, ORIGIN, line.strip().lower() in ("y", "yes"))
    if screen.approval is not None:
        return _decide_approval(screen, line)
    if screen.question is not None:
        return _answer_question(screen, line)
    if line.startswith("/") and len(line) > 1:
        op = parse_command(id, ORIGIN, line)
        screen.command = "" if isinstance(op, SelectMode) else id
        return op
    content = (Text(line),)
    if screen.busy:
        return Steer(id, ORIGIN, content)
    screen.busy = True
    return Prompt(id, ORIGIN, content)


def _answer_question(screen: LineScreen, line: str) -> Op:
    question, id = screen.question, uuid.uuid4().hex[:12]
    if question is None:
        raise RuntimeError("no question waits")
    op = questions.parse_answer(question, line, id, ORIGIN)
    screen.question = None
    return op


def _decide_approval(screen: LineScreen, line: str) -> Op:
    request, screen.approval = screen.approval, None
    if request is None:
        raise RuntimeError("no approval waits")
    decision, note = parse_decision(request, line)
    return Decide(uuid.uuid4().hex[:12], ORIGIN, request.id, decision, note)


async def _show_events(screen: LineScreen, channel: Channel) -> None:
    async for envelope in channel.events():
        draw_event(screen, envelope)
        screen.out.flush()
        screen.news.set()
    _print_line(screen, "")
    screen.ended = True
    screen.news.set()


def draw_event(screen: LineScreen, envelope: Envelope) -> None:
    """Print what an envelope says, in lines."""
    match envelope.event:
        case SessionStarted() as started:
            _print_line(screen, f"cockpit in {started.root}, model {started.model}, mode {started.mode}")
            if not started.trusted:
                screen.trust = screen.out.isatty()
                _print_line(screen, "This folder is not trusted: its settings and instructions are ignored.")
                if screen.trust:
                    _print_line(screen, "Trust it? y or n")
        case TextDelta(text=text):
            screen.out.write(clean(text))
            screen.streamed += text
            screen.mid_line = not text.endswith("\n")
        case MessageFinished(message=AssistantMessage(text=text)):
            if text and not screen.streamed:
                _print_line(screen, text)
            screen.streamed = ""
            _print_line(screen, "")
        case ToolCallStarted(title=title):
            _print_line(screen, f"> {title}")
        case ToolCallFinished(result=result):
            _print_line(screen, f"< {result.name}: {result.outcome}")
            _print_block(screen, plain_text(result.blocks) or result.text)
        case ApprovalRequested() as request:
            _show_approval(screen, request)
        case ApprovalResolved(id=id):
            if screen.approval is not None and screen.approval.id == id:
                screen.approval = None
        case QuestionAsked() as question:
            screen.question = question
            for line in questions.format_question(question):
                _print_line(screen, line)
        case PlanChanged(state=state):
            _print_line(screen, f"* plan mode: {state}")
        case Noticed() as noticed:
            _show_notice(screen, noticed)
        case Warned() as warning:
            _show_warning(screen, warning)
        case TurnStarted(content=content) if envelope.agent == "main":
            screen.busy, screen.command = True, ""
            if screen.echoes:
                _print_line(screen, f"You: {plain_text(content)}")
        case TurnFinished(stop_reason=reason, message=message) if envelope.agent == "main":
            screen.busy, screen.question = False, None
            _print_line(screen, f"[{reason}]" + (f" {message}" if message else ""))
        case SessionClosed():
            screen.busy = False
        case _:
            pass


def _show_approval(screen: LineScreen, request: ApprovalRequested) -> None:
    screen.approval = request
    for line in format_approval(request):
        _print_line(screen, line)


def _show_notice(screen: LineScreen, noticed: Noticed) -> None:
    if noticed.data.get("op") == screen.command:
        screen.command = ""
    if noticed.kind == "action":
        _print_line(screen, f"! /{noticed.data.get('command')} needs the full screen")
    else:
        _print_block(screen, plain_text(noticed.content))


def _show_warning(screen: LineScreen, warning: Warned) -> None:
    if not screen.busy:
        # A command that fails says so with a warning, and with nothing else.
        screen.command = ""
    _print_line(screen, f"! {warning.text}" + (f" ({warning.hint})" if warning.hint else ""))


def _print_line(screen: LineScreen, text: str) -> None:
    if screen.mid_line:
        screen.out.write("\n")
        screen.mid_line = False
    if text:
        screen.out.write(clean(text) + "\n")


def _print_block(screen: LineScreen, text: str) -> None:
    lines = text.rstrip("\n").split("\n")
    for line in lines[:MAX_SHOWN]:
        _print_line(screen, f"  {line}")
    if len(lines) > MAX_SHOWN:
        _print_line(screen, f"  … {len(lines) - MAX_SHOWN} more lines")
