"""`cockpit lsp status|restart|stop|log|allow [NAME]`: the language servers of running cockpits.

If no cockpit is running in the folder, it shows which servers would start, and how to install missing ones.
`cockpit doctor` uses the same candidates.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal, cast

from cockpit import paths
from cockpit.cli.command import add_options, is_trusted, load_catalog, print_json, select_fields
from cockpit.cli.nav.lookup import print_warning, resolve_root
from cockpit.errors import CockpitError
from cockpit.navigation.answers import find_language
from cockpit.navigation.lsp import lsp_json, server_programs, status_files
from cockpit.plugin.languages import Language, LanguageServer
from cockpit.workspace.local import walk_files

MAX_FILES = 5000
"""Maximum number of files counted by language."""
REPLY_SECONDS = 10.0
LOG_LINES = 60


@dataclass(frozen=True, slots=True)
class ServerCandidate:
    """A server of a language. `files` counts the language's files in the folder; `program` is the path of
    its program, empty if not installed; `why` says what prevents it from starting."""

    language: str
    server: LanguageServer
    files: int
    program: str
    state: Literal["found", "absent", "waiting"]
    why: str = ""


def find_candidates(root: str, registered: Sequence[Language], trusted: bool) -> tuple[ServerCandidate, ...]:
    """For each language its first server that is installed (or could be) and its additional servers;
    languages with the most files in the folder come first."""
    named = lsp_json.read_all_lsp_json(root, paths.config()) if trusted else lsp_json.LspJsonContents()
    languages = (*named.languages, *registered)
    files = _count_files(root, languages)
    ordered = sorted(languages, key=lambda item: -files[item.name])
    return tuple(
        _build_candidate(root, language, server, files[language.name], trusted)
        for language in ordered
        for server in _choose_servers(root, language, trusted)
    )


def _count_files(root: str, languages: Sequence[Language]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for entry in islice(walk_files(root), MAX_FILES):
        if (language := find_language(entry.path, languages)) is not None:
            counts[language.name] += 1
    return counts


def _choose_servers(root: str, language: Language, trusted: bool) -> Iterator[LanguageServer]:
    mains = [server for server in language.servers if not server.beside]
    installed = [main for main in mains if server_programs.find_program(main.command, root, trusted)]
    yield from (installed or mains)[:1]
    yield from (server for server in language.servers if server.beside)


def _build_candidate(
    root: str, language: Language, server: LanguageServer, files: int, trusted: bool
) -> ServerCandidate:
    command = server_programs.find_program(server.command, root, trusted)
    program = command[0] if command else ""
    if not program:
        return ServerCandidate(language.name, server, files, "", "absent", server.install)
    why = ""
    if server.named_by and not server_programs.is_approved(_find_approval_file(root), server, root):
        why = f"defined in {server.named_by}: cockpit lsp allow {server.name}"
    elif server.runs_project and not trusted:
        why = "it runs the project's code: cockpit --trust"
    return ServerCandidate(language.name, server, files, program, "waiting" if why else "found", why)


def _status_folder(root: str) -> Path:
    return status_files.status_folder(paths.state(), str(Path(root).resolve()))


def _find_approval_file(root: str) -> Path:
    """The file that stores the user's approvals of servers named by the project."""
    return server_programs.approvals_file(_status_folder(root))


def main(argv: Sequence[str]) -> int:
    """Exit code 0 on success, 1 if there is no such server, log or running cockpit."""
    parser = argparse.ArgumentParser(prog="cockpit lsp", description="The language servers of a folder.")
    add = parser.add_argument
    add("verb", choices=("status", "restart", "stop", "log", "allow"), nargs="?", default="status")
    add("name", nargs="?", default="", metavar="NAME", help="a server or language (default: all)")
    add("--root", default=".", metavar="DIR", help="project folder (default: .)")
    add_options(parser, "json", "trust")
    args = parser.parse_args(list(argv))
    root = resolve_root(args.root)
    trusted = is_trusted(root)
    match args.verb:
        case "status":
            own = lsp_json.read_lsp_json(paths.config() / lsp_json.USER_FILE)
            for text in (lsp_json.read_all_lsp_json(root, paths.config()) if trusted else own).warnings:
                print_warning(text)
            return _print_status(root, args.name, args.json)
        case "log":
            return _print_logs(root, args.name, args.json)
        case "allow":
            return _allow_servers(root, args.name, args.trust or trusted)
        case verb:
            return _send_verb(root, cast("status_files.ServerVerb", verb), args.name, args.json)


