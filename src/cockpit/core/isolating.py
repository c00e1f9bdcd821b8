"""A worktree for an agent: where its tools work in place of the session's folder. Made for a subagent when it
begins, kept over a restart, settled when it ends. Git is `workspace/worktrees`' part.
"""

import asyncio
import json
import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cockpit import paths
from cockpit.core import store
from cockpit.core.agent import Agent, Host, Standing
from cockpit.core.checkpointing import Checkpointing
from cockpit.errors import CockpitError
from cockpit.navigation.open import Opened, Root
from cockpit.plugin.values import Language
from cockpit.protocol.events import Event, FileChanged, Warned
from cockpit.settings.atomic import write_atomically
from cockpit.workspace.checkpoints.shadow import Shadow
from cockpit.workspace.local import LocalWorkspace
from cockpit.workspace.sandbox.values import sandbox_settings
from cockpit.workspace.worktrees.using import InUse
from cockpit.workspace.worktrees.values import Settled, Worktree

if TYPE_CHECKING:
    from cockpit.workspace.worktrees.running import Git

FILE = "worktrees.json"
SUBJECT = 72


async def isolate(parent: Agent, id: str) -> Standing:
    """A worktree for the agent `id`, from the HEAD that `parent` works on, with what is not committed there;
    or the one that it had before a restart. Raises `CockpitError`."""
    from cockpit.workspace.worktrees.listing import find
    from cockpit.workspace.worktrees.making import make
    from cockpit.workspace.worktrees.running import opened

    if parent.is_planning:
        raise CockpitError("plan mode changes nothing, so it makes no worktree", "open it without isolation")
    git, seen = await opened(parent.workspace.processes, parent.root)
    kept = _load(parent.host).get(id, "")
    tree = await find(git, seen, kept) if kept else None
    if tree is None:
        name = id.removeprefix("main/")
        tree = await make(git, seen, name)
        _save(parent.host, id, tree.branch)
    # Git keeps the history of what a subagent does, and its branch goes as a whole: no checkpoints.
    return await stand(parent, git, tree, seen.inside)


async def stand(agent: Agent, git: "Git", tree: Worktree, inside: str, of_person: bool = False) -> Standing:
    """All that works in `tree`. `of_person`: it stands in place of the session's folder, so that checkpoints
    are kept and language servers run; for a subagent neither pays. Raises `CockpitError` when another works
    there."""
    from cockpit.workspace.worktrees.linking import leads_to, links

    lock = InUse(tree.path)
    if not await asyncio.to_thread(lock.take):
        raise CockpitError(f"somebody works in the worktree {tree.name} now", "choose another name")
    linked = tuple(one.target for one in await links(git, tree.origin, tree.path) if leads_to(one))
    tree, host = replace(tree, linked=linked), agent.host
    root = await asyncio.to_thread(_folder, tree.path, inside)
    use = sandbox_settings(host.settings.text("sandbox.use", "auto"))
    workspace = LocalWorkspace(root, str(paths.state()), None, use, tree.origin, linked)
    folders = str(paths.state()), str(paths.cache())
    # Servers would take their hundreds of megabytes again for every worktree.
    place = Root(workspace, host.catalog.all(Language), host.trusted, *folders, serves=of_person)
    navigator = Opened(place).navigator
    kept = paths.state() / "checkpoints" / store.folder_of(root).name
    checkpoints = Checkpointing(Shadow(root, kept)) if of_person else None

    async def close() -> None:
        await workspace.close()
        await navigator.life.close()
        if checkpoints is not None:
            await asyncio.to_thread(checkpoints.shadow.close)
        lock.release()

    standing = Standing(root, workspace, navigator, tree.branch, checkpoints, tree=tree, close=close)
    host.standings.append(standing)
    return standing


async def settle(agent: Agent, message: str) -> Settled | None:
    """The end of a task in a worktree of its own: what was done is committed on its branch, and a worktree in
    which nothing was done goes. None for an agent that has none."""
    from cockpit.workspace.worktrees.ending import settle as settled
    from cockpit.workspace.worktrees.running import opened

    standing = agent.standing
    if standing is None or standing.tree is None or agent.path == "main":
        return None
    tree = standing.tree
    try:
        # Nothing of the worktree's own: it may be gone by the time this ends.
        git, _ = await opened(agent.host.workspace.processes, tree.origin)
        # What runs there ends first; told something more, the agent is given the same worktree again.
        await _closed(agent, standing)
        found = await settled(git, tree, _subject(message, agent.path))
    except (CockpitError, OSError) as error:
        text = f"what {agent.path} did is not committed: {error}"
        agent.host.log.emit(Warned(text, f"it lies in {tree.path}", "worktrees"), agent.path)
        return None
    if not found.kept:
        _save(agent.host, agent.path, "")
    return found


def _subject(message: str, path: str) -> str:
    """A commit's message: the task in one line, and whose work it is."""
    words = " ".join(message.split()) or "Work of a subagent"
    line = words if len(words) <= SUBJECT else f"{words[: SUBJECT - 3]}..."
    return f"{line}\n\nBy cockpit's subagent {path}."


def told(found: Settled) -> str:
    """What a parent is told of a worktree whose agent has ended."""
    if not found.kept:
        return "[worktree: nothing was changed in it, so it is gone]"
    lines = f"{found.files} files +{found.added} -{found.removed}"
    more = f"; {'; '.join(found.notes)}" if found.notes else ""
    return (
        f"[worktree: its work is on the branch {found.branch} ({lines}){more}; merge_worktree brings it back]"
    )


async def close_all(host: Host) -> None:
    """End what runs in worktrees; they stay."""
    await asyncio.gather(*(one.close() for one in host.standings if one.close is not None))
    host.standings.clear()


def shown(agent: Agent, event: Event) -> Event:
    """`event` with its path as the person sees it, who may stand elsewhere."""
    prefix = _prefix(agent)
    if not prefix or not isinstance(event, FileChanged):
        return event
    moved = f"{prefix}{event.moved_from}" if event.moved_from else ""
    return replace(event, path=f"{prefix}{event.path}", moved_from=moved)


def isolated(host: Host) -> frozenset[str]:
    """The agents of the session whose work lies in worktrees of their own."""
    return frozenset(_load(host))


def _prefix(agent: Agent) -> str:
    """What leads from where the person looks to where the agent stands, ending in `/`; "" for the same."""
    here = agent.host.folder or agent.host.root
    return "" if agent.root == here else f"{os.path.relpath(agent.root, here)}/".replace(os.sep, "/")


def _folder(path: str, inside: str) -> str:
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


async def _closed(agent: Agent, standing: Standing) -> None:
    if standing.close is not None:
        await standing.close()
    with suppress(ValueError):
        agent.host.standings.remove(standing)
    agent.standing = None


def _load(host: Host) -> dict[str, str]:
    try:
        return {
            str(id): str(branch) for id, branch in json.loads(Path(host.state, FILE).read_bytes()).items()
        }
    except (OSError, ValueError, AttributeError):
        return {}


def _save(host: Host, id: str, branch: str) -> None:
    """Which branch an agent of this session works on; "" forgets it."""
    known = {one: name for one, name in _load(host).items() if one != id}
    if branch:
        known[id] = branch
    with suppress(OSError):
        write_atomically(Path(host.state, FILE), json.dumps(known).encode(), private=True)
