"""A worktree for an agent: where its tools work in place of the session's folder. Made for a subagent when it
begins, kept over a restart, settled when it ends. Git is `workspace/worktrees`' part.

The worktree that a session's main agent stands in: entered, left, and taken up again when the session is.

Trust, settings, rules and the transcript stay those of the session's own folder (docs/adr/0023).
"""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cockpit import paths
from cockpit.core.agent.agent import Agent, Host, WorkingFolder
from cockpit.core.agent.working_folder import CallCheckpoints
from cockpit.core.transcript import session_store
from cockpit.errors import CockpitError
from cockpit.navigation.navigator import ManagedNavigator, NavigatorConfig
from cockpit.plugin.values import Language
from cockpit.plugin.workspace import AgentWorktree
from cockpit.protocol.events import Event, FileChanged, Warned
from cockpit.settings.file_io import write_atomically
from cockpit.workspace.checkpoints.store import CheckpointStore
from cockpit.workspace.local import LocalWorkspace
from cockpit.workspace.sandbox.values import parse_sandbox_settings
from cockpit.workspace.worktrees.inventory import WorktreeLock
from cockpit.workspace.worktrees.values import Worktree, WorktreeOutcome

if TYPE_CHECKING:
    from cockpit.workspace.worktrees.git_client import GitClient


WORKTREES_FILE = "worktrees.json"
MAX_SUBJECT_LENGTH = 72


async def isolate_subagent(parent: Agent, id: str) -> WorkingFolder:
    """A worktree for the agent `id`, from the HEAD that `parent` works on, with what is not committed there;
    or the one that it had before a restart. Raises `CockpitError`."""
    from cockpit.workspace.worktrees.git_client import open_repository
    from cockpit.workspace.worktrees.inventory import find_worktree
    from cockpit.workspace.worktrees.lifecycle import make_worktree

    if parent.is_planning:
        raise CockpitError("plan mode changes nothing, so it makes no worktree", "open it without isolation")
    git, seen = await open_repository(parent.workspace.processes, parent.root)
    kept = _load_branches(parent.host).get(id, "")
    tree = await find_worktree(git, seen, kept) if kept else None
    if tree is None:
        name = id.removeprefix("main/")
        tree = await make_worktree(git, seen, name)
        _save_branch(parent.host, id, tree.branch)
    # Git keeps the history of what a subagent does, and its branch goes as a whole: no checkpoints.
    return await open_worktree(parent, git, tree, seen.inside)


async def open_worktree(
    agent: Agent, git: "GitClient", tree: Worktree, inside: str, of_person: bool = False
) -> WorkingFolder:
    """All that works in `tree`. `of_person`: it stands in place of the session's folder, so that checkpoints
    are kept and language servers run; for a subagent neither pays. Raises `CockpitError` when another works
    there."""
    from cockpit.workspace.worktrees.package_links import find_links, is_intact

    lock = WorktreeLock(tree.path)
    if not await asyncio.to_thread(lock.take):
        raise CockpitError(f"somebody works in the worktree {tree.name} now", "choose another name")
    linked = tuple(one.target for one in await find_links(git, tree.origin, tree.path) if is_intact(one))
    tree, host = replace(tree, linked=linked), agent.host
    root = await asyncio.to_thread(_matching_folder, tree.path, inside)
    use = parse_sandbox_settings(host.settings.text("sandbox.use", "auto"))
    workspace = LocalWorkspace(root, str(paths.state()), None, use, tree.origin, linked)
    folders = str(paths.state()), str(paths.cache())
    # Servers would take their hundreds of megabytes again for every worktree.
    place = NavigatorConfig(workspace, host.catalog.all(Language), host.trusted, *folders, serves=of_person)
    navigator = ManagedNavigator(place).navigator
    kept = paths.state() / "checkpoints" / session_store.session_folder(root).name
    checkpoints = CallCheckpoints(CheckpointStore(root, kept)) if of_person else None

    async def close() -> None:
        await workspace.close()
        await navigator.life.close()
        if checkpoints is not None:
            await asyncio.to_thread(checkpoints.shadow.close)
        lock.release()

    standing = WorkingFolder(root, workspace, navigator, tree.branch, checkpoints, tree=tree, close=close)
    host.standings.append(standing)
    return standing