def _print_status(root: str, name: str, as_json: bool) -> int:
    running = status_files.find_running(paths.state(), root)
    if as_json:
        rows = [
            {"pid": status.pid, "server": row.pid}
            | select_fields(row, "language", "name", "state", "megabytes", "detail", "log")
            for status in running
            for row in status.rows
            if name in ("", row.name, row.language)
        ]
        print_json({"running": rows, "would": [] if rows else _list_candidates(root, name)})
        return 0
    for status in running:
        print(f"cockpit {status.pid} on {root}")
        if not status.rows:
            print("  no server yet: servers start with the first file of their language")
        for row in status.rows:
            if name in ("", row.name, row.language):
                size = f"{row.megabytes} MB" if row.megabytes else ""
                print(f"  {row.name:28} {row.language:12} {row.state:9} {size:8} {row.detail}".rstrip())
    if not running:
        print(f"no cockpit runs on {root}; these would start:")
        candidates = _list_candidates(root, name)
        for candidate in candidates:
            detail = candidate["program"] if candidate["state"] == "found" else f"-> {candidate['detail']}"
            print(f"  {candidate['name']:28} {candidate['language']:12} {candidate['state']:9} {detail}")
        if not candidates:
            print("  none: the folder has no files of a language with a server")
    return 0


def _list_candidates(root: str, name: str) -> list[dict[str, object]]:
    candidates = find_candidates(root, load_catalog(root).all(Language), is_trusted(root))
    return [
        {"name": candidate.server.name, "detail": candidate.why}
        | select_fields(candidate, "language", "state", "files", "program")
        for candidate in candidates
        if candidate.files and name in ("", candidate.server.name, candidate.language)
    ]


def _send_verb(root: str, verb: status_files.ServerVerb, name: str, as_json: bool) -> int:
    reply = status_files.request_command(paths.state(), root, verb, name, REPLY_SECONDS)
    if as_json:
        print_json({"answers": reply.splitlines()})
    elif reply:
        print(reply)
    if not reply:
        print(f"cockpit: no cockpit runs on {root}, so there is nothing to {verb}", file=sys.stderr)
    return 0 if reply else 1


def _print_logs(root: str, name: str, as_json: bool) -> int:
    """The last lines of each log, of running and of earlier servers."""
    logs = {
        file.stem: file.read_text("utf-8", "replace").splitlines()[-LOG_LINES:]
        for file in sorted((_status_folder(root) / "logs").glob("*.log"))
        if name in ("", file.stem)
    }
    if as_json:
        print_json(logs)
    else:
        for server, lines in logs.items():
            print("\n".join([f"== {server}", *lines]))
    if not logs:
        print(f"cockpit: no server{' ' + name if name else ''} has written a log here", file=sys.stderr)
    return 0 if logs else 1


def _allow_servers(root: str, name: str, trusted: bool) -> int:
    """Approve the servers that the folder's `.lsp.json` names; running cockpits start them."""
    if not trusted:
        raise CockpitError("this folder is not trusted", "to allow its servers, add --trust")
    read = lsp_json.read_all_lsp_json(root, paths.config())
    for text in read.warnings:
        print_warning(text)
    named = {
        server.name: server
        for language in read.languages
        for server in language.servers
        if server.named_by and name in ("", server.name)
    }
    for server in named.values():
        server_programs.approve(_find_approval_file(root), server, root)
        print(f"allowed: {server.name}: {' '.join(server.command)}")
    if not named:
        reason = f"{lsp_json.PROJECT_FILE} of {root} names no server" + (f" {name}" if name else "")
        raise CockpitError(reason, "cockpit lsp status lists the servers that would start")
    if reply := status_files.request_command(paths.state(), root, "allow", name, REPLY_SECONDS):
        print(reply)
    return 0
