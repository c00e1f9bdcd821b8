"""A proposed plan: its strict shape, its Markdown, and what each of its commands would be judged.

Pure but for the judging. Approves nothing.

The tools of plan mode. Both only ask; what they bring back is what a person decided.

`/plan` and `/do`. Deciding is an op of the frontend, because only a person may send it.

Plan mode for the model: `propose_plan` and `enter_plan_mode`, the reminder, and the checks at the end.

It can only ask: a plan is approved by a person's op, which no tool and no text of a model is.
"""

import asyncio
import sys
from dataclasses import dataclass, field
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
from cockpit.protocol.content import Block, Markdown, Text
from cockpit.protocol.events import PlanChanged
from cockpit.protocol.messages import Json
from cockpit.protocol.rows import PlanStep

WORDS = {"allow": "runs unasked", "ask": "asks", "deny": "is refused"}
# What other agents write beside a plan, and what it would mean here: nothing.
IGNORED_FIELDS = frozenset({"approved", "approval_state", "allowedPrompts", "planFilePath"})
MAX_TITLE = 80


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
    summary: Annotated[str, "what changes and why, for the person who decides"]
    steps: list[ProposedStep]
    verification: Annotated[list[str], "commands that show it worked"] = field(default_factory=list)
    rollback: Annotated[list[str], "how to take it back"] = field(default_factory=list)
    text: Annotated[str, "the plan as Markdown, only in place of steps"] = ""


def normalize_plan(arguments: Arguments) -> Arguments:
    """Claude Code's `ExitPlanMode(plan="...")` as ours. Whether it says that it is approved is ignored."""
    out: dict[str, Json] = {name: one for name, one in arguments.items() if name not in IGNORED_FIELDS}
    text = out.pop("plan", out.get("text"))
    if isinstance(text, str):
        out["text"] = text
        out.setdefault("title", first_line(text))
        out.setdefault("summary", "")
        out.setdefault("steps", [])
    return out


def first_line(text: str) -> str:
    """The first line of a Markdown plan, without its signs."""
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return first.lstrip("# ").strip()[:MAX_TITLE]


def validate_proposal(proposal: Proposal) -> None:
    """Raises `ArgumentsInvalid` with every fault that the schema cannot see."""
    faults = [] if proposal.steps or proposal.text.strip() else ["`steps` is empty; name each one"]
    if proposal.steps and proposal.text.strip():
        faults.append("`text` and `steps` say the same twice; give one of them")
    if not proposal.title.strip():
        faults.append("`title` is empty; one line that names the change")
    for at, step in enumerate(proposal.steps):
        if step.kind == "command" and not step.command.strip():
            faults.append(f"`steps[{at}].command` is empty; write the exact line")
        if step.kind == "edit" and not step.path.strip():
            faults.append(f"`steps[{at}].path` is empty; name the file")
        if not step.purpose.strip():
            faults.append(f"`steps[{at}].purpose` is empty; say what it is for")
    if faults:
        raise ArgumentsInvalid("; ".join(faults))


def build_plan(proposal: Proposal, steps: tuple[PlanStep, ...]) -> PlanChanged:
    """The plan as a person will see it; `steps` carry their verdicts."""
    return PlanChanged(
        text=proposal.text.strip() or render_markdown(proposal),
        state="pending",
        title=" ".join(proposal.title.split())[:MAX_TITLE],
        steps=steps,
        verification=tuple(one.strip() for one in proposal.verification if one.strip()),
        rollback=tuple(one.strip() for one in proposal.rollback if one.strip()),
    )


def render_markdown(proposal: Proposal) -> str:
    """The plan as Markdown: what a person reads, edits and approves."""
    lines = [f"# {' '.join(proposal.title.split())}", ""]
    if proposal.summary.strip():
        lines += [proposal.summary.strip(), ""]
    lines += ["## Steps", ""]
    lines += [f"{at}. {_format_step(step)}" for at, step in enumerate(proposal.steps, 1)]
    for heading, rows in (("Verify", proposal.verification), ("Roll back", proposal.rollback)):
        if rows:
            lines += ["", f"## {heading}", "", *(f"- {_inline_code(row)}" for row in rows if row.strip())]
    return "\n".join(lines) + "\n"


def _format_step(step: ProposedStep) -> str:
    what = {"command": "run", "edit": "edit", "note": ""}[step.kind]
    named = _inline_code(step.command if step.kind == "command" else step.path)
    looks = " (meant to read only)" if step.read_only and step.kind == "command" else ""
    head = f"{what} {named}{looks}: " if what else ""
    return head + " ".join(step.purpose.split())


def _inline_code(text: str) -> str:
    """As inline code where that is one line without ticks; else as it is."""
    text = text.strip()
    return text if "`" in text or "\n" in text or not text else f"`{text}`"


MAX_JUDGED = 30
TIMEOUT_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class EnterPlanMode:
    reason: Annotated[str, "why a plan is needed first"] = ""


