"""`enter_worktree` and `leave_worktree`: a session works in a worktree of its repository, and comes back."""

import asyncio
import posixpath
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cockpit.builtin.worktrees.words import WORDS, titled
from cockpit.plugin.arguments import parse, schema, typed
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Alias, Arguments, Done, Part, Preview, Tool, ToolFailed
from cockpit.plugin.worktrees import Stand
from cockpit.protocol.messages import Json
from cockpit.workspace.worktrees.ending import commit, discard
from cockpit.workspace.worktrees.listing import find, row
from cockpit.workspace.worktrees.running import opened

MERGE = "merge_worktree"


@dataclass(frozen=True, slots=True)
class Enter:
    name: Annotated[str, "what it is for, in a word or two; one of that name is entered again"]
    ref: Annotated[str, "from this commit or branch; empty: what is checked out now"] = ""
    create: Annotated[bool, "false: only enter one that is there"] = True
    carry: Annotated[bool, "with what is not committed yet (without a ref)"] = True


@dataclass(frozen=True, slots=True)
class Leave:
    keep: Annotated[bool, "leave its work on its branch, for later"] = False
    merge: Annotated[bool, "bring its work into the branch of the session's folder (a person is asked)"] = (
        False
    )
    remove: Annotated[bool, "take worktree and branch away"] = False
    discard: Annotated[bool, "with remove: even with work that is nowhere else"] = False


async def enter(arguments: Enter, context: Context) -> Done:
    stand = await context.session.worktrees.enter(
        arguments.name, ref=arguments.ref, create=arguments.create, carry=arguments.carry
    )
    return Done(entered(stand), data={"root": stand.root, "branch": stand.branch, "name": stand.name})


def entered(stand: Stand) -> str:
    """Where the session is now, and what holds there."""
    lines = [
        f"You work in the worktree {stand.name} now: {stand.root}, on the branch {stand.branch}.",
        f"Name files relative to it. {stand.origin} itself is not changed from here.",
        *stand.notes,
        "leave_worktree (a person: /worktree leave) brings you back: keep, merge or remove.",
    ]
    return "\n".join(lines)


async def leave(arguments: Leave, context: Context) -> Done:
    trees = context.session.worktrees
    now = trees.now
    if now is None:
        raise ToolFailed("you are in no worktree; enter_worktree makes one")
    said: list[str] = []

    async def settling() -> None:
        said.append(await _settled(arguments, context, now))

    await trees.leave(settling)
    said.insert(0, f"You work in the session's folder again: {context.session.root}.")
    if arguments.merge and not said[-1].startswith("Nothing"):
        asked: dict[str, Json] = {"branch": now.branch, "remove": True}
        result = await context.session.call_tool(MERGE, asked)
        said.append(result.text)
        return Done("\n".join(said), result.blocks, is_error=result.outcome != "ok")
    return Done("\n".join(said))


async def _settled(arguments: Leave, context: Context, now: Stand) -> str:
    """What becomes of the worktree. Raises `ToolFailed` where nobody has said what its work is to be."""
    if not await asyncio.to_thread(Path(now.top).is_dir):
        return f"The folder of {now.name} is gone; its branch is {now.branch}."
    git, seen = await opened(context.workspace.processes, now.top)
    tree = await find(git, seen, now.branch)
    if tree is None:
        return f"{now.name} is no worktree of the repository any more."
    facts = await row(git, tree)
    if facts.is_empty:
        await discard(git.at(tree.origin), tree)
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
        await discard(git.at(tree.origin), tree)
        return f"{now.name} is gone, with its branch."
    notes = await commit(git.at(tree.path), tree, f"Work in {now.name}")
    return "\n".join((f"The work of {now.name} is on the branch {now.branch} ({work}).", *notes))


def theirs(arguments: Arguments) -> Arguments:
    """S0's and Claude's words for entering: `path`, `branch`, `new_branch`, `base`."""
    given = dict(arguments)
    path, branch = str(given.pop("path", "") or ""), str(given.pop("branch", "") or "")
    new, base = str(given.pop("new_branch", "") or ""), str(given.pop("base", "") or "")
    if not given.get("name"):
        given["name"] = posixpath.basename(path.replace("\\", "/").rstrip("/")) or new or branch or "work"
    if not given.get("ref") and (wanted := base or (branch if branch != given["name"] else "")):
        given["ref"] = wanted
    return given


def theirs_leaving(arguments: Arguments) -> Arguments:
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


async def entering(arguments: Arguments, context: Context) -> Preview:
    """Where the session would work, and with what."""
    wanted = parse(Enter, arguments)
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
        parameters=schema(Enter),
        capabilities=frozenset({"vcs.local", "fs.write"}),
        run=typed(Enter, enter),
        preview=entering,
        title=titled("enter worktree", "name"),
        deferred=True,
        aliases=(
            Alias("EnterWorktree", reshape=theirs),
            Alias("git_worktree_enter", reshape=theirs),
        ),
        keywords=WORDS,
        seconds=600.0,
    )


def leave_tool() -> Tool:
    return Tool(
        name="leave_worktree",
        kind="other",
        description="Work in the session's own folder again. Work that is nowhere else needs a word: "
        "keep, merge, or remove with discard.",
        parameters=schema(Leave),
        capabilities=frozenset({"vcs.local", "fs.write"}),
        run=typed(Leave, leave),
        title=titled("leave worktree"),
        deferred=True,
        aliases=(Alias("ExitWorktree", reshape=theirs_leaving),),
        keywords=WORDS,
        seconds=3600.0,
    )