async def settle_worktree(agent: Agent, message: str) -> WorktreeOutcome | None:
    """The end of a task in a worktree of its own: what was done is committed on its branch, and a worktree in
    which nothing was done goes. None for an agent that has none."""
    from cockpit.workspace.worktrees.git_client import open_repository
    from cockpit.workspace.worktrees.lifecycle import settle_worktree as settled

    standing = agent.standing
    if standing is None or standing.tree is None or agent.path == "main":
        return None
    tree = standing.tree
    try:
        # Nothing of the worktree's own: it may be gone by the time this ends.
        git, _ = await open_repository(agent.host.workspace.processes, tree.origin)
        # What runs there ends first; told something more, the agent is given the same worktree again.
        await _close_worktree(agent, standing)
        found = await settled(git, tree, _commit_message(message, agent.path))
    except (CockpitError, OSError) as error:
        text = f"what {agent.path} did is not committed: {error}"
        agent.host.log.emit(Warned(text, f"it lies in {tree.path}", "worktrees"), agent.path)
        return None
    if not found.kept:
        _save_branch(agent.host, agent.path, "")
    return found


def _commit_message(message: str, path: str) -> str:
    """A commit's message: the task in one line, and whose work it is."""
    words = " ".join(message.split()) or "Work of a subagent"
    line = words if len(words) <= MAX_SUBJECT_LENGTH else f"{words[: MAX_SUBJECT_LENGTH - 3]}..."
    return f"{line}\n\nBy cockpit's subagent {path}."


def describe_settled(found: WorktreeOutcome) -> str:
    """What a parent is told of a worktree whose agent has ended."""
    if not found.kept:
        return "[worktree: nothing was changed in it, so it is gone]"
    lines = f"{found.files} files +{found.added} -{found.removed}"
    more = f"; {'; '.join(found.notes)}" if found.notes else ""
    return (
        f"[worktree: its work is on the branch {found.branch} ({lines}){more}; merge_worktree brings it back]"
    )


async def close_worktrees(host: Host) -> None:
    """End what runs in worktrees; they stay."""
    await asyncio.gather(*(one.close() for one in host.standings if one.close is not None))
    host.standings.clear()


def relocate_event(agent: Agent, event: Event) -> Event:
    """`event` with its path as the person sees it, who may stand elsewhere."""
    prefix = _path_prefix(agent)
    if not prefix or not isinstance(event, FileChanged):
        return event
    moved = f"{prefix}{event.moved_from}" if event.moved_from else ""
    return replace(event, path=f"{prefix}{event.path}", moved_from=moved)


def isolated_agents(host: Host) -> frozenset[str]:
    """The agents of the session whose work lies in worktrees of their own."""
    return frozenset(_load_branches(host))


def _path_prefix(agent: Agent) -> str:
    """What leads from where the person looks to where the agent stands, ending in `/`; "" for the same."""
    here = agent.host.folder or agent.host.root
    return "" if agent.root == here else f"{os.path.relpath(agent.root, here)}/".replace(os.sep, "/")


def _matching_folder(path: str, inside: str) -> str:
    """The same folder of the worktree as the session's is of its repository. One that no commit holds is
    made. Raises `CockpitError` where it leads out of the worktree."""
    top = Path(path).resolve()
    root = (top / inside).resolve()
    if not root.is_relative_to(top):
        raise CockpitError(
            f"{inside} is a link out of the worktree in that commit", "commit the folder first"
        )
    root.mkdir(parents=True, exist_ok=True)
    return str(root)


async def _close_worktree(agent: Agent, standing: WorkingFolder) -> None:
    if standing.close is not None:
        await standing.close()
    with suppress(ValueError):
        agent.host.standings.remove(standing)
    agent.standing = None


def _load_branches(host: Host) -> dict[str, str]:
    try:
        return {
            str(id): str(branch)
            for id, branch in json.loads(Path(host.state, WORKTREES_FILE).read_bytes()).items()
        }
    except (OSError, ValueError, AttributeError):
        return {}