async def enter_plan_mode(arguments: EnterPlanMode, context: Context) -> Done:
    context.session.plans.enter(arguments.reason)
    return Done("Plan mode: look, change nothing. Propose the plan with propose_plan; a person decides.")


async def propose_plan(arguments: Proposal, context: Context) -> Done:
    validate_proposal(arguments)
    steps = [_plan_step(step) for step in arguments.steps]
    lines = [at for at, step in enumerate(steps) if step.command][:MAX_JUDGED]
    made = await asyncio.gather(*(_judge_step(steps[at], context) for at in lines))
    for at, step in zip(lines, made, strict=True):
        steps[at] = step
    call = context.running().call.id
    approved = await context.session.plans.propose(build_plan(arguments, tuple(steps)), call)
    head = "The person approved the plan"
    if approved.edited:
        head += " and changed it: the text below is what counts"
    said = f"\nThey say: {approved.note}" if approved.note else ""
    text = f"{head}. The mode is now {approved.mode}.{said}\n\n{approved.text}"
    return Done(text, (Markdown(f"{head}; mode {approved.mode}."),))


def _plan_step(step: ProposedStep) -> PlanStep:
    purpose = " ".join(step.purpose.split())
    command = step.command.strip() if step.kind == "command" else ""
    return PlanStep(step.kind, purpose, command, step.path.strip(), step.read_only)


async def _judge_step(step: PlanStep, context: Context) -> PlanStep:
    """The step with the verdict its command would get; without one where it cannot be judged."""
    shell: Literal["bash", "powershell"] = "powershell" if sys.platform == "win32" else "bash"
    try:
        line = await judge_command(CommandLine(step.command, shell, context.workspace.root), context)
    except CockpitError:
        return step
    verdict = line.verdict
    return PlanStep(
        step.kind, step.purpose, step.command, step.path, step.read_only, verdict.level, verdict.reason
    )


def plan_tools() -> tuple[Tool, ...]:
    return (
        Tool(
            name="propose_plan",
            kind="think",
            description="In plan mode: ask the person to approve a plan. Only they end plan mode.",
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
        ),
        Tool(
            name="enter_plan_mode",
            kind="think",
            description="Look first: nothing can be changed until the person approves a plan.",
            parameters=schema(EnterPlanMode),
            capabilities=frozenset({"ask.person"}),
            run=typed(EnterPlanMode, enter_plan_mode),
            title=lambda arguments: "plan mode",
            deferred=True,
            aliases=(Alias("EnterPlanMode", (("plan", ""),)),),
            keywords=("plan",),
        ),
    )


SHOW_WORDS = ("show", "list")


def plan_commands() -> tuple[Command, ...]:
    return (
        Command(
            "plan",
            "Plan mode: look, change nothing; `show` lists the plans",
            _run_plan,
            "[show|what to plan]",
        ),
        Command("do", "Approve the plan, leave plan mode, carry it out", _run_do, "[a word to the model]"),
    )


async def _run_plan(invoked: Invoked, context: Context) -> CommandAnswer:
    text = invoked.text.strip()
    if text in SHOW_WORDS:
        return Show(_plan_blocks(context))
    arguments: dict[str, Json] = {"text": "plan"}
    return Action("mode", arguments | ({"prompt": text} if text else {}))


async def _run_do(invoked: Invoked, context: Context) -> CommandAnswer:
    return Action("carry_out", {"text": invoked.text.strip()})


def _plan_blocks(context: Context) -> tuple[Block, ...]:
    plans = context.session.plans
    now = plans.now
    waiting = (now,) if now.state == "pending" else ()
    rows = (*plans.past(), *waiting)
    if not rows:
        return (Text("No plan was proposed in this session. /plan begins plan mode."),)
    return tuple(Markdown(_format_plan(at, plan)) for at, plan in enumerate(rows, 1))


def _format_plan(at: int, plan: PlanChanged) -> str:
    note = f" ({plan.note})" if plan.note else ""
    state = "waits for you" if plan.state == "pending" else plan.state
    return f"**Plan {at}: {state}**{note}\n\n{plan.text.rstrip()}"


VERIFY_MESSAGE = (
    "The approved plan ends with checks that were not run. Run them now, and say what they show:\n{checks}"
)


async def collect_reminder(context: Context) -> str:
    return context.session.plans.reminder()


async def require_verification(guarded: Guarded, context: Context) -> Ruling:
    """At the end of the work: the plan's own checks, proposed once."""
    left = context.session.plans.unverified()
    if not left:
        return Pass()
    return Continue(VERIFY_MESSAGE.format(checks="\n".join(f"- {one}" for one in left)))


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    for tool in plan_tools():
        register(tool)


@hookimpl
def register_commands(register: Register, scope: Scope) -> None:
    for command in plan_commands():
        register(command)


@hookimpl
def register_context(register: Register, scope: Scope) -> None:
    register(ContextSource("plan", "reminder", "step", collect_reminder, order=10))


@hookimpl
def register_guards(register: Register, scope: Scope) -> None:
    register(Guard("plan", "stop", require_verification))
