"""Worktrees for agents: opened for a subagent when it begins, or entered by the main agent, and left or
settled later.

Trust, settings, rules and the transcript stay those of the session's own folder (docs/adr/0023).
`cockpit/workspace/worktrees` runs git.
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
from cockpit.core.agent.agent import Agent, Services
from cockpit.core.agent.working_folder import CallCheckpoints, WorkingFolder
from cockpit.core.transcript import session_store
from cockpit.errors import CockpitError
from cockpit.navigation.navigator import ManagedNavigator, NavigatorConfig
from cockpit.plugin.values import Language
from cockpit.plugin.workspace import AgentWorktree
from cockpit.protocol.events import Event, FileChanged
from cockpit.settings.file_io import write_atomically
from cockpit.workspace.checkpoints.store import CheckpointStore
from cockpit.workspace.local import LocalWorkspace
from cockpit.workspace.sandbox.values import parse_sandbox_use
from cockpit.workspace.worktrees.inventory import WorktreeLock
from cockpit.workspace.worktrees.values import Worktree, WorktreeOutcome

if TYPE_CHECKING:
    from cockpit.workspace.worktrees.git_client import GitClient

WORKTREES_FILE = "worktrees.json"
MAX_SUBJECT_LENGTH = 72


async def isolate_subagent(parent: Agent, id: str) -> WorkingFolder:
    """A worktree for the subagent `id`: a new one from the HEAD and uncommitted changes of `parent`, or
    the one it had before a restart. Raises `CockpitError`."""
    from cockpit.workspace.worktrees.git_client import open_repository
    from cockpit.workspace.worktrees.inventory import find_worktree
    from cockpit.workspace.worktrees.lifecycle import make_worktree

    if parent.is_planning:
        raise CockpitError("plan mode changes nothing, so it makes no worktree", "open it without isolation")
    git, repository = await open_repository(parent.workspace.processes, parent.root)
    branch = _load_branches(parent.services).get(id, "")
    tree = await find_worktree(git, repository, branch) if branch else None
    if tree is None:
        tree = await make_worktree(git, repository, id.removeprefix("main/"))
        _save_branch(parent.services, id, tree.branch)
    # No checkpoints: git records what a subagent does, and its branch is merged or dropped as a whole.
    return await open_worktree(parent, git, tree, repository.inside)


async def open_worktree(
    agent: Agent, git: "GitClient", tree: Worktree, inside: str, for_user: bool = False
) -> WorkingFolder:
    """A folder to work in for `tree`. Raises `CockpitError` when another agent works there.

    `for_user`: it replaces the session's folder, so checkpoints are taken and language servers run.
    """
    from cockpit.workspace.worktrees.package_links import find_links, is_intact

    lock = WorktreeLock(tree.path)
    if not await asyncio.to_thread(lock.take):
        raise CockpitError(f"the worktree {tree.name} is in use", "choose another name")
    linked = tuple(link.target for link in await find_links(git, tree.origin, tree.path) if is_intact(link))
    tree, services = replace(tree, linked=linked), agent.services
    root = await asyncio.to_thread(_matching_folder, tree.path, inside)
    sandbox = parse_sandbox_use(services.settings.text("sandbox.use", "auto"))
    workspace = LocalWorkspace(root, str(paths.state()), None, sandbox, tree.origin, linked)
    # Language servers would need their hundreds of megabytes again for every worktree.
    config = NavigatorConfig(
        workspace,
        services.catalog.all(Language),
        agent.state.trusted,
        str(paths.state()),
        str(paths.cache()),
        serves=for_user,
    )
    navigator = ManagedNavigator(config).navigator
    stored = paths.state() / "checkpoints" / session_store.session_folder(root).name
    checkpoints = CallCheckpoints(CheckpointStore(root, stored)) if for_user else None

    async def close() -> None:
        await workspace.close()
        await navigator.life.close()
        if checkpoints is not None:
            await asyncio.to_thread(checkpoints.store.close)
        lock.release()

    folder = WorkingFolder(root, workspace, navigator, tree.branch, checkpoints, tree=tree, close=close)
    services.worktrees.add(folder)
    return folder


async def settle_worktree(agent: Agent, task: str) -> WorktreeOutcome | None:
    """End a subagent's work in its worktree: commit it on its branch, or remove a worktree without
    changes. None when the agent has no worktree or nothing could be committed."""
    from cockpit.workspace.worktrees import lifecycle
    from cockpit.workspace.worktrees.git_client import open_repository

    folder, services = agent.folder, agent.services
    if folder.tree is None or agent.path == "main":
        return None
    try:
        # Git runs in the session's folder: the worktree may be gone by the end.
        git, _ = await open_repository(services.home.workspace.processes, folder.tree.origin)
        # What runs there ends first; with another task, the agent gets the same worktree again.
        await services.worktrees.close(folder)
        agent.folder = services.home
        outcome = await lifecycle.settle_worktree(git, folder.tree, _commit_message(task, agent.path))
    except (CockpitError, OSError) as error:
        text = f"the work of {agent.path} is not committed: {error}"
        agent.warn(text, f"it is in {folder.tree.path}", "worktrees")
        return None
    if not outcome.kept:
        _save_branch(services, agent.path, "")
    return outcome


def _commit_message(task: str, path: str) -> str:
    """The task in one line, and the subagent that did it."""
    words = " ".join(task.split()) or "Work of a subagent"
    subject = words if len(words) <= MAX_SUBJECT_LENGTH else f"{words[: MAX_SUBJECT_LENGTH - 3]}..."
    return f"{subject}\n\nBy cockpit's subagent {path}."


def describe_settled(outcome: WorktreeOutcome) -> str:
    """The note about its worktree for the opener of a subagent."""
    if not outcome.kept:
        return "[worktree: nothing was changed in it, so it was removed]"
    lines = f"{outcome.files} files +{outcome.added} -{outcome.removed}"
    notes = f"; {'; '.join(outcome.notes)}" if outcome.notes else ""
    return (
        f"[worktree: its work is on the branch {outcome.branch} ({lines}){notes}; "
        "merge_worktree brings it back]"
    )


def relocate_event(agent: Agent, event: Event) -> Event:
    """`event` with its paths relative to the folder the user looks at, which may be another worktree."""
    folder = _user_folder(agent)
    if agent.root == folder or not isinstance(event, FileChanged):
        return event
    prefix = f"{os.path.relpath(agent.root, folder)}/".replace(os.sep, "/")
    moved = f"{prefix}{event.moved_from}" if event.moved_from else ""
    return replace(event, path=f"{prefix}{event.path}", moved_from=moved)


def isolated_agents(services: Services) -> frozenset[str]:
    """The subagents of the session that work in their own worktrees."""
    return frozenset(_load_branches(services))


def _user_folder(agent: Agent) -> str:
    return agent.state.worktree or agent.services.root


def _matching_folder(path: str, inside: str) -> str:
    """The folder of the worktree that corresponds to the session's folder in its repository; created when no
    commit contains it. Raises `CockpitError` when it leads out of the worktree."""
    top = Path(path).resolve()
    root = (top / inside).resolve()
    if not root.is_relative_to(top):
        raise CockpitError(
            f"{inside} is a link out of the worktree in that commit", "commit the folder itself first"
        )
    root.mkdir(parents=True, exist_ok=True)
    return str(root)


def _load_branches(services: Services) -> dict[str, str]:
    """The branch of each subagent of the session that works in a worktree."""
    try:
        stored = json.loads(Path(services.storage, WORKTREES_FILE).read_bytes())
        return {str(id): str(branch) for id, branch in stored.items()}
    except (OSError, ValueError, AttributeError):
        return {}


def _save_branch(services: Services, id: str, branch: str) -> None:
    """Store the branch a subagent works on; an empty one removes it."""
    branches = {other: name for other, name in _load_branches(services).items() if other != id}
    if branch:
        branches[id] = branch
    with suppress(OSError):
        write_atomically(Path(services.storage, WORKTREES_FILE), json.dumps(branches).encode(), private=True)


class AgentWorktrees:
    """The `Worktrees` of one agent."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    @property
    def now(self) -> AgentWorktree | None:
        agent = self._agent
        if agent.folder.tree is None:
            return None
        return replace(describe_worktree(agent.folder), is_own=agent.root != _user_folder(agent))

    async def enter(
        self, name: str, *, ref: str = "", create: bool = True, carry: bool = True
    ) -> AgentWorktree:
        """Work in the worktree `name` from now on. When this raises `CockpitError` the agent stays where it
        was."""
        from cockpit.workspace.worktrees.git_client import open_repository
        from cockpit.workspace.worktrees.inventory import find_worktree
        from cockpit.workspace.worktrees.lifecycle import make_worktree

        agent, services = self._agent, self._agent.services
        _check_may_move(agent)
        if agent.folder.tree is not None:
            raise CockpitError(f"you are in the worktree {agent.folder.tree.name}", "leave it first")
        git, repository = await open_repository(services.home.workspace.processes, services.root)
        tree = await find_worktree(git, repository, name)
        if tree is None and not create:
            raise CockpitError(f"there is no worktree called {name}", "/worktree list shows them")
        if tree is None:
            tree = await make_worktree(git, repository, name, ref, carry)
        folder = await open_worktree(agent, git, tree, repository.inside, for_user=True)
        _use_folder(agent, folder)
        return describe_worktree(folder)

    async def leave(self, settling: Callable[[], Awaitable[None]] | None = None) -> AgentWorktree:
        """Go back to the session's folder. Raises `CockpitError` when the agent is in no worktree, or
        something still runs there."""
        agent, folder = self._agent, self._agent.folder
        _check_may_move(agent)
        if folder.tree is None:
            raise CockpitError("you are in no worktree", "enter_worktree makes one")
        if any(job.running for job in folder.workspace.processes.jobs()):
            raise CockpitError("a background job runs in the worktree", "wait for it or cancel it first")
        if any(subagent.phase in ("queued", "running") for subagent in agent.agents.all()):
            raise CockpitError("subagents still run", "wait for them or cancel them, then leave")
        if settling is not None:
            await settling()
        _use_folder(agent, agent.services.home)
        await agent.services.worktrees.close(folder)
        return describe_worktree(folder)


