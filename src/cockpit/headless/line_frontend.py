"""The line-by-line frontend (`--plain`) for pipes, simple terminals and screen readers.

Each line of stdin is a prompt, a command or an answer; events are printed as they arrive. A line that a user
types during a turn steers it, while the lines of a pipe wait for the turn to end. Ctrl+C interrupts the
running turn or command, and ends the session if nothing is running.
"""

import asyncio
import signal
import sys
import threading
import uuid
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import TextIO

from cockpit.headless.questions import (
    FormValueInvalid,
    format_approval,
    format_question,
    parse_answer,
    parse_decision,
)
from cockpit.headless.signals import INTERRUPTED_EXIT_CODE, watch_signals
from cockpit.protocol import events
from cockpit.protocol.channel import Channel, Deck
from cockpit.protocol.content import Text, plain_text
from cockpit.protocol.messages import AssistantMessage
from cockpit.protocol.ops import Decide, DecidePlan, Interrupt, Invoke, Op, Prompt, SelectMode, Steer, Trust
from cockpit.protocol.safe_text import clean

ORIGIN = "tui"
MAX_SHOWN = 60


def parse_command(id: str, origin: str, line: str) -> Op:
    """The op of a typed `/command`. `/do` and `/plan` have ops of their own."""
    name, _, rest = line[1:].partition(" ")
    match name:
        case "do":
            return DecidePlan(id, origin, "", "approve", note=rest.strip())
        case "plan" if not rest.strip():
            return SelectMode(id, origin, "plan")
        case _:
            return Invoke(id, origin, "", name, {"text": rest})


async def read_lines(source: TextIO) -> AsyncIterator[str]:
    """The lines of `source` with their newlines, each read when it is requested.

    Reads in a daemon thread: a thread that waits in `readline` cannot be stopped, and at its end the loop
    would wait for an executor's thread until the user presses Enter.
    """
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[str] = asyncio.Queue()
    requested = threading.Semaphore(0)

    def read() -> None:
        line = "begin"
        while line:
            requested.acquire()
            try:
                line = source.readline()
            except (OSError, ValueError):
                # The terminal or the stream was closed: the input has ended.
                line = ""
            try:
                loop.call_soon_threadsafe(lines.put_nowait, line)
            except RuntimeError:
                # The loop has ended, so nobody needs the line.
                return

    threading.Thread(target=read, name="cockpit-lines", daemon=True).start()
    while True:
        requested.release()
        line = await lines.get()
        if not line:
            return
        yield line


@dataclass(slots=True)
class LineScreen:
    """What has been printed, and what the next line of input answers.

    `command` is the id of the slash command that runs. `echoes`: print prompts, because stdin is not a
    terminal. `interrupted`: a signal arrived and nothing was typed since. `stopping`: an interrupt is being
    submitted. `mid_line`: the last line printed has no newline yet.
    """

    out: TextIO
    echoes: bool = True
    approval: events.ApprovalRequested | None = None
    question: events.QuestionAsked | None = None
    trust: bool = False
    busy: bool = False
    command: str = ""
    ended: bool = False
    interrupted: bool = False
    stopping: bool = False
    mid_line: bool = False
    streamed: str = ""
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def accepts_line(self) -> bool:
        """Whether a line would now be a prompt or an answer, instead of steering a turn."""
        awaits_answer = self.approval is not None or self.question is not None
        return awaits_answer or self.ended or not self.is_running()

    def is_running(self) -> bool:
        return self.busy or self.stopping or bool(self.command)


async def run_lines(
    deck: Deck, root: str, resume: str | None, source: TextIO | None = None, out: TextIO | None = None
) -> int:
    """Run a session on stdin and stdout (or `source` and `out`) until the input or a signal ends it.

    Returns the exit code: 0, or 130 after a signal.
    """
    source = source or sys.stdin
    channel = await deck.open(root, resume)
    screen = LineScreen(out or sys.stdout, echoes=not source.isatty())
    printing = asyncio.create_task(_show_events(screen, channel))
    reading = asyncio.create_task(_read_input(screen, channel, source))
    interrupting: set[asyncio.Task[None]] = set()

    def on_signal(received: signal.Signals) -> bool:
        is_first = not screen.interrupted
        screen.interrupted = True
        # The terminal has printed ^C on the line.
        screen.mid_line = screen.mid_line or not screen.echoes
        if received == signal.SIGINT and screen.is_running() and is_first:
            interrupting.add(asyncio.create_task(_interrupt(screen, channel)))
            return False
        reading.cancel()
        return True

    stop = watch_signals(on_signal)
    try:
        await asyncio.wait((reading, printing), return_when=asyncio.FIRST_COMPLETED)
    finally:
        reading.cancel()
        await deck.close()
        ends = await asyncio.gather(reading, printing, *interrupting, return_exceptions=True)
        stop()
    if screen.interrupted:
        # Errors of printing to a closed terminal are expected here.
        return INTERRUPTED_EXIT_CODE
    for end in ends:
        if isinstance(end, Exception):
            raise end
    return 0


async def _read_input(screen: LineScreen, channel: Channel, source: TextIO) -> None:
    is_terminal = source.isatty()
    async for line in read_lines(source):
        if not is_terminal:
            await _wait_until(screen, screen.accepts_line)
        # A line submitted while a turn is being stopped would be stopped with it.
        await _wait_until(screen, lambda: not screen.stopping)
        if line.strip() in ("/exit", "/quit"):
            screen.interrupted = False
            break
        if line.strip():
            screen.interrupted = False
            try:
                await channel.submit(_build_op(screen, line.rstrip("\n")))
            except FormValueInvalid as error:
                _print_line(screen, f"! {error}")
    await _finish(screen, channel)