def _save_branch(host: Host, id: str, branch: str) -> None:
    """Which branch an agent of this session works on; "" forgets it."""
    known = {one: name for one, name in _load_branches(host).items() if one != id}
    if branch:
        known[id] = branch
    with suppress(OSError):
        write_atomically(Path(host.state, WORKTREES_FILE), json.dumps(known).encode(), private=True)


class AgentWorktrees:
    """The `Worktrees` of one agent."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    @property
    def now(self) -> AgentWorktree | None:
        agent, standing = self._agent, self._agent.standing
        if standing is None:
            return None
        return replace(
            describe_worktree(standing), is_own=agent.root != (agent.host.folder or agent.host.root)
        )

    async def enter(
        self, name: str, *, ref: str = "", create: bool = True, carry: bool = True
    ) -> AgentWorktree:
        """Raises `CockpitError`; the agent stands where it stood then."""
        from cockpit.workspace.worktrees.git_client import open_repository
        from cockpit.workspace.worktrees.inventory import find_worktree
        from cockpit.workspace.worktrees.lifecycle import make_worktree

        agent = self._agent
        _check_may_move(agent)
        if agent.standing is not None:
            raise CockpitError(
                f"you are in the worktree {describe_worktree(agent.standing).name}", "leave it first"
            )
        git, seen = await open_repository(agent.host.workspace.processes, agent.host.root)
        tree = await find_worktree(git, seen, name)
        if tree is None and not create:
            raise CockpitError(f"there is no worktree called {name}", "/worktree list shows them")
        if tree is None:
            tree = await make_worktree(git, seen, name, ref, carry)
        standing = await open_worktree(agent, git, tree, seen.inside, of_person=True)
        _set_folder(agent, standing)
        return describe_worktree(standing)

    async def leave(self, settling: Callable[[], Awaitable[None]] | None = None) -> AgentWorktree:
        """Raises `CockpitError` where it is in none, or something still runs there."""
        agent, standing = self._agent, self._agent.standing
        _check_may_move(agent)
        if standing is None:
            raise CockpitError("you are in no worktree", "enter_worktree makes one")
        if any(job.running for job in standing.workspace.processes.jobs()):
            raise CockpitError("a background job runs in the worktree", "wait for it or cancel it first")
        if any(one.phase in ("queued", "running") for one in agent.agents.all()):
            raise CockpitError("subagents are at work", "wait for them or cancel them, then leave")
        left = describe_worktree(standing)
        if settling is not None:
            await settling()
        _set_folder(agent, None)
        with suppress(ValueError):
            agent.host.standings.remove(standing)
        if standing.close is not None:
            await standing.close()
        return left


def describe_worktree(standing: WorkingFolder) -> AgentWorktree:
    """Where somebody stands, for plugins."""
    tree = standing.tree
    if tree is None:
        return AgentWorktree("", standing.branch, standing.root, standing.root, standing.root)
    return AgentWorktree(tree.name, tree.branch, standing.root, tree.path, tree.origin, tree.notes)


async def resume_worktree(agent: Agent, folder: str) -> tuple[str, ...]:
    """Stand where the session stood when it ended. What is in the way, in words: it is in its own folder
    then."""
    from cockpit.workspace.worktrees.git_client import open_repository
    from cockpit.workspace.worktrees.inventory import list_worktrees

    if not folder:
        return ()
    try:
        git, seen = await open_repository(agent.host.workspace.processes, agent.host.root)
        found = [one for one in await list_worktrees(git, seen) if Path(folder).is_relative_to(one.path)]
        if not found:
            raise CockpitError("it is gone")
        standing = await open_worktree(agent, git, found[0], seen.inside, of_person=True)
    except (CockpitError, OSError) as error:
        return (f"this session was in the worktree {folder}, and is in {agent.host.root} now: {error}",)
    agent.standing, agent.host.folder = standing, standing.root
    return ()


def _check_may_move(agent: Agent) -> None:
    if agent.path != "main":
        raise CockpitError(
            "a subagent stays where it was opened", "have it opened with isolation worktree instead"
        )


def _set_folder(agent: Agent, standing: WorkingFolder | None) -> None:
    """Stand there from the next call on; prompts and screens say so."""
    agent.standing = standing
    agent.host.folder = standing.root if standing is not None else ""
    agent.fixed_context.clear()
    agent.host.use_mode(agent.host.mode)
