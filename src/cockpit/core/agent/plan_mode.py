"""Plan mode: idle, planning, pending, approved, rejected. Only the user ends it.

The last `PlanChanged` of the session is its state, so a resumed session continues where it was. Calls are
judged in `core/permission/verdicts.py`.
"""

import asyncio
from dataclasses import replace

from cockpit.core.agent.agent import Agent
from cockpit.core.agent.session_state import PLAN_TOOL, stricter_mode
from cockpit.core.permission.approvals import ApprovalAnswer
from cockpit.core.transcript.log import new_id
from cockpit.plugin.context import PlanApproved, PlanRefused
from cockpit.plugin.safety import Verdict
from cockpit.protocol.events import ApprovalRequested, PlanChanged
from cockpit.protocol.messages import Decision, Mode, ToolCall
from cockpit.protocol.ops import Decide, DecidePlan
from cockpit.protocol.rows import ApprovalPart, PlanStep

CARRY_OUT_PROMPT = "The plan is approved. Carry it out:\n\n{text}"
REVISE_PROMPT = "The plan is rejected. {note}\n\nPropose another one."
PLAN_MODE_OVER = "Plan mode is over. Carry out what you planned."
READ_ONLY_REMINDER = "[Plan mode: read, change nothing; any call that changes something is refused."
PROPOSE_REMINDER = (
    "When you know what to do, call propose_plan with its steps, how to verify them and how to roll them "
    "back. Only the user ends plan mode.]"
)
PENDING_REMINDER = "Your plan waits for the user; do not repeat it, answer what they say.]"
APPROVED_REMINDER = (
    "[The user approved this plan. Carry it out step by step; where you have to depart from it, say so "
    "and why. The mode still decides whether each change is asked about.]"
)


def select_mode(main: Agent, mode: Mode) -> None:
    """The user chooses a mode. Leaving plan mode this way approves no plan."""
    if mode == "plan":
        begin_planning(main)
        return
    was_planning = main.state.mode == "plan"
    main.state.set_mode(mode)
    if was_planning:
        _leave_plan_mode(main)


def begin_planning(main: Agent) -> None:
    """Enter plan mode; the mode before it comes back with an approved plan.

    That mode is the stricter of the current mode and that of the last turn: a user who steps through the
    modes has not chosen those in between.
    """
    state = main.state
    if state.mode == "plan":
        state.announce()
        return
    state.set_plan(PlanChanged("", "planning", mode=stricter_mode(state.mode, state.settled_mode)))
    state.set_mode("plan")
    main.toolbox.search(f"select:{PLAN_TOOL}")


class AgentPlans:
    """Plan mode for the tools of one agent."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    @property
    def now(self) -> PlanChanged:
        return self._agent.state.plan

    def past(self) -> tuple[PlanChanged, ...]:
        """The plans the user decided, oldest first."""
        return tuple(
            plan
            for envelope in self._agent.services.log.durable()
            if isinstance(plan := envelope.event, PlanChanged) and plan.state in ("approved", "rejected")
        )

    def enter(self, reason: str) -> None:
        """The model asks to plan first. Raises `PlanRefused` where plan mode could not be ended."""
        agent = self._agent
        if agent.path != "main":
            raise PlanRefused("a subagent cannot change the mode; describe the plan in your report")
        if agent.state.mode == "deny":
            raise PlanRefused("the mode is deny, which is stricter; say what you would do")
        if not agent.services.approvals.can_ask:
            raise PlanRefused("no user is there to approve a plan; do the work as the mode allows")
        begin_planning(agent)

    async def propose(self, plan: PlanChanged, call: str) -> PlanApproved:
        """Wait for the user's decision on `plan`. Raises `PlanRefused` with what to do instead."""
        return await _propose_plan(self._agent, call, plan)

    def reminder(self) -> str:
        """The reminder of plan mode or of the approved plan for the model at this step."""
        agent, state = self._agent, self._agent.state
        if agent.path != "main":
            return READ_ONLY_REMINDER if agent.is_planning else ""
        if state.mode == "plan":
            is_pending = state.plan.state == "pending"
            return f"{READ_ONLY_REMINDER} {PENDING_REMINDER if is_pending else PROPOSE_REMINDER}"
        if state.progress is not None and state.progress.is_active:
            return f"{APPROVED_REMINDER}\n\n{state.progress.text()}"
        return ""

    def unverified(self) -> tuple[str, ...]:
        """The checks of the approved plan that have not run, returned once."""
        agent, progress = self._agent, self._agent.state.progress
        if progress is None or agent.path != "main" or agent.state.mode == "plan":
            return ()
        return progress.unverified()


