"""The verdict on calls about worktrees: a look is free, and what brings work into a person's branch or throws
work away is theirs to say, in every mode.

`/worktree`: a person's enter, leave, list, merge and prune.

Worktrees: entered and left by the session, merged back, pruned; and the verdict on each. The git of it is
`cockpit.workspace.worktrees`' part.
"""

from cockpit.builtin.tools.worktrees import lifecycle, merge
from cockpit.builtin.tools.worktrees.lifecycle import describe_entry
from cockpit.builtin.tools.worktrees.summaries import describe_worktrees
from cockpit.errors import CockpitError
from cockpit.plugin import hookimpl
from cockpit.plugin.context import Context
from cockpit.plugin.safety import Decider, Judged, Verdict
from cockpit.plugin.values import Command, CommandAnswer, Invoked, Register, Scope, Show
from cockpit.protocol.content import Text
from cockpit.protocol.messages import Json
from cockpit.workspace.worktrees.git_client import open_repository
from cockpit.workspace.worktrees.inventory import list_rows


async def judge_worktree_call(judged: Judged) -> Verdict | None:
    arguments, caps = judged.call.arguments, judged.tool.capabilities
    match judged.tool.name:
        case "merge_worktree" | "prune_worktrees" if arguments.get("dry_run") is True:
            return Verdict("allow", capabilities=frozenset({"fs.read"}))
        case "merge_worktree":
            reason = "it brings the work of a worktree into your branch"
            return Verdict("ask", reason, 40, caps, ("worktree.merge",), may_remember=False, person_only=True)
        case "leave_worktree" if arguments.get("discard") is True:
            reason = "it throws the work of a worktree away"
            return Verdict(
                "ask", reason, 60, caps, ("worktree.discard",), may_remember=False, person_only=True
            )
        case "leave_worktree":
            return Verdict("allow", capabilities=caps)
        case "prune_worktrees":
            lost = arguments.get("unmerged") is True
            reason = "it throws work away that is nowhere else" if lost else "it takes worktrees away"
            risk = 60 if lost else 30
            return Verdict(
                "ask", reason, risk, caps, ("worktree.prune",), may_remember=False, person_only=lost
            )
        case "enter_worktree":
            return Verdict("ask", "it makes a worktree and works there", 20, caps, ("worktree.enter",))
        case _:
            return None


USAGE = "[list|enter NAME [REF]|leave [keep|merge|remove]|merge NAME|prune [all]]"


def worktree_command() -> Command:
    return Command(
        "worktree", "Work in a worktree, and bring its work back", _run_worktree, USAGE, ("worktrees",)
    )


async def _run_worktree(invoked: Invoked, context: Context) -> CommandAnswer:
    words = invoked.text.split()
    match words:
        case [] | ["list"]:
            return _show_text(await _list_worktrees(context))
        case ["enter", name]:
            return _show_text(describe_entry(await context.session.worktrees.enter(name)))
        case ["enter", name, ref]:
            return _show_text(describe_entry(await context.session.worktrees.enter(name, ref=ref)))
        case ["leave"]:
            return await _call_tool(context, "leave_worktree", {})
        case ["leave", "keep" | "merge" | "remove" as what]:
            return await _call_tool(context, "leave_worktree", {what: True})
        case ["leave", "discard"]:
            return await _call_tool(context, "leave_worktree", {"remove": True, "discard": True})
        case ["merge", name]:
            return await _call_tool(context, "merge_worktree", {"branch": name})
        case ["merge", name, "dry-run"]:
            return await _call_tool(context, "merge_worktree", {"branch": name, "dry_run": True})
        case ["prune"]:
            return await _call_tool(context, "prune_worktrees", {})
        case ["prune", "all"]:
            return await _call_tool(context, "prune_worktrees", {"max_age_hours": 0})
        case ["prune", name]:
            asked: dict[str, Json] = {"name": name, "max_age_hours": 0}
            return await _call_tool(context, "prune_worktrees", asked)
        case _:
            raise CockpitError(f"/worktree {invoked.text}: that is not understood", f"/worktree {USAGE}")


async def _list_worktrees(context: Context) -> str:
    git, seen = await open_repository(context.workspace.processes, context.workspace.root)
    now = context.session.worktrees.now
    here = f"\nyou are in {now.name}: {now.root}" if now is not None else ""
    return f"{describe_worktrees(await list_rows(git, seen))}{here}"


async def _call_tool(context: Context, tool: str, arguments: dict[str, Json]) -> CommandAnswer:
    """Through the order of every call: what a merge changes is shown before, and can be rewound."""
    result = await context.session.call_tool(tool, arguments)
    return _show_text(result.text)


def _show_text(text: str) -> Show:
    return Show((Text(text),))


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    for tool in (lifecycle.enter_tool(), lifecycle.leave_tool(), merge.merge_tool(), lifecycle.prune_tool()):
        register(tool)


@hookimpl
def register_commands(register: Register, scope: Scope) -> None:
    register(worktree_command())


@hookimpl
def register_deciders(register: Register, scope: Scope) -> None:
    register(Decider("worktrees", judge_worktree_call))
