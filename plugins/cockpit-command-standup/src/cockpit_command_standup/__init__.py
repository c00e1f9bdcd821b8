"""`/standup`: what you did since yesterday, in three sentences for your team. Teaches `register_commands`.

A command answers in one of three ways: `Show` puts something on the screen and no model hears of it,
`AsPrompt` becomes a prompt, `Action` is done by the frontend.
"""

from cockpit.plugin import hookimpl
from cockpit.plugin.context import Context
from cockpit.plugin.values import AsPrompt, Command, CommandAnswer, Invoked, Register, Scope, Show
from cockpit.protocol.content import Text

GIT = ("git", "-c", "core.fsmonitor=false", "--no-pager")
ASKED = """Write my stand-up note from these commits: what is done, what is under way, what is in the way.
At most three short sentences, in the first person, no hashes, no file names unless they matter.

Since {since}, by {author}:
{commits}

Not committed yet:
{changed}"""


async def git(context: Context, *arguments: str) -> str:
    try:
        ended = await context.workspace.processes.run((*GIT, *arguments), seconds=10, separate_errors=True)
    except OSError:
        return ""
    return ended.output.strip() if ended.code == 0 else ""


async def standup(invoked: Invoked, context: Context) -> CommandAnswer:
    """`/standup [since]`: `since` in git's words: `monday`, `3.days`, `2026-11-20`."""
    since = invoked.text.strip() or str(context.settings.get("since", "yesterday"))
    author = await git(context, "config", "user.email")
    by = (f"--author={author}",) if author else ()
    commits = await git(context, "log", f"--since={since}", *by, "--no-merges", "--format=- %s (%ar)")
    changed = await git(context, "status", "--short", "--untracked-files=normal")
    if not commits and not changed:
        return Show((Text(f"Nothing since {since} in this folder. Say since when: /standup monday"),))
    return AsPrompt(
        ASKED.format(since=since, author=author or "anybody", commits=commits or "-", changed=changed or "-")
    )


@hookimpl
def register_commands(register: Register, scope: Scope) -> None:
    register(Command("standup", "A note for your team on what you did", standup, hint="[since]"))
