"""`enter_worktree` and `leave_worktree`: a session works in a worktree of its repository, and comes back.

`prune_worktrees`: what is old and holds nothing that is nowhere else goes.
"""

import asyncio
import posixpath
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from cockpit.builtin.tools.worktrees.summaries import KEYWORDS, describe_pruned, make_title
from cockpit.plugin.arguments import parse, schema, typed
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Alias, Arguments, Done, Part, Preview, Tool, ToolFailed
from cockpit.plugin.workspace import AgentWorktree
from cockpit.protocol.messages import Json
from cockpit.workspace.worktrees.git_client import open_repository
from cockpit.workspace.worktrees.inventory import MAX_AGE_HOURS, find_worktree, prune_worktrees, read_row
from cockpit.workspace.worktrees.lifecycle import commit_work, discard_worktree

MERGE_TOOL = "merge_worktree"


@dataclass(frozen=True, slots=True)
class EnterWorktree:
    name: Annotated[str, "what it is for, in a word or two; one of that name is entered again"]
    ref: Annotated[str, "from this commit or branch; empty: what is checked out now"] = ""
    create: Annotated[bool, "false: only enter one that is there"] = True
    carry: Annotated[bool, "with what is not committed yet (without a ref)"] = True


@dataclass(frozen=True, slots=True)
class LeaveWorktree:
    keep: Annotated[bool, "leave its work on its branch, for later"] = False
    merge: Annotated[bool, "bring its work into the branch of the session's folder (a person is asked)"] = (
        False
    )
    remove: Annotated[bool, "take worktree and branch away"] = False
    discard: Annotated[bool, "with remove: even with work that is nowhere else"] = False


async def enter_worktree(arguments: EnterWorktree, context: Context) -> Done:
    stand = await context.session.worktrees.enter(
        arguments.name, ref=arguments.ref, create=arguments.create, carry=arguments.carry
    )
    return Done(describe_entry(stand), data={"root": stand.root, "branch": stand.branch, "name": stand.name})


def describe_entry(stand: AgentWorktree) -> str:
    """Where the session is now, and what holds there."""
    lines = [
        f"You work in the worktree {stand.name} now: {stand.root}, on the branch {stand.branch}.",
        f"Name files relative to it. {stand.origin} itself is not changed from here.",
        *stand.notes,
        "leave_worktree (a person: /worktree leave) brings you back: keep, merge or remove.",
    ]
    return "\n".join(lines)


async def leave_worktree(arguments: LeaveWorktree, context: Context) -> Done:
    trees = context.session.worktrees
    now = trees.now
    if now is None:
        raise ToolFailed("you are in no worktree; enter_worktree makes one")
    said: list[str] = []

    async def settling() -> None:
        said.append(await _settle_work(arguments, context, now))

    await trees.leave(settling)
    said.insert(0, f"You work in the session's folder again: {context.session.root}.")
    if arguments.merge and not said[-1].startswith("Nothing"):
        asked: dict[str, Json] = {"branch": now.branch, "remove": True}
        result = await context.session.call_tool(MERGE_TOOL, asked)
        said.append(result.text)
        return Done("\n".join(said), result.blocks, is_error=result.outcome != "ok")
    return Done("\n".join(said))


async def _settle_work(arguments: LeaveWorktree, context: Context, now: AgentWorktree) -> str:
    """What becomes of the worktree. Raises `ToolFailed` where nobody has said what its work is to be."""
    if not await asyncio.to_thread(Path(now.top).is_dir):
        return f"The folder of {now.name} is gone; its branch is {now.branch}."
    git, seen = await open_repository(context.workspace.processes, now.top)
    tree = await find_worktree(git, seen, now.branch)
    if tree is None:
        return f"{now.name} is no worktree of the repository any more."
    facts = await read_row(git, tree)
    if facts.is_empty:
        await discard_worktree(git.at(tree.origin), tree)
        return f"Nothing was done in {now.name}: it is gone."
    work = f"{facts.files} files +{facts.added} -{facts.removed}"
    work += f", {facts.uncommitted} files not committed" if facts.uncommitted else ""
    unmerged = bool(facts.uncommitted) or not facts.is_merged
    if unmerged and not (arguments.keep or arguments.merge or (arguments.remove and arguments.discard)):
        raise ToolFailed(
            f"{now.name} holds work that is nowhere else ({work}): say `keep`, `merge`, or "
            "`remove` with `discard`"
        )
    if arguments.remove and not arguments.merge:
        await discard_worktree(git.at(tree.origin), tree)
        return f"{now.name} is gone, with its branch."
    notes = await commit_work(git.at(tree.path), tree, f"Work in {now.name}")
    return "\n".join((f"The work of {now.name} is on the branch {now.branch} ({work}).", *notes))


