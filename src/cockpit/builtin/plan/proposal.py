"""A proposed plan: its strict shape, its Markdown, and what each of its commands would be judged.

Pure but for the judging. Approves nothing.
"""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from cockpit.plugin.tools import Arguments, ArgumentsInvalid
from cockpit.protocol.events import PlanChanged
from cockpit.protocol.messages import Json
from cockpit.protocol.rows import PlanStep

WORDS = {"allow": "runs unasked", "ask": "asks", "deny": "is refused"}
# What other agents write beside a plan, and what it would mean here: nothing.
IGNORED = frozenset({"approved", "approval_state", "allowedPrompts", "planFilePath"})
TITLE = 80


@dataclass(frozen=True, slots=True)
class Step:
    kind: Literal["command", "edit", "note"]
    purpose: Annotated[str, "what it is for, one line"]
    read_only: Annotated[bool, "it changes nothing"]
    command: Annotated[str, "for command: the exact line"] = ""
    path: Annotated[str, "for edit: the file"] = ""


@dataclass(frozen=True, slots=True)
class Proposal:
    title: str
    summary: Annotated[str, "what changes and why, for the person who decides"]
    steps: list[Step]
    verification: Annotated[list[str], "commands that show it worked"] = field(default_factory=list)
    rollback: Annotated[list[str], "how to take it back"] = field(default_factory=list)
    text: Annotated[str, "the plan as Markdown, only in place of steps"] = ""


def reshaped(arguments: Arguments) -> Arguments:
    """Claude Code's `ExitPlanMode(plan="...")` as ours. Whether it says that it is approved is ignored."""
    out: dict[str, Json] = {name: one for name, one in arguments.items() if name not in IGNORED}
    text = out.pop("plan", out.get("text"))
    if isinstance(text, str):
        out["text"] = text
        out.setdefault("title", title_of(text))
        out.setdefault("summary", "")
        out.setdefault("steps", [])
    return out


def title_of(text: str) -> str:
    """The first line of a Markdown plan, without its signs."""
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return first.lstrip("# ").strip()[:TITLE]


def check(proposal: Proposal) -> None:
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


def planned(proposal: Proposal, steps: tuple[PlanStep, ...]) -> PlanChanged:
    """The plan as a person will see it; `steps` carry their verdicts."""
    return PlanChanged(
        text=proposal.text.strip() or markdown(proposal),
        state="pending",
        title=" ".join(proposal.title.split())[:TITLE],
        steps=steps,
        verification=tuple(one.strip() for one in proposal.verification if one.strip()),
        rollback=tuple(one.strip() for one in proposal.rollback if one.strip()),
    )


def markdown(proposal: Proposal) -> str:
    """The plan as Markdown: what a person reads, edits and approves."""
    lines = [f"# {' '.join(proposal.title.split())}", ""]
    if proposal.summary.strip():
        lines += [proposal.summary.strip(), ""]
    lines += ["## Steps", ""]
    lines += [f"{at}. {_line(step)}" for at, step in enumerate(proposal.steps, 1)]
    for heading, rows in (("Verify", proposal.verification), ("Roll back", proposal.rollback)):
        if rows:
            lines += ["", f"## {heading}", "", *(f"- {_code(row)}" for row in rows if row.strip())]
    return "\n".join(lines) + "\n"


def _line(step: Step) -> str:
    what = {"command": "run", "edit": "edit", "note": ""}[step.kind]
    named = _code(step.command if step.kind == "command" else step.path)
    looks = " (meant to read only)" if step.read_only and step.kind == "command" else ""
    head = f"{what} {named}{looks}: " if what else ""
    return head + " ".join(step.purpose.split())


def _code(text: str) -> str:
    """As inline code where that is one line without ticks; else as it is."""
    text = text.strip()
    return text if "`" in text or "\n" in text or not text else f"`{text}`"
