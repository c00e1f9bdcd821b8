"""`cockpit lsp status|restart|stop|log|allow [NAME]`: language servers of the cockpits on a folder.

Without one of them it says which servers would start, and what installs those that are missing.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from cockpit import paths
from cockpit.cli import servers
from cockpit.cli.catalogs import catalog_of
from cockpit.cli.nav_asking import root_of, warn
from cockpit.errors import CockpitError
from cockpit.navigation.lsp import approvals, lsp_json, status
from cockpit.plugin.languages import Language
from cockpit.protocol.messages import Json
from cockpit.settings import trust

SECONDS = 10.0
LINES = 60


def main(argv: Sequence[str]) -> int:
    """0 when it was done or shown, 1 when there is nothing to do it to."""
    parser = argparse.ArgumentParser(prog="cockpit lsp", description="The language servers of a folder.")
    parser.add_argument(
        "verb", choices=("status", "restart", "stop", "log", "allow"), nargs="?", default="status"
    )
    parser.add_argument("name", nargs="?", default="", metavar="NAME", help="a server or language; all")
    parser.add_argument("--root", default=".", metavar="DIR", help="the project's folder")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--trust", action="store_true", help="trust the folder for this run (allow)")
    given = parser.parse_args(list(argv))
    root = root_of(given.root)
    if given.verb == "status":
        trusted = trust.is_trusted(root) is True
        own = lsp_json.read(paths.config() / lsp_json.USER_FILE)
        for text in (lsp_json.read_all(root, paths.config()) if trusted else own).warnings:
            warn(text)
    match given.verb:
        case "status":
            return _status(root, given.name, given.json)
        case "log":
            return _log(root, given.name, given.json)
        case "allow":
            return _allow(root, given.name, given.trust or trust.is_trusted(root) is True)
        case verb:
            return _ask(root, cast("status.Verb", verb), given.name, given.json)


def _status(root: str, name: str, as_json: bool) -> int:
    running = status.running(paths.state(), root)
    rows: list[Json] = [
        {
            "pid": one.pid,
            "language": row.language,
            "name": row.name,
            "state": row.state,
            "server": row.pid,
            "megabytes": row.megabytes,
            "detail": row.detail,
            "log": row.log,
        }
        for one in running
        for row in one.rows
        if name in ("", row.name, row.language)
    ]
    if as_json:
        would: list[Json] = [] if rows else _would(root, name)
        print(json.dumps({"running": rows, "would": would}, ensure_ascii=False))
        return 0
    for one in running:
        print(f"cockpit {one.pid} on {root}")
        if not one.rows:
            print("  no server yet: one starts with the first file of its language")
        for row in one.rows:
            if name in ("", row.name, row.language):
                size = f"{row.megabytes} MB" if row.megabytes else ""
                print(f"  {row.name:28} {row.language:12} {row.state:9} {size:8} {row.detail}".rstrip())
    if not running:
        print(f"no cockpit runs on {root}; these would start:")
        _print_would(_would(root, name))
    return 0


def _would(root: str, name: str) -> list[Json]:
    trusted = trust.is_trusted(root) is True
    found = servers.candidates(root, catalog_of(root).all(Language), trusted)
    return [
        {
            "language": one.language,
            "name": one.server.name,
            "state": one.state,
            "files": one.files,
            "program": one.program,
            "detail": one.why,
        }
        for one in found
        if one.files and name in ("", one.server.name, one.language)
    ]


def _print_would(rows: list[Json]) -> None:
    for row in rows:
        if isinstance(row, dict):
            said = row["program"] if row["state"] == "found" else f"-> {row['detail']}"
            print(f"  {row['name']:28} {row['language']:12} {row['state']:9} {said}")
    if not rows:
        print("  none: the folder holds no file of a language with a server")


def _ask(root: str, verb: status.Verb, name: str, as_json: bool) -> int:
    words = status.ask(paths.state(), root, verb, name, SECONDS)
    if as_json:
        print(json.dumps({"answers": words.splitlines()}, ensure_ascii=False))
    elif words:
        print(words)
    if not words:
        print(f"cockpit: no cockpit runs on {root}, so there is nothing to {verb}", file=sys.stderr)
    return 0 if words else 1


def _log(root: str, name: str, as_json: bool) -> int:
    """The last lines of each log there is, of running servers and of those before."""
    folder = status.folder_of(paths.state(), str(Path(root).resolve())) / "logs"
    logs = {
        file.stem: file.read_text("utf-8", "replace").splitlines()[-LINES:]
        for file in sorted(folder.glob("*.log"))
        if name in ("", file.stem)
    }
    if as_json:
        print(json.dumps(logs, ensure_ascii=False))
    else:
        for server, lines in logs.items():
            print("\n".join([f"== {server}", *lines]))
    if not logs:
        print(f"cockpit: no server{' ' + name if name else ''} has written a log here", file=sys.stderr)
    return 0 if logs else 1


def _allow(root: str, name: str, trusted: bool) -> int:
    """A person's yes for the servers that the folder's `.lsp.json` names; running cockpits start them."""
    if not trusted:
        raise CockpitError("this folder is not trusted", "when it may run here: cockpit lsp allow --trust")
    read = lsp_json.read_all(root, paths.config())
    for text in read.warnings:
        warn(text)
    named = {
        one.name: one
        for language in read.languages
        for one in language.servers
        if one.named_by and name in ("", one.name)
    }
    for one in named.values():
        approvals.allow(servers.allowed_file(root), one, root)
        print(f"allowed: {one.name}: {' '.join(one.command)}")
    if not named:
        there = f"{lsp_json.PROJECT_FILE} of {root} names no server" + (f" {name}" if name else "")
        raise CockpitError(there, "cockpit lsp status lists what would start")
    if words := status.ask(paths.state(), root, "allow", name, SECONDS):
        print(words)
    return 0