def describe_worktree(folder: WorkingFolder) -> AgentWorktree:
    """A worktree as plugins see it."""
    tree = folder.tree
    if tree is None:
        return AgentWorktree("", folder.branch, folder.root, folder.root, folder.root)
    return AgentWorktree(tree.name, tree.branch, folder.root, tree.path, tree.origin, tree.notes)


async def resume_worktree(agent: Agent, path: str) -> tuple[str, ...]:
    """Work again in the worktree the session was in when it ended. Returns a warning, when the agent stays in
    the session's own folder instead."""
    from cockpit.workspace.worktrees.git_client import open_repository
    from cockpit.workspace.worktrees.inventory import list_worktrees

    if not path:
        return ()
    services = agent.services
    try:
        git, repository = await open_repository(services.home.workspace.processes, services.root)
        trees = await list_worktrees(git, repository)
        tree = next((tree for tree in trees if Path(path).is_relative_to(tree.path)), None)
        if tree is None:
            raise CockpitError("the worktree no longer exists")
        folder = await open_worktree(agent, git, tree, repository.inside, for_user=True)
    except (CockpitError, OSError) as error:
        return (f"this session's worktree {path} cannot be used, so it works in {services.root}: {error}",)
    agent.folder = folder
    agent.state.set_worktree(folder.root, folder.branch)
    return ()


def _check_may_move(agent: Agent) -> None:
    if agent.path != "main":
        raise CockpitError(
            "a subagent stays where it was opened", "open a subagent with isolation worktree instead"
        )


def _use_folder(agent: Agent, folder: WorkingFolder) -> None:
    """Work there from the next call on, and announce it."""
    agent.folder = folder
    agent.state.set_worktree(folder.root if folder.tree is not None else "", folder.branch)
    agent.context.fixed.clear()
    agent.state.announce()
