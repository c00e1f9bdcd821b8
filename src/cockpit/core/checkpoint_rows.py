"""What there is to go back to, as rows for people: the query `Checkpoints`. Only reads."""

import asyncio
from collections import defaultdict
from dataclasses import replace

from cockpit.core.agent import Agent
from cockpit.core.checkpointing import left_out
from cockpit.core.rewinding import gone_turns, in_force, turns, way_to
from cockpit.errors import CockpitError
from cockpit.protocol.events import Rewound
from cockpit.protocol.queries import CheckpointRow, CheckpointRows, Checkpoints, Refused, Reply
from cockpit.workspace.changes import diff_of
from cockpit.workspace.checkpoints.restoring import changes_of
from cockpit.workspace.checkpoints.shadow import Shadow
from cockpit.workspace.checkpoints.values import Delta, joined

SHOWN = 100
NAMED = 20


async def checkpoints(agent: Agent, query: Checkpoints) -> Reply:
    """The rows, and for `query.turn` what going back would change."""
    kept = agent.checkpoints
    if kept is None:
        return Refused("this session keeps no checkpoints")
    try:
        return await asyncio.to_thread(_answer, agent, kept.shadow, query.turn)
    except (CockpitError, OSError) as error:
        return Refused(str(error))


def _answer(agent: Agent, shadow: Shadow, turn: str) -> CheckpointRows:
    rows = _rows(agent, shadow)
    note = shadow.problem or left_out(shadow.left_out())
    if not turn:
        return CheckpointRows(rows, note=note)
    way = way_to(agent, turn)
    steps = way.of("agent")
    changes, more = changes_of(steps[:SHOWN], shadow.root, shadow.objects)
    left = [f"{step.path}: {step.reason}" for step in way.blocked]
    left += [f"{path}: {reason}" for path, reason in more]
    persons = tuple(step.path for step in way.of("person"))
    return CheckpointRows(rows, tuple(map(diff_of, changes)), len(steps), persons, tuple(left), note)


def _rows(agent: Agent, shadow: Shadow) -> tuple[CheckpointRow, ...]:
    durable = agent.host.log.durable()
    deltas: dict[str, Delta] = defaultdict(Delta)
    for record in shadow.records(agent.host.session):
        key = record.call.turn if record.kind == "call" else record.call.call
        deltas[key] = joined(deltas[key], record.delta)
    files, said, active = gone_turns(agent, "files"), gone_turns(agent, "conversation"), in_force(agent)
    rows: dict[str, CheckpointRow] = {}
    for turn in turns(durable):
        row = _row(shadow, turn.id, _title(turn.prompt), turn.time, deltas[turn.id])
        is_gone = turn.id in said or (turn.id in files and row.files > 0)
        rows[turn.id] = replace(row, state="rewound" if is_gone else "", prompt=turn.prompt)
    for one in durable:
        event = one.event
        if isinstance(event, Rewound) and not event.undoes:
            before = rows[event.turn].title if event.turn in rows else event.turn
            row = _row(shadow, event.id, f"went back to before: {before}", one.time, deltas[event.id])
            rows[event.id] = replace(row, kind="rewind", state="" if event.id in active else "undone")
    return tuple(sorted(rows.values(), key=lambda row: -row.time))


def _row(shadow: Shadow, id: str, title: str, time: float, delta: Delta) -> CheckpointRow:
    added, removed = shadow.counting.lines(delta)
    paths = tuple(file.path for file in delta.files[:NAMED])
    return CheckpointRow(id, title, time, len(delta.files), added, removed, paths)


def _title(prompt: str) -> str:
    return " ".join(prompt.split())[:80]
