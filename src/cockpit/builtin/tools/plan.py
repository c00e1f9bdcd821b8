"""Plan mode: the tools `propose_plan` and `enter_plan_mode`, `/plan`, `/do`, and the checks at the end.

Nothing here approves a plan: that takes an op that only the user's frontend sends.
"""

import asyncio
import sys
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

from cockpit.builtin.policy import judge_command
from cockpit.errors import CockpitError
from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import schema, typed
from cockpit.plugin.context import Context
from cockpit.plugin.safety import Continue, Guard, Guarded, Pass, Ruling
from cockpit.plugin.tools import Alias, Arguments, ArgumentsInvalid, CommandLine, Done, Tool
from cockpit.plugin.values import (
    Action,
    Command,
    CommandAnswer,
    ContextSource,
    Invoked,
    Register,
    Scope,
    Show,
)
from cockpit.protocol.content import Markdown, Text
from cockpit.protocol.events import PlanChanged
from cockpit.protocol.messages import Json
from cockpit.protocol.rows import PlanStep

# Fields that other agents add to a plan. They have no effect here.
IGNORED_FIELDS = frozenset({"approved", "approval_state", "allowedPrompts", "planFilePath"})
MAX_TITLE = 80
MAX_JUDGED = 30
TIMEOUT_SECONDS = 86_400.0
VERIFY_MESSAGE = "The approved plan ends with checks that were not run. Run them now, and report the results"


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    register(
        Tool(
            name="propose_plan",
            kind="think",
            description="In plan mode: ask the user to approve a plan. Only they end plan mode.",
            parameters=schema(Proposal),
            capabilities=frozenset({"ask.person"}),
            run=typed(Proposal, propose_plan),
            title=lambda arguments: f"plan {arguments.get('title', '')}".strip(),
            # It changes nothing, so that after a crash it is asked again rather than given up.
            is_concurrent=lambda arguments: True,
            deferred=True,
            polling=True,
            seconds=TIMEOUT_SECONDS,
            aliases=tuple(Alias(name, reshape=normalize_plan) for name in ("ExitPlanMode", "exit_plan_mode")),
            keywords=("plan", "approve", "review"),
        )
    )
    register(
        Tool(
            name="enter_plan_mode",
            kind="think",
            description="Look first: nothing can be changed until the user approves a plan.",
            parameters=schema(EnterPlanMode),
            capabilities=frozenset({"ask.person"}),
            run=typed(EnterPlanMode, enter_plan_mode),
            title=lambda arguments: "plan mode",
            deferred=True,
            aliases=(Alias("EnterPlanMode", (("plan", ""),)),),
            keywords=("plan",),
        )
    )


@hookimpl
def register_commands(register: Register, scope: Scope) -> None:
    about = "Plan mode: look, change nothing; `show` lists the plans"
    register(Command("plan", about, _run_plan, "[show|what to plan]"))
    about = "Approve the plan, leave plan mode and carry it out"
    register(Command("do", about, _run_do, "[a note to the model]"))


@hookimpl
def register_context(register: Register, scope: Scope) -> None:
    register(ContextSource("plan", "reminder", "step", _collect_reminder, order=10))


@hookimpl
def register_guards(register: Register, scope: Scope) -> None:
    register(Guard("plan", "stop", _require_verification))


async def _collect_reminder(context: Context) -> str:
    return context.session.plans.reminder()


async def _require_verification(guarded: Guarded, context: Context) -> Ruling:
    """Ask the model once, at the end of the work, to run the plan's own checks."""
    checks = [f"- {check}" for check in context.session.plans.unverified()]
    return Continue(f"{VERIFY_MESSAGE}:\n" + "\n".join(checks)) if checks else Pass()


# Proposing a plan


@dataclass(frozen=True, slots=True)
class ProposedStep:
    kind: Literal["command", "edit", "note"]
    purpose: Annotated[str, "what it is for, one line"]
    read_only: Annotated[bool, "it changes nothing"]
    command: Annotated[str, "for command: the exact line"] = ""
    path: Annotated[str, "for edit: the file"] = ""


@dataclass(frozen=True, slots=True)
class Proposal:
    title: str
    summary: Annotated[str, "what changes and why, for the user who decides"]
    steps: list[ProposedStep]
    verification: Annotated[list[str], "commands that show it worked"] = field(default_factory=list)
    rollback: Annotated[list[str], "how to undo it"] = field(default_factory=list)
    text: Annotated[str, "the plan as Markdown, only in place of steps"] = ""


async def propose_plan(arguments: Proposal, context: Context) -> Done:
    validate_proposal(arguments)
    steps = [
        PlanStep(
            step.kind,
            " ".join(step.purpose.split()),
            step.command.strip() if step.kind == "command" else "",
            step.path.strip(),
            step.read_only,
        )
        for step in arguments.steps
    ]
    commands = [step for step in steps if step.command][:MAX_JUDGED]
    judged = await asyncio.gather(*(_judge_step(step, context) for step in commands))
    for step, with_verdict in zip(commands, judged, strict=True):
        steps[steps.index(step)] = with_verdict
    plan = build_plan(arguments, tuple(steps))
    approved = await context.session.plans.propose(plan, context.running().call.id)
    heading = "The user approved the plan"
    if approved.edited:
        heading += " with changes: the text below is what counts"
    note = f"\nTheir note: {approved.note}" if approved.note else ""
    text = f"{heading}. The mode is now {approved.mode}.{note}\n\n{approved.text}"
    return Done(text, (Markdown(f"{heading}; mode {approved.mode}."),))


