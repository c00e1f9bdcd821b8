"""Worktrees: tools to enter, leave, merge and prune them, `/worktree`, and the verdicts on these calls.

Start with `lifecycle.py` (enter, leave, prune) and `merge.py`. The git work itself is done by
`cockpit.workspace.worktrees`.
"""

from cockpit.builtin.tools.worktrees import lifecycle, merge
from cockpit.builtin.tools.worktrees.lifecycle import describe_entry, describe_worktrees
from cockpit.errors import CockpitError
from cockpit.plugin import hookimpl
from cockpit.plugin.context import Context
from cockpit.plugin.safety import Decider, Judged, Verdict
from cockpit.plugin.values import Command, CommandAnswer, Invoked, Register, Scope, Show
from cockpit.protocol.content import Text
from cockpit.protocol.messages import Json
from cockpit.workspace.worktrees.git_client import open_repository
from cockpit.workspace.worktrees.inventory import list_rows

USAGE = "[list|enter NAME [REF]|leave [keep|merge|remove]|merge NAME|prune [all]]"


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    for tool in (lifecycle.enter_tool(), lifecycle.leave_tool(), merge.merge_tool(), lifecycle.prune_tool()):
        register(tool)


@hookimpl
def register_commands(register: Register, scope: Scope) -> None:
    about = "Work in a worktree, and merge its work back"
    register(Command("worktree", about, _run_worktree, USAGE, ("worktrees",)))


@hookimpl
def register_deciders(register: Register, scope: Scope) -> None:
    register(Decider("worktrees", judge_worktree_call))


async def judge_worktree_call(judged: Judged) -> Verdict | None:
    """Judge a call of a worktree tool. Only the user may allow a merge or the loss of work, in every mode."""
    arguments, capabilities = judged.call.arguments, judged.tool.capabilities
    match judged.tool.name:
        case "merge_worktree" | "prune_worktrees" if arguments.get("dry_run") is True:
            return Verdict("allow", capabilities=frozenset({"fs.read"}))
        case "merge_worktree":
            reason, risk, rule, user_only = "it merges a worktree into your branch", 40, "merge", True
        case "leave_worktree" if arguments.get("discard") is True:
            reason, risk, rule, user_only = "it discards the work in a worktree", 60, "discard", True
        case "leave_worktree":
            return Verdict("allow", capabilities=capabilities)
        case "prune_worktrees" if arguments.get("unmerged") is True:
            reason, risk, rule, user_only = "it discards work that exists nowhere else", 60, "prune", True
        case "prune_worktrees":
            reason, risk, rule, user_only = "it removes worktrees", 30, "prune", False
        case "enter_worktree":
            reason = "it creates a worktree and works there"
            return Verdict("ask", reason, 20, capabilities, ("worktree.enter",))
        case _:
            return None
    rules = (f"worktree.{rule}",)
    return Verdict("ask", reason, risk, capabilities, rules, may_remember=False, user_only=user_only)


async def _run_worktree(invoked: Invoked, context: Context) -> CommandAnswer:
    match invoked.text.split():
        case [] | ["list"]:
            return _show_text(await _list_worktrees(context))
        case ["enter", name, *rest] if len(rest) < 2:
            entry = await context.session.worktrees.enter(name, ref="".join(rest))
            return _show_text(describe_entry(entry))
        case ["leave"]:
            return await _call_tool(context, "leave_worktree", {})
        case ["leave", "keep" | "merge" | "remove" as action]:
            return await _call_tool(context, "leave_worktree", {action: True})
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
            return await _call_tool(context, "prune_worktrees", {"name": name, "max_age_hours": 0})
        case _:
            raise CockpitError(f"/worktree does not understand '{invoked.text}'", f"/worktree {USAGE}")


async def _list_worktrees(context: Context) -> str:
    git, repository = await open_repository(context.workspace.processes, context.workspace.root)
    listed = describe_worktrees(await list_rows(git, repository))
    current = context.session.worktrees.now
    return listed if current is None else f"{listed}\nyou are in {current.name}: {current.root}"


async def _call_tool(context: Context, tool: str, arguments: dict[str, Json]) -> CommandAnswer:
    """Call the tool like any other call, so that a merge is previewed and can be rewound."""
    result = await context.session.call_tool(tool, arguments)
    return _show_text(result.text)


def _show_text(text: str) -> Show:
    return Show((Text(text),))
