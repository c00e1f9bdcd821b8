"""Keeps a turn that changed files going until your check passes. An example of `register_guards`.

A guard runs at one point and returns a ruling. At `stop` it may return `Continue(reason)`: the model reads
the reason and continues, at most three times per turn. The check is a command from your settings:

    [plugins.done]
    command = "pytest -q"
"""

from cockpit.plugin import hookimpl
from cockpit.plugin.context import Context
from cockpit.plugin.safety import Continue, Guard, Guarded, Pass, Ruling
from cockpit.plugin.values import Register, Scope
from cockpit.protocol.queries import ChangeRows, Changes

MAX_OUTPUT = 4_000
SECONDS = 600


async def count_changes(context: Context) -> int:
    """The number of changes in this session so far."""
    reply = await context.session.ask(Changes())
    return len(reply.rows) if isinstance(reply, ChangeRows) else 0


@hookimpl
def register_guards(register: Register, scope: Scope) -> None:
    command = str(scope.settings.get("command") or "")
    if not command:
        return

    async def check(guarded: Guarded, context: Context) -> Ruling:
        store, now = context.session.store("session"), await count_changes(context)
        if now == (store.load("checked") or 0):
            return Pass()  # Nothing was changed since the check passed.
        # Like every call, the check is judged, approved and sandboxed: it runs code that a model wrote.
        result = await context.session.call_tool("shell", {"command": command, "seconds": SECONDS})
        if result.outcome == "error":
            output = result.text[-MAX_OUTPUT:]
            return Continue(f"You are not done: `{command}` fails. Fix what you changed.\n\n{output}")
        if result.outcome == "ok":
            store.save("checked", now)
        return Pass()  # It passed, or the user did not allow it to run.

    register(Guard("done", "stop", check, timeout_s=SECONDS + 10))
