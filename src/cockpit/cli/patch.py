"""`cockpit patch FILE|-`: apply a patch to a folder, all or nothing. There is no session, no model and no
approval, because the caller has read the patch.
"""

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from cockpit import paths
from cockpit.cli.command import add_options
from cockpit.errors import CockpitError
from cockpit.plugin.changes import ChangeSet, FileChange
from cockpit.protocol.messages import Json
from cockpit.workspace.files.changes import format_unified_diff, make_diff
from cockpit.workspace.local import LocalWorkspace
from cockpit.workspace.patches.planner import WorkspacePatch, plan_workspace_patch
from cockpit.workspace.patches.values import PatchRefused

APPLIED, REFUSED, USAGE = 0, 1, 2


def main(argv: Sequence[str]) -> int:
    """Exit code 0 if it was applied (or would be), 1 if refused, 2 for wrong usage."""
    parser = argparse.ArgumentParser(
        prog="cockpit patch",
        description="Apply a patch, all or nothing: a unified diff, or *** Begin Patch ...",
        epilog="Exit codes: 0 applied, 1 refused with all files unchanged, 2 wrong usage.",
    )
    parser.add_argument("file", metavar="FILE", help="the patch; - reads standard input")
    parser.add_argument("--root", required=True, metavar="DIR", help="the folder to patch")
    parser.add_argument("--dry-run", action="store_true", help="only show what would change")
    add_options(parser, "json")
    args = parser.parse_args(list(argv))
    root = Path(args.root).expanduser()
    if not root.is_dir():
        parser.error(f"{args.root} is not a folder; name an existing folder with --root")
    try:
        raw = sys.stdin.buffer.read() if args.file == "-" else Path(args.file).expanduser().read_bytes()
    except OSError as error:
        parser.error(f"{args.file} cannot be read: {error.strerror or error}")
    # Bytes that are not UTF-8 pass through: a new file may contain them.
    text = raw.decode("utf-8", "surrogateescape")
    return asyncio.run(_apply_patch(str(root), text, args.dry_run, args.json))


async def _apply_patch(root: str, text: str, dry: bool, as_json: bool) -> int:
    workspace = LocalWorkspace(root, str(paths.state()))
    try:
        for recovered in await workspace.recover():
            print(f"cockpit: {recovered}", file=sys.stderr)
        planned, changes = await plan_workspace_patch(workspace, text)
        if not dry:
            await workspace.apply(changes)
    except CockpitError as error:
        _print_refusal(error, as_json)
        return REFUSED
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _print_refusal(CockpitError(f"{where}{error.strerror or error}; nothing was written"), as_json)
        return REFUSED
    finally:
        await workspace.close()
    _print_result(planned, changes, dry, as_json)
    return APPLIED


def _print_refusal(error: CockpitError, as_json: bool) -> None:
    if not as_json:
        print(f"cockpit: refused, nothing was written: {_escape_text(str(error))}", file=sys.stderr)
        return
    encoded: dict[str, Json] = {"applied": False, "reason": error.message, "hint": error.hint}
    if isinstance(error, PatchRefused):
        encoded |= {"path": error.path, "hunk": error.hunk, "patch_line": error.place, "nearest": error.near}
    print(json.dumps(encoded))


def _print_result(planned: WorkspacePatch, changes: ChangeSet, dry: bool, as_json: bool) -> None:
    if as_json:
        files: list[Json] = [_encode_change(change, planned) for change in changes.files]
        notes: list[Json] = list(planned.patch.notes)
        print(json.dumps({"applied": not dry, "dry_run": dry, "files": files, "notes": notes}))
        return
    for change in changes.files:
        diff = make_diff(change)
        moved = f"{_escape_text(change.moved_from)} -> " if change.moved_from else ""
        print(f"{change.change:8} {moved}{_escape_text(change.path)}  +{diff.added} -{diff.removed}")
        if dry and diff.hunks:
            print(_escape_text(format_unified_diff(diff)), end="")
    for note in planned.patch.notes:
        print(f"note: {_escape_text(note)}")
    if dry:
        print("nothing was written")


def _encode_change(change: FileChange, planned: WorkspacePatch) -> Json:
    diff = make_diff(change)
    placed = planned.patch.placed.get(change.path, ())
    hunks: list[Json] = [
        {"hunk": hunk.number, "patch_line": hunk.place, "line": hunk.line, "asked": hunk.asked}
        | {"matched": hunk.how}
        for hunk in placed
    ]
    return {
        "path": os.fsencode(change.path).decode("utf-8", "replace"),
        "change": change.change,
        "from": os.fsencode(change.moved_from).decode("utf-8", "replace"),
        "added": diff.added,
        "removed": diff.removed,
        "mode": f"{change.mode:o}",
        "hunks": hunks,
    }


def _escape_text(text: str) -> str:
    """`text` with unprintable characters, except newlines and tabs, written as escapes."""
    escaped = (c if c in "\n\t" or c.isprintable() else f"\\x{ord(c):02x}" for c in text)
    return os.fsencode("".join(escaped)).decode("utf-8", "replace")
