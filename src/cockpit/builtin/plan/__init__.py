"""Plan mode for the model: `propose_plan` and `enter_plan_mode`, the reminder, and the checks at the end.

It can only ask: a plan is approved by a person's op, which no tool and no text of a model is.
"""

from cockpit.builtin.plan.commands import commands
from cockpit.builtin.plan.tools import tools
from cockpit.plugin import hookimpl
from cockpit.plugin.context import Context
from cockpit.plugin.safety import Continue, Guard, Guarded, Pass, Ruling
from cockpit.plugin.values import ContextSource, Register, Scope

CHECK = (
    "The approved plan ends with checks that were not run. Run them now, and say what they show:\n{checks}"
)


async def remind(context: Context) -> str:
    return context.session.plans.reminder()


async def verify(guarded: Guarded, context: Context) -> Ruling:
    """At the end of the work: the plan's own checks, proposed once."""
    left = context.session.plans.unverified()
    if not left:
        return Pass()
    return Continue(CHECK.format(checks="\n".join(f"- {one}" for one in left)))


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    for tool in tools():
        register(tool)


@hookimpl
def register_commands(register: Register, scope: Scope) -> None:
    for command in commands():
        register(command)


@hookimpl
def register_context(register: Register, scope: Scope) -> None:
    register(ContextSource("plan", "reminder", "step", remind, order=10))


@hookimpl
def register_guards(register: Register, scope: Scope) -> None:
    register(Guard("plan", "stop", verify))
