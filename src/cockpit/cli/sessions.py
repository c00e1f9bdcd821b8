"""`cockpit sessions`, `cockpit agents` and `cockpit replay`: look at stored sessions and their subagents.

Reads transcripts directly; opens no session and writes nothing, except that `sessions rm` deletes.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from cockpit.cli.command import add_options, escape_text, print_json, resolve_folder
from cockpit.core.subagents.opener import SubagentRecords
from cockpit.core.transcript import session_store
from cockpit.core.transcript.history import ConversationHistory, message_text
from cockpit.core.transcript.transcript import load_transcript
from cockpit.errors import CockpitError, SessionUnknown
from cockpit.protocol import wire
from cockpit.protocol.channel import Deck
from cockpit.protocol.events import Envelope, SessionStarted
from cockpit.protocol.messages import AssistantMessage, ToolMessage, UserMessage
from cockpit.protocol.recordings import RecordingChannel, RecordingDeck, read_recording


def run_sessions(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="cockpit sessions", description="List, show, export and delete stored sessions."
    )
    commands = parser.add_subparsers(dest="what", required=True)
    listing = commands.add_parser("list", help="list the sessions of this folder, newest first")
    listing.add_argument("--all", action="store_true", help="list the sessions of every folder")
    add_options(listing, "json")
    texts = {"show": "print the conversation", "export": "print it as JSON lines", "rm": "delete it"}
    for name, text in texts.items():
        command = commands.add_parser(name, help=text)
        command.add_argument("session", help="session id or the start of it")
    args = parser.parse_args(list(argv))
    match args.what:
        case "list":
            return _list_sessions(args.all, args.json)
        case "show":
            return _show_session(args.session)
        case "export":
            return _export_session(args.session)
        case "rm":
            print(f"deleted {session_store.remove_session(args.session)}")
            return 0
        case other:
            raise AssertionError(other)


def _list_sessions(everywhere: bool, as_json: bool) -> int:
    rows = session_store.list_sessions(None if everywhere else str(Path.cwd()))
    if as_json:
        print_json([wire.encode(row) for row in rows])
        return 0
    for row in rows:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(row.updated))
        where = f"  ({row.root})" if everywhere else ""
        print(f"{row.id}  {when}  {row.turns:3} turns  {row.title}{where}")
    if not rows:
        print("no sessions yet" + ("" if everywhere else " in this folder; --all shows those of all folders"))
    return 0


def _show_session(session: str) -> int:
    loaded = load_transcript(session_store.session_file(session))
    history = ConversationHistory()
    for record in loaded.records:
        if isinstance(record, Envelope):
            history.see(record)
    for entry in history.entries:
        match entry.message:
            case UserMessage():
                print(f"\n## You\n\n{message_text(entry.message)}")
            case AssistantMessage():
                print(f"\n## {entry.message.model or 'Model'}\n\n{message_text(entry.message)}")
            case ToolMessage(name=name, text=text):
                print(f"\n### {name}\n\n{text}")
    for report in loaded.reports:
        print(f"cockpit: {report}", file=sys.stderr)
    return 0


def _export_session(session: str) -> int:
    for record in load_transcript(session_store.session_file(session)).records:
        if isinstance(record, Envelope):
            print(wire.dumps(record))
    return 0


def run_agents(argv: Sequence[str]) -> int:
    args = _build_agents_parser().parse_args(list(argv))
    root = resolve_folder(args.cwd)
    session = args.session or session_store.latest_session(root)
    if not session:
        raise SessionUnknown("this folder has no session", "pass --session, or another --cwd")
    loaded = load_transcript(session_store.session_file(session, root)).records
    envelopes = [record for record in loaded if isinstance(record, Envelope)]
    records = SubagentRecords()
    for envelope in envelopes:
        records.see(envelope)
    if args.what == "list":
        return _list_agents(records, args.json)
    path = _find_agent(records, args.agent)
    for envelope in envelopes:
        if envelope.agent == path and envelope.seq > args.cursor:
            print(wire.dumps(envelope))
    return 0


def _build_agents_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="cockpit agents", description="The subagents of a stored session.")
    subs = parser.add_subparsers(dest="what", required=True)
    listed = subs.add_parser("list", help="list them with role, task, result and cost")
    add_options(listed, "json")
    transcript = subs.add_parser("transcript", help="print its events as JSON lines")
    transcript.add_argument("agent", help="its path or the last part of it: review-1")
    text = "only events after this number"
    transcript.add_argument("--cursor", type=int, default=0, metavar="SEQ", help=text)
    text = "session id (default: the last session of the folder)"
    for command in (listed, transcript):
        command.add_argument("--session", metavar="ID", default="", help=text)
        add_options(command, "cwd")
    return parser


def _list_agents(records: SubagentRecords, as_json: bool) -> int:
    agents = [record.row for record in records.known.values()]
    if as_json:
        print_json([wire.encode(agent) for agent in agents], 1)
        return 0
    width = max((len(agent.id) for agent in agents), default=0)
    for agent in agents:
        cost = f"{agent.steps:4} steps {agent.tokens:9,} tokens"
        task = " ".join(agent.task.split())[:60]
        print(escape_text(f"{agent.id:<{width}}  {agent.phase:<9}  {cost}  {task}"))
    if not agents:
        print("this session has no subagents")
    return 0


def _find_agent(records: SubagentRecords, name: str) -> str:
    paths = [path for path in records.known if path == name or path.endswith(f"/{name}")]
    if len(paths) != 1:
        number = "several subagents" if paths else "no subagent"
        choices = f"choose one of {', '.join(records.known)}" if records.known else "the session has none"
        raise CockpitError(f"{name} names {number}", choices)
    return paths[0]


def run_replay(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="cockpit replay", description="Replay a session.")
    parser.add_argument("file", help="a transcript, a recording, or a session id")
    parser.add_argument("--plain", action="store_true", help="line by line")
    args = parser.parse_args(list(argv))
    path = Path(args.file)
    envelopes = read_recording(path if path.exists() else session_store.session_file(args.file))
    if not envelopes:
        raise SessionUnknown(f"{args.file} contains no events", "name a transcript written by cockpit")
    if args.plain or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return _replay_as_lines(envelopes)
    return _replay_on_screen(envelopes)


def _replay_on_screen(envelopes: list[Envelope]) -> int:
    from cockpit.tui.run import run

    async def make() -> Deck:
        return RecordingDeck(RecordingChannel(envelopes))

    started = envelopes[0].event
    return run(make, started.root if isinstance(started, SessionStarted) else ".", None)


def _replay_as_lines(envelopes: list[Envelope]) -> int:
    from cockpit.headless.line_frontend import LineScreen, draw_event

    screen = LineScreen(sys.stdout)
    for envelope in envelopes:
        draw_event(screen, envelope)
    return 0
