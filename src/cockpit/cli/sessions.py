"""`cockpit sessions list|show|export|rm`: stored sessions, without a deck."""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from cockpit.core import store
from cockpit.core.history import History
from cockpit.core.sent import text_of
from cockpit.core.transcript import load
from cockpit.protocol import wire
from cockpit.protocol.events import Envelope
from cockpit.protocol.messages import AssistantMessage, ToolMessage, UserMessage


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="cockpit sessions", description="Stored sessions.")
    commands = parser.add_subparsers(dest="what", required=True)
    listing = commands.add_parser("list", help="the sessions of this folder, the newest first")
    listing.add_argument("--all", action="store_true", help="of every folder")
    listing.add_argument("--json", action="store_true")
    for name, text in (
        ("show", "print the conversation"),
        ("export", "print it as JSON lines"),
        ("rm", "delete it"),
    ):
        command = commands.add_parser(name, help=text)
        command.add_argument("session", help="its id, or the beginning of it")
    given = parser.parse_args(list(argv))
    match given.what:
        case "list":
            return _list(given.all, given.json)
        case "show":
            return _show(given.session)
        case "export":
            return _export(given.session)
        case "rm":
            print(f"deleted {store.remove(given.session)}")
            return 0
        case other:
            raise AssertionError(other)


def _list(everywhere: bool, as_json: bool) -> int:
    rows = store.sessions_of(None if everywhere else str(Path.cwd()))
    if as_json:
        print(json.dumps([wire.encode(row) for row in rows], ensure_ascii=False))
        return 0
    for row in rows:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(row.updated))
        print(
            f"{row.id}  {when}  {row.turns:3} turns  {row.title}" + (f"  ({row.root})" if everywhere else "")
        )
    if not rows:
        print("no sessions yet" + ("" if everywhere else " in this folder; --all shows every folder's"))
    return 0


def _show(session: str) -> int:
    loaded = load(store.file_of(session))
    history = History()
    for record in loaded.records:
        if isinstance(record, Envelope):
            history.see(record)
    for entry in history.entries:
        match entry.message:
            case UserMessage():
                print(f"\n## You\n\n{text_of(entry.message)}")
            case AssistantMessage():
                print(f"\n## {entry.message.model or 'Model'}\n\n{text_of(entry.message)}")
            case ToolMessage(name=name, text=text):
                print(f"\n### {name}\n\n{text}")
    for report in loaded.reports:
        print(f"cockpit: {report}", file=sys.stderr)
    return 0


def _export(session: str) -> int:
    for record in load(store.file_of(session)).records:
        if isinstance(record, Envelope):
            print(wire.dumps(record))
    return 0
