"""The tools of plan mode. Both only ask; what they bring back is what a person decided."""

import asyncio
import sys
from dataclasses import dataclass
from typing import Annotated, Literal

from cockpit.builtin.judging import judged
from cockpit.builtin.plan.proposal import Proposal, Step, check, planned, reshaped
from cockpit.errors import CockpitError
from cockpit.plugin.arguments import schema, typed
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Alias, CommandLine, Done, Tool
from cockpit.protocol.content import Markdown
from cockpit.protocol.rows import PlanStep

MOST_JUDGED = 30
DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Enter:
    reason: Annotated[str, "why a plan is needed first"] = ""


async def enter(arguments: Enter, context: Context) -> Done:
    context.session.plans.enter(arguments.reason)
    return Done("Plan mode: look, change nothing. Propose the plan with propose_plan; a person decides.")


async def propose(arguments: Proposal, context: Context) -> Done:
    check(arguments)
    steps = [_step(step) for step in arguments.steps]
    lines = [at for at, step in enumerate(steps) if step.command][:MOST_JUDGED]
    made = await asyncio.gather(*(_judged(steps[at], context) for at in lines))
    for at, step in zip(lines, made, strict=True):
        steps[at] = step
    call = context.running().call.id
    approved = await context.session.plans.propose(planned(arguments, tuple(steps)), call)
    head = "The person approved the plan"
    if approved.edited:
        head += " and changed it: the text below is what counts"
    said = f"\nThey say: {approved.note}" if approved.note else ""
    text = f"{head}. The mode is now {approved.mode}.{said}\n\n{approved.text}"
    return Done(text, (Markdown(f"{head}; mode {approved.mode}."),))


def _step(step: Step) -> PlanStep:
    purpose = " ".join(step.purpose.split())
    command = step.command.strip() if step.kind == "command" else ""
    return PlanStep(step.kind, purpose, command, step.path.strip(), step.read_only)


async def _judged(step: PlanStep, context: Context) -> PlanStep:
    """The step with the verdict its command would get; without one where it cannot be judged."""
    shell: Literal["bash", "powershell"] = "powershell" if sys.platform == "win32" else "bash"
    try:
        line = await judged(CommandLine(step.command, shell, context.workspace.root), context)
    except CockpitError:
        return step
    verdict = line.verdict
    return PlanStep(
        step.kind, step.purpose, step.command, step.path, step.read_only, verdict.level, verdict.reason
    )


def tools() -> tuple[Tool, ...]:
    return (
        Tool(
            name="propose_plan",
            kind="think",
            description="In plan mode: ask the person to approve a plan. Only they end plan mode.",
            parameters=schema(Proposal),
            capabilities=frozenset({"ask.person"}),
            run=typed(Proposal, propose),
            title=lambda arguments: f"plan {arguments.get('title', '')}".strip(),
            # It changes nothing, so that after a crash it is asked again rather than given up.
            is_concurrent=lambda arguments: True,
            deferred=True,
            polling=True,
            seconds=DAY,
            aliases=tuple(Alias(name, reshape=reshaped) for name in ("ExitPlanMode", "exit_plan_mode")),
            keywords=("plan", "approve", "review"),
        ),
        Tool(
            name="enter_plan_mode",
            kind="think",
            description="Look first: nothing can be changed until the person approves a plan.",
            parameters=schema(Enter),
            capabilities=frozenset({"ask.person"}),
            run=typed(Enter, enter),
            title=lambda arguments: "plan mode",
            deferred=True,
            aliases=(Alias("EnterPlanMode", (("plan", ""),)),),
            keywords=("plan",),
        ),
    )
