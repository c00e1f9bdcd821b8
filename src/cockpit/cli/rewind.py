"""`cockpit rewind`: list the turns of a stored session, and restore its state before one of them."""

import argparse
import asyncio
import sys
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

from cockpit.cli.command import print_json
from cockpit.core.session.deck import LocalDeck
from cockpit.core.session.options import RunOptions
from cockpit.core.transcript import session_store
from cockpit.errors import CockpitError
from cockpit.protocol import wire
from cockpit.protocol.channel import Channel
from cockpit.protocol.events import Rewound, Warned
from cockpit.protocol.ops import Rewind
from cockpit.protocol.queries import CheckpointRow, CheckpointRows, Checkpoints, Refused

ORIGIN = "headless"


def main(argv: Sequence[str]) -> int:
    args = _parser().parse_args(list(argv))
    return asyncio.run(_run(args))


def _parser() -> argparse.ArgumentParser:
    about = "Restore the state before a turn of a stored session, or undo a rewind."
    parser = argparse.ArgumentParser(prog="cockpit rewind", description=about)
    add = parser.add_argument
    add("session", nargs="?", help="session id or the start of it (default: the last session of this folder)")
    add("--list", action="store_true", help="list the turns and what they changed (default without --turn)")
    add("--turn", metavar="N", help="restore the state before turn N of the list (or its id)")
    add("--what", choices=("files", "conversation", "both"), default="both")
    add("--overwrite", action="store_true", help="also restore files that you have changed since")
    add("--dry-run", action="store_true", help="only show what --turn would change")
    add("--undo", action="store_true", help="undo the last rewind")
    add("--json", action="store_true")
    return parser


async def _run(args: argparse.Namespace) -> int:
    session = args.session or session_store.latest_session(str(Path.cwd()))
    if not session:
        hint = "cockpit sessions list --all shows those of other folders"
        raise CockpitError("no session is stored for this folder", hint)
    deck = LocalDeck(RunOptions(someone=False, origin=ORIGIN, takes_up=False))
    try:
        channel = await deck.open(str(Path.cwd()), session)
        checkpoints = await _query_checkpoints(channel, "")
        if args.undo:
            return await _submit_rewind(channel, Rewind(uuid.uuid4().hex, ORIGIN, "", undo=True), args.json)
        if args.turn is None or args.list:
            _print_checkpoints(checkpoints, args.json)
            return 0
        turn = _find_turn(checkpoints, args.turn)
        if args.dry_run:
            _print_preview(await _query_checkpoints(channel, turn), args.json)
            return 0
        op = Rewind(uuid.uuid4().hex, ORIGIN, turn, args.what, "overwrite" if args.overwrite else "keep")
        return await _submit_rewind(channel, op, args.json)
    finally:
        await deck.close()


async def _query_checkpoints(channel: Channel, turn: str) -> CheckpointRows:
    reply = await channel.ask(Checkpoints(turn))
    if isinstance(reply, CheckpointRows):
        return reply
    raise CockpitError(reply.reason if isinstance(reply, Refused) else "this session has no checkpoints")


def _list_turns(checkpoints: CheckpointRows) -> list[CheckpointRow]:
    """The turns, oldest first, in the order of their numbers."""
    return [row for row in reversed(checkpoints.rows) if row.kind == "turn"]


def _find_turn(checkpoints: CheckpointRows, name: str) -> str:
    turns = _list_turns(checkpoints)
    if name.isdecimal() and 0 < int(name) <= len(turns):
        return turns[int(name) - 1].turn
    for row in checkpoints.rows:
        if row.turn == name:
            return row.turn
    raise CockpitError(f"there is no turn {name}", f"the session has {len(turns)}; --list shows them")


def _print_checkpoints(checkpoints: CheckpointRows, as_json: bool) -> None:
    if as_json:
        print_json([wire.encode(row) for row in reversed(checkpoints.rows)])
        return
    for number, row in enumerate(_list_turns(checkpoints), start=1):
        changed = f"{row.files} files +{row.added} -{row.removed}" if row.files else "no files"
        print(f"{number:3}  {row.title}  ({changed}{', ' + row.state if row.state else ''})")
    for row in reversed(checkpoints.rows):
        if row.kind == "rewind":
            print(f"  -  {row.title}{' (' + row.state + ')' if row.state else ''}")
    if checkpoints.note:
        print(f"cockpit: {checkpoints.note}", file=sys.stderr)


def _print_preview(preview: CheckpointRows, as_json: bool) -> None:
    if as_json:
        print_json(wire.encode(preview))
        return
    for diff in preview.diffs:
        print(f"{diff.path}  +{diff.added} -{diff.removed}")
    for path in preview.persons:
        print(f"{path}  changed by you since: not restored without --overwrite")
    for text in preview.left:
        print(f"cannot be restored: {text}")


async def _submit_rewind(channel: Channel, op: Rewind, as_json: bool) -> int:
    """Submit and wait for the outcome; exit code 1 if nothing could be done."""
    began = time.time()
    await channel.submit(op)
    async for envelope in channel.events():
        match envelope.event:
            case Rewound(id=op.id) as event:
                _print_result(event, as_json)
                return 0
            case Warned(text=text, hint=hint) if envelope.time >= began:
                print(f"cockpit: {text}{f' ({hint})' if hint else ''}", file=sys.stderr)
                return 1
            case _:
                continue
    return 1


def _print_result(event: Rewound, as_json: bool) -> None:
    if as_json:
        print_json(wire.encode(event))
        return
    print(f"restored {event.files} files")
    for path in event.kept:
        print(f"{path}  changed by you since: not restored")
    for text in event.left:
        print(f"not restored: {text}")
