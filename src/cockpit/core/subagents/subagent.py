"""One subagent: its life cycle from queue to report, and the worker that does its tasks, in this process or
through a plugin's runner.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import TypeAlias

from cockpit.core.agent import worktrees
from cockpit.core.agent.agent import Agent
from cockpit.core.agent.plugin_context import end_jobs
from cockpit.core.agent.turn_limits import Budget
from cockpit.core.subagents.child_agent import first_message
from cockpit.core.transcript.log import new_id
from cockpit.core.transcript.session_store import left_out_note
from cockpit.core.turn.turn import begin_turn, run_steps, run_turn
from cockpit.errors import CockpitError
from cockpit.plugin.agents import AgentHandle, AgentPhase, AgentRow, Report
from cockpit.protocol.content import Text
from cockpit.protocol.events import (
    Envelope,
    Event,
    MessageFinished,
    StepStarted,
    ToolCallFinished,
    ToolCallStarted,
    TurnFinished,
    TurnStarted,
    UsageChanged,
)
from cockpit.protocol.messages import AssistantMessage, StopReason, Usage
from cockpit.protocol.safe_text import single_line

# Beyond its own time limit, so that the turn can end at a step.
GRACE_SECONDS = 2.0
RESUMED_NOTE = (
    "[cockpit ended while you were working and has started again. Continue with your task. What is marked as "
    "interrupted may have happened or not: check before you do it again.]"
)
STOP_TEXTS: dict[StopReason, str] = {
    "max_turn_requests": "it was stopped; its result so far",
    "max_tokens": "it was stopped; its result so far",
    "refusal": "it was refused",
    "cancelled": "it was cancelled; its result so far",
    "error": "it failed",
}


class InProcessWorker:
    """Runs turns of an agent on this loop. `isolates` gives it a worktree first; `fresh` creates the budget
    for messages after its task."""

    def __init__(self, agent: Agent, parent: Agent, isolates: bool, fresh: Callable[[], Budget]) -> None:
        self.agent = agent
        self._parent = parent
        self._isolates = isolates
        self._fresh = fresh
        self._runs = 0

    async def run(self, text: str | None) -> Report:
        """Do the task `text`, or (None) continue what a restart interrupted."""
        agent = self.agent
        agent.stopping = False
        if self._runs or text is None:
            agent.budget = self._fresh().child(agent.budget.limits)
        agent.budget.started = time.monotonic()
        self._runs += 1
        if self._isolates and (agent.folder.tree is None or agent.folder is self._parent.folder):
            agent.folder = await worktrees.isolate_subagent(self._parent, agent.path)
        known = len(agent.history.entries)
        if text is None:
            ended = await self._timed(_resume_turn(agent))
        else:
            text = text if known else await first_message(agent, text)
            ended = await self._timed(run_turn(agent, "", agent.path, (Text(text),)))
        report = report_text(ended.stop_reason, ended.message, last_text(agent, known))
        return Report(report, ended.stop_reason, ended.usage, agent.budget.steps)

    async def tell(self, id: str, text: str) -> None:
        """Send a message while it runs."""
        self.agent.steers.append((id, (Text(text),)))

    def stop(self) -> None:
        """End at the next clean point."""
        self.agent.stopping = True

    async def settle(self, report: str) -> tuple[str, str]:
        """After its end: a note on its worktree for its opener, and the branch of the worktree."""
        agent = self.agent
        folder = agent.folder
        if not self._isolates or folder.tree is None or folder is self._parent.folder:
            return "", ""
        outcome = await worktrees.settle_worktree(agent, report)
        if outcome is None:
            return "", folder.branch
        if not outcome.kept:
            agent.folder = self._parent.folder
        return worktrees.describe_settled(outcome), outcome.branch if outcome.kept else ""

    def left_over(self) -> str:
        """Messages that arrived too late to be read."""
        texts = []
        while self.agent.steers:
            _, content = self.agent.steers.popleft()
            texts += [block.text for block in content if isinstance(block, Text)]
        return "\n\n".join(texts)

    async def _timed(self, turn: Coroutine[None, None, TurnFinished]) -> TurnFinished:
        """Run the turn within its time limit, also when its model or a tool hangs."""
        left = self.agent.budget.seconds_left()
        try:
            async with asyncio.timeout(None if left is None else left + GRACE_SECONDS):
                return await turn
        except TimeoutError:
            seconds = self.agent.budget.limits.seconds
            message = (
                f"the limit of {seconds:g} s is reached"
                if seconds
                else "the time limit of its opener is reached"
            )
            return TurnFinished("max_turn_requests", Usage(), left or 0.0, "seconds", message=message)


class RunnerWorker:
    """A subagent run by a plugin's runner. `start` begins a task and returns its handle; the time limit of
    `budget` is enforced here too."""

    def __init__(self, start: Callable[[str], Coroutine[None, None, AgentHandle]], budget: Budget) -> None:
        self._start = start
        self._budget = budget
        self._handle: AgentHandle | None = None

    async def run(self, text: str | None) -> Report:
        if text is None:
            raise CockpitError("its runner ended with cockpit", "give the task again")
        self._budget.started = time.monotonic()
        if self._handle is None:
            self._handle = await self._start(text)
        else:
            await self._handle.send(text)
        left = self._budget.seconds_left()
        try:
            async with asyncio.timeout(None if left is None else left + GRACE_SECONDS):
                return await self._handle.wait()
        except TimeoutError as error:
            await self._handle.cancel()
            raise CockpitError(
                f"its time limit is reached: {self._budget.limits.seconds or left:g} s"
            ) from error
        except asyncio.CancelledError:
            await self._handle.cancel()
            raise

    async def tell(self, id: str, text: str) -> None:
        if self._handle is None:
            raise CockpitError("it has not started yet", "send the message when it runs")
        await self._handle.send(text)

    def stop(self) -> None:
        """Do nothing: the runner is stopped when the wait is cancelled."""

    async def settle(self, report: str) -> tuple[str, str]:
        return "", ""

    def left_over(self) -> str:
        return ""


SubagentWorker: TypeAlias = InProcessWorker | RunnerWorker


async def _resume_turn(agent: Agent) -> TurnFinished:
    """Finish a turn that ended with the process, or run a turn that had not begun."""
    turn = begin_turn(agent)
    agent.add_message(RESUMED_NOTE)
    try:
        ended = await run_steps(turn)
    except BaseException as error:
        failed = isinstance(error, Exception)
        agent.emit(turn.finished("error" if failed else "cancelled", message=str(error)))
        raise
    agent.emit(ended)
    return ended


def has_begun(agent: Agent) -> bool:
    """Whether its conversation contains its task."""
    return any(
        isinstance(envelope.event, TurnStarted)
        for envelope in agent.services.log.durable()
        if envelope.agent == agent.path
    )


def last_text(agent: Agent, known: int = 0) -> str:
    """The last text it wrote, not counting the first `known` messages."""
    for entry in reversed(agent.history.entries[known:]):
        if isinstance(entry.message, AssistantMessage) and entry.message.text:
            return entry.message.text
    return ""


def report_text(reason: StopReason, message: str, words: str) -> str:
    """The text of a report. An end that is not `end_turn` is stated above its last text."""
    if reason == "end_turn":
        return words or "(it ended without a text)"
    head = f"[{STOP_TEXTS[reason]}{': ' if message else ''}{message}]"
    return f"{head}\n{words}" if words else head


STOP_SECONDS = 2.0
MAX_SHOWN_REPORT = 1_000
LIVE_PHASES: tuple[AgentPhase, ...] = ("queued", "running")
PHASE_REASONS: dict[AgentPhase, StopReason] = {"failed": "error", "cancelled": "cancelled"}
END_PHASES: dict[StopReason, AgentPhase] = {"cancelled": "cancelled", "error": "failed", "refusal": "failed"}


class Subagent:
    """A subagent. `worker` is None for a subagent of an earlier run until it gets a message; `reviving` then
    creates it. `output` is the number of characters of its report that its opener reads."""

    def __init__(
        self,
        parent: Agent,
        row: AgentRow,
        worker: SubagentWorker | None,
        output: int,
        changed: Callable[["Subagent", bool], None],
    ) -> None:
        self.parent = parent
        self.row = row
        self.worker = worker
        self.report: Report | None = None
        self.ended_at = 0
        self.foreground = 0
        self.reviving: Callable[[], SubagentWorker] | None = None
        self._output = output
        self._changed = changed
        self._next_text: str | None = row.task
        self._usage = Usage()
        self._over = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        if row.phase not in LIVE_PHASES:
            self._over.set()

    @property
    def id(self) -> str:
        return self.row.id

    @property
    def agent(self) -> Agent | None:
        """Its agent, when it lives in this process."""
        return self.worker.agent if isinstance(self.worker, InProcessWorker) else None

    @property
    def is_over(self) -> bool:
        return self._over.is_set()

    def begin(self) -> None:
        self.row = replace(self.row, phase="running", started=time.time(), doing="begins")
        self._task = asyncio.create_task(self._live(), name=self.id)
        self._changed(self, True)

    def takes_up(self) -> None:
        """Continue where a restart interrupted it."""
        self._next_text = None

    async def say(self, text: str) -> bool:
        """Send `text` and return True; return False when it has ended and must be queued again. Raises
        `CockpitError` for a subagent of an earlier run that cannot continue."""
        if self.worker is None and self.reviving is not None:
            self.worker = self.reviving()
        if self.is_over or self.worker is None:
            self._next_text = text
            self._over.clear()
            self.report = None
            self.row = replace(self.row, phase="queued", background=True, report="", doing="")
            return False
        await self.worker.tell(new_id(), text)
        return True

    async def wait(self, seconds: float | None = None) -> Report:
        """Wait for its report. Raises TimeoutError."""
        async with asyncio.timeout(seconds):
            await self._over.wait()
        return self.result()

    def result(self) -> Report:
        """Its report, also of an earlier run. Raises `CockpitError` while it runs."""
        if self.report is not None:
            return self.report
        if not self.is_over:
            raise CockpitError(f"{self.id} is {self.row.phase}", "wait for it, or look at its transcript")
        own = (envelope.event for envelope in reversed(self._durable()))
        words = next(
            (
                event.message.text
                for event in own
                if isinstance(event, MessageFinished)
                and isinstance(event.message, AssistantMessage)
                and event.message.text
            ),
            self.row.report,
        )
        reason = PHASE_REASONS.get(self.row.phase, "end_turn")
        self.report = Report(self._capped(report_text(reason, "", words)), reason, Usage(), self.row.steps)
        return self.report

    async def cancel(self, at_once: bool = False) -> None:
        """End it: at once when queued, else at a clean point, by force after 2 s or with `at_once`."""
        if self.is_over:
            return
        if self._task is None or self.row.phase == "queued":
            self._end(self._broken("cancelled", "it had not begun"))
            return
        self.row = replace(self.row, doing="is stopped")
        if self.worker is not None:
            self.worker.stop()
        if at_once or not await self._ends():
            # A task that is cancelled before its first step would leave no trace.
            await asyncio.sleep(0)
            self._task.cancel()
            if not await self._ends():
                self._end(self._broken("cancelled", "it did not stop when it was asked to"))
        if self.agent is not None:
            await end_jobs(self.agent)

    def see(self, envelope: Envelope) -> None:
        """Fold one of its events into its row."""
        agent = self.agent
        if agent is not None:
            agent.history.see(envelope)
        row = self.row
        match envelope.event:
            case StepStarted():
                row = replace(row, steps=row.steps + 1, doing="thinks")
            case ToolCallStarted(title=title):
                row = replace(row, calls=row.calls + 1, doing=single_line(title, 120))
            case ToolCallFinished():
                row = replace(row, doing="thinks")
            case MessageFinished(message=AssistantMessage(text=text)) if text.strip():
                row = replace(row, doing=single_line(text, 120))
            case UsageChanged() if agent is not None:
                spent = agent.budget.usage
                row = replace(row, tokens=max(row.tokens, spent.input + spent.output))
            case _:
                return
        self.row = row
        self._changed(self, False)

    def transcript(self, cursor: int = 0) -> tuple[tuple[Event, ...], int]:
        """Its durable events after `cursor`, and the next cursor: the `seq` of the last one."""
        events = [envelope for envelope in self._durable() if envelope.seq > cursor]
        return tuple(envelope.event for envelope in events), events[-1].seq if events else cursor

    def _durable(self) -> tuple[Envelope, ...]:
        log = self.parent.services.log
        return tuple(envelope for envelope in log.durable() if envelope.agent == self.id)

    async def _ends(self) -> bool:
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await self._over.wait()
        except TimeoutError:
            return False
        return True

    async def _live(self) -> None:
        """Run until no message is left. It always ends with a report for its opener."""
        try:
            report = await self._run()
        except asyncio.CancelledError:
            report = self._broken("cancelled", "")
        # The failure of a subagent is a report; nothing is raised into its parent's turn.
        except (Exception, SystemExit) as error:
            text = str(error) if isinstance(error, CockpitError) else f"{type(error).__name__}: {error}"
            report = self._broken("error", text)
        branch = ""
        if self.worker is not None:
            note, branch = await self.worker.settle(self.row.task)
            report = replace(report, text=f"{report.text}\n\n{note}" if note else report.text)
        self._end(report, branch)

    async def _run(self) -> Report:
        worker, text = self.worker, self._next_text
        assert worker is not None
        while True:
            report = await worker.run(text)
            self._usage += report.usage
            if not (text := worker.left_over()):
                return replace(report, usage=self._usage)

    def _broken(self, reason: StopReason, message: str) -> Report:
        words = last_text(self.agent) if self.agent is not None else ""
        return Report(report_text(reason, message, words), reason, self._usage, self.row.steps)

    def _end(self, report: Report, branch: str = "") -> None:
        if self.is_over:
            return
        self.report = replace(report, text=self._capped(report.text))
        row, usage = self.row, report.usage
        ran = time.time() - row.started if row.phase == "running" and row.started else 0.0
        self.row = replace(
            row,
            phase=END_PHASES.get(report.stop_reason, "completed"),
            doing="",
            report=report.text[:MAX_SHOWN_REPORT],
            steps=max(row.steps, report.steps),
            tokens=max(row.tokens, usage.input + usage.output),
            seconds=round(row.seconds + ran, 3),
            branch=branch,
        )
        self.ended_at = self.parent.services.log.seq
        self._over.set()
        self._changed(self, True)

    def _capped(self, text: str) -> str:
        """The part of the report its opener reads; the whole is stored under a handle."""
        if len(text) <= self._output:
            return text
        handle = self.parent.services.results.keep(text)
        return (
            f"{text[: self._output].rstrip()}\n{left_out_note(len(text) - self._output, len(text), handle)}"
        )
