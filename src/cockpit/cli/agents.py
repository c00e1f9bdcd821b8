"""`cockpit agents list|transcript`: the subagents of a stored session, and what one of them did, as JSON
lines. Opens no session and writes nothing."""

import argparse
import json
from collections.abc import Sequence

from cockpit.cli.catalogs import folder_of
from cockpit.cli.lines import said
from cockpit.core import store
from cockpit.core.subagents.recovering import PastAgents
from cockpit.core.transcript import load
from cockpit.errors import CockpitError, SessionUnknown
from cockpit.protocol import wire
from cockpit.protocol.events import Envelope


def main(argv: Sequence[str]) -> int:
    given = _parser().parse_args(list(argv))
    root = folder_of(given.cwd)
    session = given.session or store.latest(root)
    if not session:
        raise SessionUnknown("this folder has no session", "name one with --session, or another --cwd")
    records = load(store.file_of(session, root)).records
    envelopes = [one for one in records if isinstance(one, Envelope)]
    past = PastAgents()
    for envelope in envelopes:
        past.see(envelope)
    if given.what == "list":
        return _list(past, given.json)
    path = _meant(past, given.agent)
    for envelope in envelopes:
        if envelope.agent == path and envelope.seq > given.cursor:
            print(wire.dumps(envelope))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="cockpit agents", description="The subagents of a stored session.")
    subs = parser.add_subparsers(dest="what", required=True)
    listed = subs.add_parser("list", help="each with its role, task, end and cost")
    listed.add_argument("--json", action="store_true")
    transcript = subs.add_parser("transcript", help="its events, one JSON object a line")
    transcript.add_argument("agent", help="its path, or the part of it that names it: review-1")
    transcript.add_argument("--cursor", type=int, default=0, metavar="SEQ", help="only what came after it")
    for one in (listed, transcript):
        one.add_argument("--session", metavar="ID", default="", help="default: the last one of the folder")
        one.add_argument("--cwd", metavar="DIR", default="", help="the folder (default: this one)")
    return parser


def _list(past: PastAgents, as_json: bool) -> int:
    known = [one.row for one in past.known.values()]
    if as_json:
        print(json.dumps([wire.encode(one) for one in known], ensure_ascii=False, indent=1))
        return 0
    width = max((len(one.id) for one in known), default=0)
    for one in known:
        cost = f"{one.steps:4} steps {one.tokens:9,} tokens"
        print(said(f"{one.id:<{width}}  {one.phase:<9}  {cost}  {' '.join(one.task.split())[:60]}"))
    if not known:
        print("no subagent was opened in this session")
    return 0


def _meant(past: PastAgents, name: str) -> str:
    found = [path for path in past.known if path == name or path.endswith(f"/{name}")]
    if len(found) != 1:
        raise CockpitError(f"there is no one agent {name}", f"agents: {', '.join(past.known) or 'none'}")
    return found[0]
