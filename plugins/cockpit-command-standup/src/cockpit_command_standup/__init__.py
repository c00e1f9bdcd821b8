"""`/standup`: a stand-up note on your work since yesterday. An example of `register_commands`.

A command returns one of three values: `Show` is displayed and never sent to a model, `AsPrompt` becomes a
prompt, `Action` is carried out by the frontend.
"""

from cockpit.plugin import hookimpl
from cockpit.plugin.context import Context
from cockpit.plugin.values import AsPrompt, Command, CommandAnswer, Invoked, Register, Scope, Show
from cockpit.protocol.content import Text

GIT = ("git", "-c", "core.fsmonitor=false", "--no-pager")
PROMPT = """Write my stand-up note from these commits: what is done, what is in progress, what is blocked.
At most three short sentences, in the first person, no hashes, no file names unless they matter.

Since {since}, by {author}:
{commits}

Not committed yet:
{changed}"""


async def git(context: Context, *arguments: str) -> str:
    try:
        process = await context.workspace.processes.run((*GIT, *arguments), seconds=10, separate_errors=True)
    except OSError:
        return ""
    return process.output.strip() if process.code == 0 else ""


async def standup(invoked: Invoked, context: Context) -> CommandAnswer:
    """`/standup [since]`: `since` is any date that git understands: `monday`, `3.days`, `2026-11-20`."""
    since = invoked.text.strip() or str(context.settings.get("since", "yesterday"))
    author = await git(context, "config", "user.email")
    filters = (f"--author={author}",) if author else ()
    commits = await git(context, "log", f"--since={since}", *filters, "--no-merges", "--format=- %s (%ar)")
    changed = await git(context, "status", "--short", "--untracked-files=normal")
    if not commits and not changed:
        return Show((Text(f"Nothing since {since} in this folder. Name another date: /standup monday"),))
    return AsPrompt(
        PROMPT.format(since=since, author=author or "anybody", commits=commits or "-", changed=changed or "-")
    )


@hookimpl
def register_commands(register: Register, scope: Scope) -> None:
    register(Command("standup", "Write a stand-up note on your recent work", standup, hint="[since]"))