async def _interrupt(screen: LineScreen, channel: Channel) -> None:
    screen.stopping = True
    try:
        await channel.submit(Interrupt(uuid.uuid4().hex[:12], ORIGIN))
    finally:
        # A turn ends with an event; a cancelled command emits none.
        screen.stopping, screen.command = False, ""
        screen.changed.set()


async def _finish(screen: LineScreen, channel: Channel) -> None:
    """Wait for what is running. The input has ended, so open questions are rejected or cancelled."""
    while True:
        await _wait_until(screen, screen.accepts_line)
        if screen.approval is not None:
            await channel.submit(_decide_approval(screen, screen.approval, "n"))
        elif screen.question is not None:
            no_user = "no user is present to answer; continue with the most likely choice"
            line = no_user if screen.question.takes_words else "cancel"
            await channel.submit(_answer_question(screen, screen.question, line))
        else:
            return


async def _wait_until(screen: LineScreen, condition: Callable[[], bool]) -> None:
    while not condition():
        screen.changed.clear()
        await screen.changed.wait()


def _build_op(screen: LineScreen, line: str) -> Op:
    id = uuid.uuid4().hex[:12]
    if screen.trust:
        screen.trust = False
        return Trust(id, ORIGIN, line.strip().lower() in ("y", "yes"))
    if screen.approval is not None:
        return _decide_approval(screen, screen.approval, line)
    if screen.question is not None:
        return _answer_question(screen, screen.question, line)
    if line.startswith("/") and len(line) > 1:
        op = parse_command(id, ORIGIN, line)
        screen.command = "" if isinstance(op, SelectMode) else id
        return op
    content = (Text(line),)
    if screen.busy:
        return Steer(id, ORIGIN, content)
    screen.busy = True
    return Prompt(id, ORIGIN, content)


def _answer_question(screen: LineScreen, question: events.QuestionAsked, line: str) -> Op:
    op = parse_answer(question, line, uuid.uuid4().hex[:12], ORIGIN)
    screen.question = None
    return op


def _decide_approval(screen: LineScreen, request: events.ApprovalRequested, line: str) -> Op:
    screen.approval = None
    decision, note = parse_decision(request, line)
    return Decide(uuid.uuid4().hex[:12], ORIGIN, request.id, decision, note)


async def _show_events(screen: LineScreen, channel: Channel) -> None:
    async for envelope in channel.events():
        draw_event(screen, envelope)
        screen.out.flush()
        screen.changed.set()
    _print_line(screen, "")
    screen.ended = True
    screen.changed.set()


def draw_event(screen: LineScreen, envelope: events.Envelope) -> None:
    """Print an event as lines and update the screen."""
    match envelope.event:
        case events.SessionStarted() as started:
            _print_line(screen, f"cockpit in {started.root}, model {started.model}, mode {started.mode}")
            if not started.trusted:
                screen.trust = screen.out.isatty()
                _print_line(screen, "This folder is not trusted: its settings and instructions are ignored.")
                if screen.trust:
                    _print_line(screen, "Trust it? y or n")
        case events.TextDelta(text=text):
            screen.out.write(clean(text))
            screen.streamed += text
            screen.mid_line = not text.endswith("\n")
        case events.MessageFinished(message=AssistantMessage(text=text)):
            if text and not screen.streamed:
                _print_line(screen, text)
            screen.streamed = ""
            _print_line(screen, "")
        case events.ToolCallStarted(title=title):
            _print_line(screen, f"> {title}")
        case events.ToolCallFinished(result=result):
            _print_line(screen, f"< {result.name}: {result.outcome}")
            _print_block(screen, plain_text(result.blocks) or result.text)
        case events.ApprovalRequested() as request:
            screen.approval = request
            for line in format_approval(request):
                _print_line(screen, line)
        case events.ApprovalResolved(id=id):
            if screen.approval is not None and screen.approval.id == id:
                screen.approval = None
        case events.QuestionAsked() as question:
            screen.question = question
            for line in format_question(question):
                _print_line(screen, line)
        case events.PlanChanged(state=state):
            _print_line(screen, f"* plan mode: {state}")
        case events.Noticed() as noticed:
            _show_notice(screen, noticed)
        case events.Warned() as warning:
            _show_warning(screen, warning)
        case events.TurnStarted(content=content) if envelope.agent == "main":
            screen.busy, screen.command = True, ""
            if screen.echoes:
                _print_line(screen, f"You: {plain_text(content)}")
        case events.TurnFinished(stop_reason=reason, message=message) if envelope.agent == "main":
            screen.busy, screen.question = False, None
            _print_line(screen, f"[{reason}]" + (f" {message}" if message else ""))
        case events.SessionClosed():
            screen.busy = False
        case _:
            pass


def _show_notice(screen: LineScreen, noticed: events.Noticed) -> None:
    if noticed.data.get("op") == screen.command:
        screen.command = ""
    if noticed.kind == "action":
        _print_line(screen, f"! /{noticed.data.get('command')} needs the full screen")
    else:
        _print_block(screen, plain_text(noticed.content))


def _show_warning(screen: LineScreen, warning: events.Warned) -> None:
    if not screen.busy:
        # A command that fails emits only a warning.
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
