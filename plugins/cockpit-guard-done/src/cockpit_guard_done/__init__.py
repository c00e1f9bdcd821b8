"""A turn that changed files is not over while your check is red. Teaches `register_guards`.

A guard stands at one point and answers with a ruling. At `stop` it may say `Continue(reason)`: the model
reads the reason and goes on, three times a turn at most. The check is a command of your own settings:

    [plugins.done]
    command = "pytest -q"
"""

from cockpit.plugin import hookimpl
from cockpit.plugin.context import Context
from cockpit.plugin.safety import Continue, Guard, Guarded, Pass, Ruling
from cockpit.plugin.values import Register, Scope
from cockpit.protocol.queries import ChangeRows, Changes

TAIL = 4_000
SECONDS = 600


async def changed(context: Context) -> int:
    """How many changes the session has made so far."""
    reply = await context.session.ask(Changes())
    return len(reply.rows) if isinstance(reply, ChangeRows) else 0


@hookimpl
def register_guards(register: Register, scope: Scope) -> None:
    command = str(scope.settings.get("command") or "")
    if not command:
        return

    async def check(guarded: Guarded, context: Context) -> Ruling:
        store, now = context.session.store("session"), await changed(context)
        if now == (store.load("checked") or 0):
            return Pass()  # nothing was changed since the check was green
        # Through the order of every call: judged, asked about, held in, shown. A check runs code that a
        # model has just written.
        result = await context.session.call_tool("shell", {"command": command, "seconds": SECONDS})
        if result.outcome == "error":
            said = result.text[-TAIL:]
            return Continue(f"You are not done: `{command}` fails. Mend what you changed.\n\n{said}")
        if result.outcome == "ok":
            store.save("checked", now)
        return Pass()  # green, or a person did not want it to run

    register(Guard("done", "stop", check, timeout_s=SECONDS + 10))