def normalize_enter(arguments: Arguments) -> Arguments:
    """S0's and Claude's words for entering: `path`, `branch`, `new_branch`, `base`."""
    given = dict(arguments)
    path, branch = str(given.pop("path", "") or ""), str(given.pop("branch", "") or "")
    new, base = str(given.pop("new_branch", "") or ""), str(given.pop("base", "") or "")
    if not given.get("name"):
        given["name"] = posixpath.basename(path.replace("\\", "/").rstrip("/")) or new or branch or "work"
    if not given.get("ref") and (wanted := base or (branch if branch != given["name"] else "")):
        given["ref"] = wanted
    return given


def normalize_leave(arguments: Arguments) -> Arguments:
    """S0's and Claude's words for leaving: `cleanup`, `action`, `discard_changes`."""
    given = dict(arguments)
    action, cleanup = str(given.pop("action", "") or ""), given.pop("cleanup", None)
    if (discards := given.pop("discard_changes", None)) is not None:
        given["discard"] = discards
    if action in ("keep", "remove", "merge"):
        given[action] = True
    elif cleanup is not None and "remove" not in given:
        given["remove"] = cleanup
    return given


async def preview_enter(arguments: Arguments, context: Context) -> Preview:
    """Where the session would work, and with what."""
    wanted = parse(EnterWorktree, arguments)
    begins = wanted.ref or ("HEAD, with what is not committed yet" if wanted.carry else "HEAD")
    detail = (
        f"a folder and a branch of its own under .cockpit/worktrees, from {begins}; your tree stays as it is"
    )
    return Preview(f"work in the worktree {wanted.name}", (Part("enter", wanted.name, detail),))


def enter_tool() -> Tool:
    return Tool(
        name="enter_worktree",
        kind="edit",
        description="Work in a git worktree of this repository: its own folder and branch, with what is "
        "not committed yet. All tools work there until leave_worktree.",
        parameters=schema(EnterWorktree),
        capabilities=frozenset({"vcs.local", "fs.write"}),
        run=typed(EnterWorktree, enter_worktree),
        preview=preview_enter,
        title=make_title("enter worktree", "name"),
        deferred=True,
        aliases=(
            Alias("EnterWorktree", reshape=normalize_enter),
            Alias("git_worktree_enter", reshape=normalize_enter),
        ),
        keywords=KEYWORDS,
        seconds=600.0,
    )


def leave_tool() -> Tool:
    return Tool(
        name="leave_worktree",
        kind="other",
        description="Work in the session's own folder again. Work that is nowhere else needs a word: "
        "keep, merge, or remove with discard.",
        parameters=schema(LeaveWorktree),
        capabilities=frozenset({"vcs.local", "fs.write"}),
        run=typed(LeaveWorktree, leave_worktree),
        title=make_title("leave worktree"),
        deferred=True,
        aliases=(Alias("ExitWorktree", reshape=normalize_leave),),
        keywords=KEYWORDS,
        seconds=3600.0,
    )


@dataclass(frozen=True, slots=True)
class PruneWorktrees:
    max_age_hours: Annotated[float, "only those that nobody used for so long"] = MAX_AGE_HOURS
    dry_run: Annotated[bool, "only say what would go"] = False
    unmerged: Annotated[bool, "also work that is nowhere else: it is lost"] = False
    name: Annotated[str, "only this worktree or branch"] = ""


async def preview_prune(arguments: Arguments, context: Context) -> Preview:
    wanted = parse(PruneWorktrees, arguments)
    if wanted.dry_run:
        return Preview(title="prune worktrees (only a look)")
    said = await _prune(wanted, context, dry_run=True)
    return Preview("prune worktrees", (Part("prune", "prune worktrees", said.text),))


async def run_prune(arguments: PruneWorktrees, context: Context) -> Done:
    return await _prune(arguments, context, arguments.dry_run)


async def _prune(wanted: PruneWorktrees, context: Context, dry_run: bool) -> Done:
    git, seen = await open_repository(context.workspace.processes, context.workspace.root)
    found = await prune_worktrees(git, seen, wanted.max_age_hours, dry_run, wanted.unmerged, wanted.name)
    return Done(describe_pruned(found, dry_run), data=[asdict(one) for one in found])


def prune_tool() -> Tool:
    return Tool(
        name="prune_worktrees",
        kind="delete",
        description="Take away old worktrees whose work is merged, or that hold none.",
        parameters=schema(PruneWorktrees),
        capabilities=frozenset({"vcs.local", "fs.delete"}),
        run=typed(PruneWorktrees, run_prune),
        title=make_title("prune worktrees", "name"),
        preview=preview_prune,
        deferred=True,
        aliases=(Alias("worktree_prune"), Alias("WorktreePrune")),
        keywords=(*KEYWORDS, "clean"),
        seconds=600.0,
    )
