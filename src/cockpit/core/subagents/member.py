"""One subagent of a session: where it stands, from its opening to its end, and on when somebody says more."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace

from cockpit.core.agent import Agent, Host
from cockpit.core.subagents.jobs import end_jobs
from cockpit.core.subagents.life import InProcess, Life, last_words, told
from cockpit.errors import CockpitError
from cockpit.plugin.agents import AgentPhase, AgentState, Report
from cockpit.protocol.clean import one_line
from cockpit.protocol.events import (
    Envelope,
    Event,
    MessageFinished,
    StepStarted,
    ToolCallFinished,
    ToolCallStarted,
    UsageChanged,
)
from cockpit.protocol.messages import AssistantMessage, StopReason, Usage

STOP_SECONDS = 2.0
SHOWN_REPORT = 1_000
LIVING: tuple[AgentPhase, ...] = ("queued", "running")
REASONS: dict[AgentPhase, StopReason] = {"failed": "error", "cancelled": "cancelled"}
PHASES: dict[StopReason, AgentPhase] = {"cancelled": "cancelled", "error": "failed", "refusal": "failed"}


class Member:
    """A subagent. `life` is None for one of a session before, until somebody says something to it
    (`reviving` makes it then); `output` are the characters of its report that its opener reads."""

    def __init__(
        self,
        host: Host,
        parent: Agent,
        row: AgentState,
        life: Life | None,
        output: int,
        changed: Callable[["Member", bool], None],
    ) -> None:
        self.host = host
        self.parent = parent
        self.row = row
        self.life = life
        self.report: Report | None = None
        self.ended_at = 0
        self.foreground = 0
        self.reviving: Callable[[], Life] | None = None
        self._output = output
        self._changed = changed
        self._said: str | None = row.task
        self._usage = Usage()
        self._over = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        if row.phase not in LIVING:
            self._over.set()

    @property
    def id(self) -> str:
        return self.row.id

    @property
    def agent(self) -> Agent | None:
        """Its agent, where it lives in this process."""
        return self.life.agent if isinstance(self.life, InProcess) else None

    @property
    def is_over(self) -> bool:
        return self._over.is_set()

    def begin(self) -> None:
        """Out of the queue."""
        self.row = replace(self.row, phase="running", started=time.time(), doing="begins")
        self._task = asyncio.create_task(self._live(), name=self.id)
        self._changed(self, True)

    def takes_up(self) -> None:
        """It goes on where a restart broke it off, instead of beginning with its task."""
        self._said = None

    async def say(self, text: str) -> bool:
        """Whether it hears `text` as it is; one that has ended must be queued again. Raises `CockpitError`
        for one of a session before that cannot go on."""
        if self.life is None and self.reviving is not None:
            self.life = self.reviving()
        if self.is_over or self.life is None:
            self._said = text
            self._over.clear()
            self.report = None
            self.row = replace(self.row, phase="queued", background=True, report="", doing="")
            return False
        await self.life.tell(self.host.new_id(), text)
        return True

    async def wait(self, seconds: float | None = None) -> Report:
        """Its report. Raises TimeoutError."""
        async with asyncio.timeout(seconds):
            await self._over.wait()
        return self.result()

    def result(self) -> Report:
        """Its report, also one of a session before. Raises `CockpitError` while it is at it."""
        if self.report is not None:
            return self.report
        if not self.is_over:
            raise CockpitError(f"{self.id} is {self.row.phase}", "wait for it, or look at its transcript")
        words = next(
            (
                one.event.message.text
                for one in reversed(self.host.log.durable())
                if one.agent == self.id
                and isinstance(one.event, MessageFinished)
                and isinstance(one.event.message, AssistantMessage)
                and one.event.message.text
            ),
            self.row.report,
        )
        reason = REASONS.get(self.row.phase, "end_turn")
        self.report = Report(self._capped(told(reason, "", words)), reason, Usage(), self.row.steps)
        return self.report

    async def cancel(self, at_once: bool = False) -> None:
        """End it: a queued one now, a running one where that is clean, by force after 2 s. `at_once` does
        not wait for that."""
        if self.is_over:
            return
        if self._task is None or self.row.phase == "queued":
            self._end(self._broken("cancelled", "it had not begun"))
            return
        self.row = replace(self.row, doing="is stopped")
        if self.life is not None:
            self.life.stop()
        if at_once or not await self._ends():
            # A task that is cancelled before its first step would leave no trace.
            await asyncio.sleep(0)
            self._task.cancel()
            if not await self._ends():
                self._end(self._broken("cancelled", "it did not stop when it was told to"))
        if self.agent is not None:
            await end_jobs(self.agent)

    def see(self, envelope: Envelope) -> None:
        """Take one of its own events in."""
        agent = self.agent
        if agent is not None:
            agent.history.see(envelope)
        row = self.row
        match envelope.event:
            case StepStarted():
                row = replace(row, steps=row.steps + 1, doing="thinks")
            case ToolCallStarted(title=title):
                row = replace(row, calls=row.calls + 1, doing=one_line(title, 120))
            case ToolCallFinished():
                row = replace(row, doing="thinks")
            case MessageFinished(message=AssistantMessage(text=text)) if text.strip():
                row = replace(row, doing=one_line(text, 120))
            case UsageChanged() if agent is not None:
                spent = agent.budget.usage
                row = replace(row, tokens=max(row.tokens, spent.input + spent.output))
            case _:
                return
        self.row = row
        self._changed(self, False)

    def transcript(self, cursor: int = 0) -> tuple[tuple[Event, ...], int]:
        """Its durable events after `cursor`, and the next cursor: the `seq` of the last one."""
        found = [one for one in self.host.log.durable() if one.agent == self.id and one.seq > cursor]
        return tuple(one.event for one in found), found[-1].seq if found else cursor

    async def _ends(self) -> bool:
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await self._over.wait()
        except TimeoutError:
            return False
        return True

    async def _live(self) -> None:
        """Its runs, until nothing more was said to it. Whatever happens, it ends, and its opener is told."""
        try:
            report = await self._run()
        except asyncio.CancelledError:
            report = self._broken("cancelled", "")
        # A failed child is a report: nothing of it is raised into its parent's turn.
        except (Exception, SystemExit) as error:
            text = str(error) if isinstance(error, CockpitError) else f"{type(error).__name__}: {error}"
            report = self._broken("error", text)
        branch = ""
        if self.life is not None:
            left, branch = await self.life.settle(self.row.task)
            report = replace(report, text=f"{report.text}\n\n{left}" if left else report.text)
        self._end(report, branch)

    async def _run(self) -> Report:
        life, said = self.life, self._said
        assert life is not None
        while True:
            report = await life.run(said)
            self._usage += report.usage
            if not (said := life.left_over()):
                return replace(report, usage=self._usage)

    def _broken(self, reason: StopReason, message: str) -> Report:
        words = last_words(self.agent) if self.agent is not None else ""
        return Report(told(reason, message, words), reason, self._usage, self.row.steps)

    def _end(self, report: Report, branch: str = "") -> None:
        if self.is_over:
            return
        self.report = replace(report, text=self._capped(report.text))
        row, usage = self.row, report.usage
        ran = time.time() - row.started if row.phase == "running" and row.started else 0.0
        self.row = replace(
            row,
            phase=PHASES.get(report.stop_reason, "completed"),
            doing="",
            report=report.text[:SHOWN_REPORT],
            steps=max(row.steps, report.steps),
            tokens=max(row.tokens, usage.input + usage.output),
            seconds=round(row.seconds + ran, 3),
            branch=branch,
        )
        self.ended_at = self.host.log.seq
        self._over.set()
        self._changed(self, True)

    def _capped(self, text: str) -> str:
        """What its opener reads of the report; all of it lies under a handle."""
        if len(text) <= self._output:
            return text
        handle = self.host.results.keep(text)
        left = len(text) - self._output
        return (
            f"{text[: self._output].rstrip()}\n"
            f"[{left} of {len(text)} characters are set aside: read_result(handle={handle!r}) has all]"
        )