async def _propose_plan(agent: Agent, call: str, plan: PlanChanged) -> PlanApproved:
    services, state = agent.services, agent.state
    if agent.path != "main":
        raise PlanRefused("a subagent cannot propose a plan; describe it in your report")
    if state.mode != "plan":
        raise PlanRefused(
            "not in plan mode, so no plan is needed: do the work, the mode decides what is asked"
        )
    if services.approvals.is_waiting(state.plan.request):
        raise PlanRefused("a plan already waits for the user")
    request = _plan_request(agent, plan)
    state.set_plan(replace(plan, state="pending", request=request.id, mode=state.plan.mode or "ask"))
    try:
        answer = await services.approvals.ask(request, agent.path, call)
    except asyncio.CancelledError:
        # The plan still waits, its call does not: the review or /do decides it later.
        if state.plan.state == "pending":
            state.set_plan(replace(state.plan, request=""))
        raise
    verdict = Verdict("ask", "a plan needs the user", rules=("plan",), may_remember=False, user_only=True)
    services.audit.decided(
        agent.path, ToolCall(call, PLAN_TOOL, {}), verdict, answer.outcome, approver=answer.by
    )
    if not answer.is_allowed:
        raise PlanRefused(_rejection_text(agent, answer))
    return _approve_plan(agent, answer.plan or DecidePlan("", "", request.id, "approve", note=answer.note))


def decide_plan(main: Agent, op: DecidePlan) -> str:
    """The user decides. Returns the prompt that follows when no call waits for the answer, or an empty
    string."""
    services, state = main.services, main.state
    if op.origin.startswith("schedule:"):
        return _warn(main, "a schedule cannot approve a plan", "only the user can")
    waiting = state.plan.request if services.approvals.is_waiting(state.plan.request) else ""
    if op.request and op.request != waiting:
        return _warn(main, "that plan no longer waits", "/plan show lists the plans")
    if waiting:
        decision: Decision = "allow_once" if op.decision == "approve" else "reject_once"
        services.approvals.decide(Decide(op.id, op.origin, waiting, decision, op.note), op)
        return ""
    if state.plan.state == "pending":
        return _decide_detached(main, op)
    if state.mode != "plan" or op.decision == "reject":
        return _warn(main, "there is no plan to decide", "/plan begins plan mode")
    state.set_mode(op.mode or state.plan.mode or "ask")
    _leave_plan_mode(main)
    return PLAN_MODE_OVER + (f"\n\n{op.note}" if op.note else "")


def _decide_detached(main: Agent, op: DecidePlan) -> str:
    """Decide a plan whose call no longer waits: interrupted, or from an earlier run of the session."""
    if op.decision == "approve":
        approved = _approve_plan(main, op)
        return CARRY_OUT_PROMPT.format(text=approved.text) + (f"\n\n{op.note}" if op.note else "")
    main.state.set_plan(replace(main.state.plan, state="rejected", note=op.note))
    return REVISE_PROMPT.format(note=op.note) if op.note else ""


def _approve_plan(agent: Agent, op: DecidePlan) -> PlanApproved:
    plan = agent.state.plan
    text = op.text.strip() or plan.text
    mode: Mode = op.mode if op.mode not in (None, "plan") else plan.mode or "ask"
    approved = replace(
        plan,
        text=text,
        state="approved",
        request="",
        # A step that the user deleted from the text is no longer a step.
        steps=tuple(step for step in plan.steps if _is_in_text(step, text)),
        verification=tuple(check for check in plan.verification if check in text),
        rollback=tuple(step for step in plan.rollback if step in text),
        mode=mode,
        note=op.note,
    )
    agent.state.set_plan(approved)
    agent.state.set_mode(mode)
    return PlanApproved(text, text != plan.text, mode, op.note)


def _is_in_text(step: PlanStep, text: str) -> bool:
    named = step.command or (f"`{step.path}`" if step.path else "")
    return (named or step.purpose) in text


def _rejection_text(agent: Agent, answer: ApprovalAnswer) -> str:
    """The text for the model; plan mode continues unless the user left it."""
    state = agent.state
    if state.mode != "plan":
        return "the user left plan mode without approving the plan; ask what they want"
    state.set_plan(replace(state.plan, state="rejected", request="", note=answer.note))
    match answer.by:
        case "nobody":
            return "denied: no user is there to approve the plan; give it in your answer and stop"
        case "timeout":
            seconds = f"{agent.services.approvals.timeout(state.origin):g}"
            return f"denied: no answer within {seconds} s; give the plan in your answer and stop"
        case "person" | "closed":
            pass
    if answer.note:
        return f"the user rejected the plan and says: {answer.note}"
    return "the user rejected the plan; ask what they want instead, then propose another one"


def _plan_request(agent: Agent, plan: PlanChanged) -> ApprovalRequested:
    return ApprovalRequested(
        id=new_id(),
        agent="main",
        tool=PLAN_TOOL,
        title=f"plan: {plan.title}" if plan.title else "a plan",
        reason="the model asks to leave plan mode and carry this out",
        parts=(ApprovalPart("plan", plan.title or "plan", plan.text),),
        destination="",
        risk=0,
        shape="",
        options=("allow_once", "reject_once"),
        expires=agent.services.approvals.timeout(agent.state.origin),
        whole=True,
    )


def _leave_plan_mode(main: Agent) -> None:
    """Plan mode ended without an approval."""
    plan, approvals = main.state.plan, main.services.approvals
    main.state.set_plan(PlanChanged(plan.text, "idle", title=plan.title))
    if approvals.is_waiting(plan.request):
        approvals.decide(Decide(new_id(), main.state.origin, plan.request, "reject_once"))


def _warn(main: Agent, text: str, hint: str) -> str:
    main.warn(text, hint)
    return ""
