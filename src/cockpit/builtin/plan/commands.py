"""`/plan` and `/do`. Deciding is an op of the frontend, because only a person may send it."""

from cockpit.plugin.context import Context
from cockpit.plugin.values import Action, Command, CommandAnswer, Invoked, Show
from cockpit.protocol.content import Block, Markdown, Text
from cockpit.protocol.events import PlanChanged
from cockpit.protocol.messages import Json

SHOW = ("show", "list")


def commands() -> tuple[Command, ...]:
    return (
        Command(
            "plan", "Plan mode: look, change nothing; `show` lists the plans", _plan, "[show|what to plan]"
        ),
        Command("do", "Approve the plan, leave plan mode, carry it out", _do, "[a word to the model]"),
    )


async def _plan(invoked: Invoked, context: Context) -> CommandAnswer:
    text = invoked.text.strip()
    if text in SHOW:
        return Show(_shown(context))
    arguments: dict[str, Json] = {"text": "plan"}
    return Action("mode", arguments | ({"prompt": text} if text else {}))


async def _do(invoked: Invoked, context: Context) -> CommandAnswer:
    return Action("carry_out", {"text": invoked.text.strip()})


def _shown(context: Context) -> tuple[Block, ...]:
    plans = context.session.plans
    now = plans.now
    waiting = (now,) if now.state == "pending" else ()
    rows = (*plans.past(), *waiting)
    if not rows:
        return (Text("No plan was proposed in this session. /plan begins plan mode."),)
    return tuple(Markdown(_one(at, plan)) for at, plan in enumerate(rows, 1))


def _one(at: int, plan: PlanChanged) -> str:
    note = f" ({plan.note})" if plan.note else ""
    state = "waits for you" if plan.state == "pending" else plan.state
    return f"**Plan {at}: {state}**{note}\n\n{plan.text.rstrip()}"
