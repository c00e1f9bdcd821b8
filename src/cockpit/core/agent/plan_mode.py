"""Plan mode: idle, planning, pending, approved, rejected. Only a person's op ends it.

The state is the last `PlanChanged` of the session, so that it lies in the transcript and a resumed
session stands where it stood. Refuses to judge calls: that is `core/judgement`'s part.
"""

import asyncio
from dataclasses import replace

from cockpit.core.agent.agent import Agent, Host, stricter_mode
from cockpit.core.agent.session_state import PLAN_TOOL, PlanProgress
from cockpit.core.permission.approvals import ApprovalAnswer
from cockpit.plugin.context import PlanApproved, PlanRefused
from cockpit.plugin.safety import Verdict
from cockpit.protocol.events import ApprovalRequested, Envelope, PlanChanged, TurnStarted, Warned
from cockpit.protocol.messages import Decision, Mode, ToolCall
from cockpit.protocol.ops import Decide, DecidePlan
from cockpit.protocol.rows import ApprovalPart, PlanStep

ALREADY_WAITING = "a plan waits for the person already"
CARRY_OUT_PROMPT = "The plan is approved. Carry it out:\n\n{text}"
REVISE_PROMPT = "The plan is rejected. {note}\n\nPropose another one."
PLAN_MODE_OVER = "Plan mode is over. Carry out what you found."
READ_ONLY_REMINDER = "[Plan mode: look, change nothing; what changes anything is refused."
PROPOSE_REMINDER = (
    "When you know what to do, call propose_plan with its steps, how to verify them and how to roll them "
    "back. Only the person ends plan mode.]"
)
PENDING_REMINDER = "Your plan waits for the person; do not repeat it, answer what they say.]"
APPROVED_REMINDER = (
    "[The person approved this plan. Carry it out step by step; where you have to depart from it, say so "
    "and why. Each change is still asked for as the mode says.]"
)
LEFT_WITHOUT_APPROVAL = "the person left plan mode without approving the plan; ask what they want"


def select_mode(main: Agent, mode: Mode) -> None:
    """A person chooses a mode. Leaving plan mode this way approves no plan."""
    host = main.host
    if mode == "plan":
        begin_planning(main)
        return
    was_planning = host.mode == "plan"
    host.use_mode(mode)
    if was_planning:
        _leave_plan_mode(host)


def begin_planning(main: Agent) -> None:
    """Plan mode from now on; the mode before it comes back with an approved plan.

    That is the stricter of the mode now and the one of the last turn: somebody who walks through the
    modes has not chosen those they passed.
    """
    host = main.host
    if host.mode == "plan":
        host.use_mode("plan")
        return
    before = stricter_mode(host.settled, host.mode)
    host.carrying = None
    _set_plan(host, PlanChanged("", "planning", mode=before))
    host.use_mode("plan")
    main.toolbox.search(f"select:{PLAN_TOOL}")


def enter_plan_mode(agent: Agent, reason: str) -> None:
    """The model asks to plan first. Raises `PlanRefused` where that could not be ended."""
    host = agent.host
    if agent.path != "main":
        raise PlanRefused("a subagent cannot change the mode; describe the plan in your report")
    if host.mode == "deny":
        raise PlanRefused("the mode is deny, which is stricter; say what you would do")
    if not host.approvals.someone:
        raise PlanRefused("nobody is there who could approve a plan; do the work as the mode allows")
    begin_planning(agent)


async def propose_plan(agent: Agent, call: str, plan: PlanChanged) -> PlanApproved:
    """Wait for a person's decision on `plan`. Raises `PlanRefused` with what to do instead."""
    host = agent.host
    if agent.path != "main":
        raise PlanRefused("a subagent cannot propose a plan; describe it in your report")
    if host.mode != "plan":
        raise PlanRefused("not in plan mode, so no plan is needed: do the work, each change is asked for")
    if host.approvals.is_waiting(host.plan.request):
        raise PlanRefused(ALREADY_WAITING)
    id = host.new_id()
    _set_plan(host, replace(plan, state="pending", request=id, mode=host.plan.mode or "ask"))
    host.chosen = None
    try:
        answer = await host.approvals.ask(_plan_request(host, plan, id), agent.path, call)
    except asyncio.CancelledError:
        # The plan still waits, its call does not: /do and the review take it up.
        if host.plan.state == "pending":
            _set_plan(host, replace(host.plan, request=""))
        raise
    verdict = Verdict("ask", "a plan needs a person", rules=("plan",), may_remember=False, person_only=True)
    host.audit.decided(agent.path, ToolCall(call, PLAN_TOOL, {}), verdict, answer.outcome, approver=answer.by)
    if not answer.is_allowed:
        raise PlanRefused(_rejection_text(host, answer))
    return _approve_plan(host, host.chosen or DecidePlan("", "", id, "approve", note=answer.note))


def decide_plan(main: Agent, op: DecidePlan) -> str:
    """A person decides. Gives the prompt that follows where no call waits for the answer, or ""."""
    host = main.host
    if op.origin.startswith("schedule:"):
        return _warn(host, "a schedule cannot approve a plan", "only a person can")
    waiting = host.plan.request if host.approvals.is_waiting(host.plan.request) else ""
    if op.request and op.request != waiting:
        return _warn(host, "that plan does not wait any more", "/plan show lists the plans")
    if waiting:
        host.chosen = op
        decision: Decision = "allow_once" if op.decision == "approve" else "reject_once"
        host.approvals.decide(Decide(op.id, op.origin, waiting, decision, op.note))
        return ""
    if host.plan.state == "pending":
        return _decide_detached(host, op)
    if host.mode != "plan" or op.decision == "reject":
        return _warn(host, "there is no plan to decide", "/plan begins plan mode")
    host.use_mode(op.mode or host.plan.mode or "ask")
    _leave_plan_mode(host)
    return PLAN_MODE_OVER + (f"\n\n{op.note}" if op.note else "")


