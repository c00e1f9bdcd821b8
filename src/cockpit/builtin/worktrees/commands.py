"""`/worktree`: a person's enter, leave, list, merge and prune."""

from cockpit.builtin.worktrees.entering import entered
from cockpit.builtin.worktrees.words import rows_words
from cockpit.errors import CockpitError
from cockpit.plugin.context import Context
from cockpit.plugin.values import Command, CommandAnswer, Invoked, Show
from cockpit.protocol.content import Text
from cockpit.protocol.messages import Json
from cockpit.workspace.worktrees.listing import rows
from cockpit.workspace.worktrees.running import opened

HINT = "[list|enter NAME [REF]|leave [keep|merge|remove]|merge NAME|prune [all]]"


def command() -> Command:
    return Command("worktree", "Work in a worktree, and bring its work back", run, HINT, ("worktrees",))


async def run(invoked: Invoked, context: Context) -> CommandAnswer:
    words = invoked.text.split()
    match words:
        case [] | ["list"]:
            return _shown(await _listed(context))
        case ["enter", name]:
            return _shown(entered(await context.session.worktrees.enter(name)))
        case ["enter", name, ref]:
            return _shown(entered(await context.session.worktrees.enter(name, ref=ref)))
        case ["leave"]:
            return await _called(context, "leave_worktree", {})
        case ["leave", "keep" | "merge" | "remove" as what]:
            return await _called(context, "leave_worktree", {what: True})
        case ["leave", "discard"]:
            return await _called(context, "leave_worktree", {"remove": True, "discard": True})
        case ["merge", name]:
            return await _called(context, "merge_worktree", {"branch": name})
        case ["merge", name, "dry-run"]:
            return await _called(context, "merge_worktree", {"branch": name, "dry_run": True})
        case ["prune"]:
            return await _called(context, "prune_worktrees", {})
        case ["prune", "all"]:
            return await _called(context, "prune_worktrees", {"max_age_hours": 0})
        case ["prune", name]:
            asked: dict[str, Json] = {"name": name, "max_age_hours": 0}
            return await _called(context, "prune_worktrees", asked)
        case _:
            raise CockpitError(f"/worktree {invoked.text}: that is not understood", f"/worktree {HINT}")


async def _listed(context: Context) -> str:
    git, seen = await opened(context.workspace.processes, context.workspace.root)
    now = context.session.worktrees.now
    here = f"\nyou are in {now.name}: {now.root}" if now is not None else ""
    return f"{rows_words(await rows(git, seen))}{here}"


async def _called(context: Context, tool: str, arguments: dict[str, Json]) -> CommandAnswer:
    """Through the order of every call: what a merge changes is shown before, and can be rewound."""
    result = await context.session.call_tool(tool, arguments)
    return _shown(result.text)


def _shown(text: str) -> Show:
    return Show((Text(text),))
