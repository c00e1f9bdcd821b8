"""Checkpoints around calls, and rewinding to before a turn: chooses which turns and which part of the
conversation. `cockpit/workspace/checkpoints` restores the files.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from cockpit.core.agent.agent import Agent
from cockpit.core.calls.call_permission import Permission
from cockpit.errors import CockpitError
from cockpit.plugin.tools import Capability, Done, Preview, Tool
from cockpit.protocol.content import plain_text
from cockpit.protocol.events import Envelope, FileChanged, Rewound, TurnStarted
from cockpit.protocol.messages import ToolCall
from cockpit.protocol.ops import Rewind
from cockpit.workspace.checkpoints.records import CallRecord, CheckpointCall, TreeDelta
from cockpit.workspace.checkpoints.restore import (
    RestoreResult,
    RewindPlan,
    plan_rewind,
    restore_files,
    rewound_files,
)
from cockpit.workspace.checkpoints.store import CheckpointStore
from cockpit.workspace.files.changes import make_diff

READ_ONLY_CAPABILITIES: frozenset[Capability] = frozenset(
    {"none", "fs.read", "secret.read", "net.egress", "ask.person", "proc.signal"}
)
READ_ONLY_KINDS = ("read", "search", "think", "fetch")
MAX_TITLE_LENGTH = 200


@dataclass(frozen=True, slots=True)
class PastTurn:
    """A turn of the main agent. `seq` is that of its first event."""

    id: str
    seq: int
    time: float
    prompt: str


async def run_with_checkpoint(
    agent: Agent, tool: Tool, call: ToolCall, permitted: Permission, run: Callable[[], Awaitable[Done]]
) -> Done:
    """Run a call between two scans of the files, so that its changes can be undone."""
    checkpoints, preview = agent.folder.checkpoints, permitted.preview
    if checkpoints is None or not await _may_write(agent, tool, call, preview):
        return await run()
    title = (preview.title if preview is not None else "") or tool.name
    session, turn = agent.services.session, agent.services.log.turn
    facts = CheckpointCall(session, turn, agent.path, call.id, title[:MAX_TITLE_LENGTH], time.time())

    def warn(text: str, hint: str) -> None:
        agent.warn(text, hint, "checkpoints", call.id)

    jobs = any(job.running for job in agent.workspace.processes.jobs())
    await checkpoints.begin(facts, _write_paths(preview), jobs, warn)
    try:
        return await run()
    finally:
        await checkpoints.finish(call.id, warn)


def warm_checkpoints(agent: Agent, tool: Tool) -> None:
    """Scan the files in the background: a call that may write has begun."""
    if agent.folder.checkpoints is not None and tool.kind not in READ_ONLY_KINDS:
        agent.folder.checkpoints.warm()


async def _may_write(agent: Agent, tool: Tool, call: ToolCall, preview: Preview | None) -> bool:
    if tool.capabilities <= READ_ONLY_CAPABILITIES or tool.is_concurrent(call.arguments):
        return False
    launch = preview.launch if preview is not None else None
    if launch is None or launch.profile != "read":
        return True
    # Only a program in a working sandbox cannot change anything.
    return (await agent.workspace.processes.isolation()).level == "none"


def _write_paths(preview: Preview | None) -> tuple[str, ...] | None:
    """The files a call declares that it writes; None when it may write anything."""
    if preview is None or preview.changes is None:
        return None
    files = preview.changes.files
    return tuple(dict.fromkeys(path for file in files for path in (file.moved_from, file.path) if path))


async def rewind(agent: Agent, op: Rewind) -> None:
    """Carry out `op` while nothing else runs. Raises `CockpitError` when nothing could be done."""
    try:
        await _rewind(agent, op)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        text = f"the checkpoints cannot be used: {where}{error.strerror or error}"
        raise CockpitError(text, "repair the folder, or restore files with git") from error


async def _rewind(agent: Agent, op: Rewind) -> None:
    rewound = _undo_event(agent, op.turn) if op.undo else _rewind_event(agent, op)
    store, restored, way = _checkpoint_store(agent), RestoreResult((), (), ()), RewindPlan()
    persons: tuple[str, ...] = ()
    if rewound.what != "conversation":
        way = await asyncio.to_thread(_plan_way, store, agent, rewound)
        steps = way.of("agent") + (way.of("person") if op.persons == "overwrite" else ())
        persons = tuple(step.path for step in way.of("person") if op.persons == "keep")
        restored = await restore_files(agent.workspace, store.objects, way, steps)
        await asyncio.to_thread(_record_rewind, store, agent, op.id, rewound, way, restored)
        await _announce_files(agent, restored)
    left = (*((step.path, step.reason) for step in way.blocked), *restored.left)
    left_out = tuple(f"{path}: {reason}" for path, reason in left)
    agent.emit(replace(rewound, id=op.id, files=len(restored.paths), kept=persons, left=left_out))
    if rewound.what != "files":
        agent.window_use.reported = 0


def past_turns(envelopes: tuple[Envelope, ...]) -> tuple[PastTurn, ...]:
    """The turns of the main agent, in order."""
    return tuple(
        PastTurn(envelope.turn, envelope.seq, envelope.time, plain_text(envelope.event.content))
        for envelope in envelopes
        if isinstance(envelope.event, TurnStarted) and envelope.agent == "main"
    )


def active_rewinds(agent: Agent) -> dict[str, Rewound]:
    """The rewinds that were not undone, by id."""
    rewinds: dict[str, Rewound] = {}
    for envelope in agent.services.log.durable():
        if isinstance(event := envelope.event, Rewound):
            if event.undoes:
                rewinds.pop(event.undoes, None)
            else:
                rewinds[event.id] = event
    return rewinds


def rewound_turns(agent: Agent, part: str) -> set[str]:
    """The turns whose `files` (or `conversation`) are rewound now."""
    durable = agent.services.log.durable()
    seqs = {envelope.event.id: envelope.seq for envelope in durable if isinstance(envelope.event, Rewound)}
    return {
        turn.id
        for event in active_rewinds(agent).values()
        if event.what in (part, "both")
        for turn in past_turns(durable)
        if event.from_seq <= turn.seq < seqs[event.id]
    }


def way_back_to(agent: Agent, turn: str) -> RewindPlan:
    """The steps to before `turn`, or back from the rewind of that id. Reads the tree: call it in a thread.
    Raises `CockpitError` for an unknown turn."""
    undoes = turn in active_rewinds(agent)
    rewound = _undo_event(agent, turn) if undoes else _rewind_event(agent, Rewind("", "", turn))
    return _plan_way(_checkpoint_store(agent), agent, rewound)


def _checkpoint_store(agent: Agent) -> CheckpointStore:
    if agent.folder.checkpoints is None:
        raise CockpitError("this session has no checkpoints", "restore files with git")
    return agent.folder.checkpoints.store


def _rewind_event(agent: Agent, op: Rewind) -> Rewound:
    for turn in past_turns(agent.services.log.durable()):
        if turn.id == op.turn:
            return Rewound(op.id, turn.id, op.what, turn.seq, prompt=turn.prompt)
    raise CockpitError(f"there is no turn {op.turn} in this session", "/rewind lists them")


def _undo_event(agent: Agent, id: str) -> Rewound:
    """The event that undoes the rewind `id`, or the last one."""
    rewinds = active_rewinds(agent)
    if not rewinds or (id and id not in rewinds):
        raise CockpitError(
            f"there is no rewind {id} to undo" if id else "there is no rewind to undo", "/rewind lists them"
        )
    event = rewinds[id] if id else tuple(rewinds.values())[-1]
    return Rewound("", event.turn, event.what, event.from_seq, undoes=event.id)


def _plan_way(store: CheckpointStore, agent: Agent, rewound: Rewound) -> RewindPlan:
    records = store.records(agent.services.session)
    if rewound.undoes:
        undone = [
            record for record in records if record.kind == "rewind" and record.call.call == rewound.undoes
        ]
        return plan_rewind(undone, store.now)
    order = past_turns(agent.services.log.durable())
    turns = {turn.id for turn in order if turn.seq >= rewound.from_seq} - rewound_turns(agent, "files")
    calls = [record for record in records if record.kind == "call" and record.call.turn in turns]
    return plan_rewind(calls, store.now)


def _record_rewind(
    store: CheckpointStore, agent: Agent, id: str, rewound: Rewound, way: RewindPlan, restored: RestoreResult
) -> None:
    """Record what a rewind changed, so that it can be undone."""
    now = time.time()
    call = CheckpointCall(agent.services.session, "", agent.path, id, "rewind", now)
    delta = TreeDelta(rewound_files(way, restored.paths), restored.made, restored.removed)
    store.rewound(CallRecord("rewind", call, now, delta, undoes=rewound.undoes))


async def _announce_files(agent: Agent, restored: RestoreResult) -> None:
    """Tell frontends and language servers which files changed."""
    diffs = await asyncio.to_thread(lambda: [make_diff(change) for change in restored.changes])
    for change, diff in zip(restored.changes, diffs, strict=True):
        agent.navigator.changed(change.path, change.before, ())
        agent.emit(FileChanged(change.path, change.change, diff.added, diff.removed))