def fold_plan_event(host: Host, envelope: Envelope) -> None:
    """Fold an event of the session: which mode it settled on, how far the approved plan is."""
    if isinstance(envelope.event, TurnStarted) and envelope.agent == "main" and host.mode != "plan":
        host.settled = host.mode
    if host.carrying is not None:
        host.carrying.see(envelope, lambda text, hint: _warn_later(host, text, hint))


def decided_plans(host: Host) -> tuple[PlanChanged, ...]:
    """The plans that a person decided, oldest first."""
    events = (one.event for one in host.log.durable())
    return tuple(
        one for one in events if isinstance(one, PlanChanged) and one.state in ("approved", "rejected")
    )


def plan_reminder(agent: Agent) -> str:
    """What the model is told at this step."""
    host = agent.host
    if agent.path != "main":
        return READ_ONLY_REMINDER if agent.is_planning else ""
    if host.mode == "plan":
        return (
            f"{READ_ONLY_REMINDER} {PENDING_REMINDER if host.plan.state == 'pending' else PROPOSE_REMINDER}"
        )
    if host.carrying is not None and host.carrying.stands:
        return f"{APPROVED_REMINDER}\n\n{host.carrying.text()}"
    return ""


def unverified_steps(agent: Agent) -> tuple[str, ...]:
    """The checks of the approved plan that are still to be run, told once."""
    carrying = agent.host.carrying
    if carrying is None or agent.path != "main" or agent.host.mode == "plan":
        return ()
    return carrying.unverified()


def restore_plan(plan: PlanChanged | None, mode: Mode) -> PlanChanged:
    """Where a session begins: as its transcript ends, unless another mode was chosen since."""
    plan = plan or PlanChanged("", "idle", mode="ask")
    if mode == "plan":
        begun = plan if plan.state in ("planning", "pending", "rejected") else PlanChanged("", "planning")
        # The call that waited is asked again, with an id of its own, or is gone.
        return replace(begun, request="", mode=plan.mode or "ask")
    return plan if plan.state == "approved" else PlanChanged("", "idle")


def _decide_detached(host: Host, op: DecidePlan) -> str:
    """The plan waits and its call is gone: interrupted, or of a session before."""
    if op.decision == "approve":
        approved = _approve_plan(host, op)
        return CARRY_OUT_PROMPT.format(text=approved.text) + (f"\n\n{op.note}" if op.note else "")
    _set_plan(host, replace(host.plan, state="rejected", note=op.note))
    return REVISE_PROMPT.format(note=op.note) if op.note else ""


def _approve_plan(host: Host, op: DecidePlan) -> PlanApproved:
    plan = host.plan
    text = op.text.strip() or plan.text
    mode: Mode = op.mode if op.mode not in (None, "plan") else plan.mode or "ask"
    kept = replace(
        plan,
        text=text,
        state="approved",
        request="",
        # What a person struck out of the text is no step any more.
        steps=tuple(one for one in plan.steps if _is_in_text(one, text)),
        verification=tuple(one for one in plan.verification if one in text),
        rollback=tuple(one for one in plan.rollback if one in text),
        mode=mode,
        note=op.note,
    )
    _set_plan(host, kept)
    host.carrying = PlanProgress(kept)
    host.use_mode(mode)
    return PlanApproved(text, text != plan.text, mode, op.note)


def _is_in_text(step: PlanStep, text: str) -> bool:
    named = step.command or (f"`{step.path}`" if step.path else "")
    return (named or step.purpose) in text


def _rejection_text(host: Host, answer: ApprovalAnswer) -> str:
    """What the model is told; plan mode goes on unless the person left it."""
    if host.mode != "plan":
        return LEFT_WITHOUT_APPROVAL
    _set_plan(host, replace(host.plan, state="rejected", request="", note=answer.note))
    match answer.by:
        case "nobody":
            return "denied: nobody is there to approve the plan; say it in your answer and stop"
        case "timeout":
            seconds = f"{host.patience():g}"
            return f"denied: nobody answered within {seconds} s; say the plan in your answer and stop"
        case "person" | "closed":
            pass
    if answer.note:
        return f"the person rejected the plan and says: {answer.note}"
    return "the person rejected the plan; ask what they want instead, then propose another one"


def _plan_request(host: Host, plan: PlanChanged, id: str) -> ApprovalRequested:
    return ApprovalRequested(
        id=id,
        agent="main",
        tool=PLAN_TOOL,
        title=f"plan: {plan.title}" if plan.title else "a plan",
        reason="the model asks to leave plan mode and carry this out",
        parts=(ApprovalPart("plan", plan.title or "plan", plan.text),),
        destination="",
        risk=0,
        shape="",
        options=("allow_once", "reject_once"),
        expires=host.patience(),
        whole=True,
    )


def _leave_plan_mode(host: Host) -> None:
    """Plan mode ended without an approval."""
    plan, waiting = host.plan, host.plan.request
    _set_plan(host, PlanChanged(plan.text, "idle", title=plan.title))
    if host.approvals.is_waiting(waiting):
        host.approvals.decide(Decide(host.new_id(), host.origin, waiting, "reject_once"))


def _set_plan(host: Host, plan: PlanChanged) -> None:
    host.plan = plan
    host.log.emit(plan)


def _warn(host: Host, text: str, hint: str) -> str:
    host.log.emit(Warned(text, hint))
    return ""


def _warn_later(host: Host, text: str, hint: str) -> None:
    """Say it after the event that is being handed out, so that readers get both in order."""
    warned = Warned(text, hint, "plan")
    asyncio.get_running_loop().call_soon(host.log.emit, warned)