async def _judge_step(step: PlanStep, context: Context) -> PlanStep:
    """Add the verdict that the step's command would get, if it can be judged."""
    shell: Literal["bash", "powershell"] = "powershell" if sys.platform == "win32" else "bash"
    try:
        line = await judge_command(CommandLine(step.command, shell, context.workspace.root), context)
    except CockpitError:
        return step
    return replace(step, level=line.verdict.level, reason=line.verdict.reason)


def validate_proposal(proposal: Proposal) -> None:
    """Raise `ArgumentsInvalid` with every fault that the schema cannot express."""
    faults = [] if proposal.steps or proposal.text.strip() else ["`steps` is empty; name each step"]
    if proposal.steps and proposal.text.strip():
        faults.append("`text` and `steps` say the same twice; give only one of them")
    if not proposal.title.strip():
        faults.append("`title` is empty; name the change in one line")
    for index, step in enumerate(proposal.steps):
        if step.kind == "command" and not step.command.strip():
            faults.append(f"`steps[{index}].command` is empty; write the exact line")
        if step.kind == "edit" and not step.path.strip():
            faults.append(f"`steps[{index}].path` is empty; name the file")
        if not step.purpose.strip():
            faults.append(f"`steps[{index}].purpose` is empty; say what it is for")
    if faults:
        raise ArgumentsInvalid("; ".join(faults))


def build_plan(proposal: Proposal, steps: tuple[PlanStep, ...]) -> PlanChanged:
    """Build the plan that the user reviews; `steps` carry their verdicts."""
    return PlanChanged(
        text=proposal.text.strip() or render_markdown(proposal),
        state="pending",
        title=" ".join(proposal.title.split())[:MAX_TITLE],
        steps=steps,
        verification=tuple(filter(None, map(str.strip, proposal.verification))),
        rollback=tuple(filter(None, map(str.strip, proposal.rollback))),
    )


def render_markdown(proposal: Proposal) -> str:
    """Render the plan as the Markdown that the user reads, edits and approves."""
    lines = [f"# {' '.join(proposal.title.split())}", ""]
    if proposal.summary.strip():
        lines += [proposal.summary.strip(), ""]
    lines += ["## Steps", ""]
    lines += [f"{number}. {_format_step(step)}" for number, step in enumerate(proposal.steps, 1)]
    for heading, rows in (("Verify", proposal.verification), ("Roll back", proposal.rollback)):
        if rows:
            lines += ["", f"## {heading}", "", *(f"- {_inline_code(row)}" for row in rows if row.strip())]
    return "\n".join(lines) + "\n"


def _format_step(step: ProposedStep) -> str:
    purpose = " ".join(step.purpose.split())
    match step.kind:
        case "command":
            note = " (meant to read only)" if step.read_only else ""
            return f"run {_inline_code(step.command)}{note}: {purpose}"
        case "edit":
            return f"edit {_inline_code(step.path)}: {purpose}"
        case "note":
            return purpose


def _inline_code(text: str) -> str:
    """Format text as inline code if it is one line without backticks."""
    text = text.strip()
    return text if "`" in text or "\n" in text or not text else f"`{text}`"


def normalize_plan(arguments: Arguments) -> Arguments:
    """Translate Claude Code's `ExitPlanMode(plan="...")`. Whether it claims to be approved is ignored."""
    normalized = {name: value for name, value in arguments.items() if name not in IGNORED_FIELDS}
    text = normalized.pop("plan", normalized.get("text"))
    if isinstance(text, str):
        first_line = next((line.strip() for line in text.splitlines() if line.strip()), "")
        normalized["text"] = text
        normalized.setdefault("title", first_line.lstrip("# ").strip()[:MAX_TITLE])
        normalized.setdefault("summary", "")
        normalized.setdefault("steps", [])
    return normalized


@dataclass(frozen=True, slots=True)
class EnterPlanMode:
    reason: Annotated[str, "why a plan is needed first"] = ""


async def enter_plan_mode(arguments: EnterPlanMode, context: Context) -> Done:
    context.session.plans.enter(arguments.reason)
    return Done("Plan mode: look, change nothing. Propose the plan with propose_plan; the user decides.")


# The commands


async def _run_plan(invoked: Invoked, context: Context) -> CommandAnswer:
    """`/plan` enters plan mode, `/plan TEXT` also sends a prompt, `/plan show` lists the plans."""
    text = invoked.text.strip()
    if text not in ("show", "list"):
        arguments: dict[str, Json] = {"text": "plan"}
        return Action("mode", arguments | ({"prompt": text} if text else {}))
    current = context.session.plans.now
    pending = (current,) if current.state == "pending" else ()
    plans = (*context.session.plans.past(), *pending)
    if not plans:
        return Show((Text("No plan was proposed in this session. /plan enters plan mode."),))
    blocks: list[Markdown] = []
    for number, plan in enumerate(plans, 1):
        state = "waits for you" if plan.state == "pending" else plan.state
        note = f" ({plan.note})" if plan.note else ""
        blocks.append(Markdown(f"**Plan {number}: {state}**{note}\n\n{plan.text.rstrip()}"))
    return Show(tuple(blocks))


async def _run_do(invoked: Invoked, context: Context) -> CommandAnswer:
    return Action("carry_out", {"text": invoked.text.strip()})
