"""`cockpit nav OP [PLACE]`: code by symbol on the command line, without a session and without a model."""

import argparse
import asyncio
import json
import sys
from collections.abc import Coroutine, Sequence
from typing import cast

from cockpit.cli import nav_batch
from cockpit.cli.nav_asking import OPS, Answer, Asked, Opened, answer, opened, relative, results_of, root_of
from cockpit.errors import CockpitError
from cockpit.headless.signals import INTERRUPTED, on_signals
from cockpit.plugin.navigation import PlaceAmbiguous
from cockpit.protocol.code import Ask, ProblemRow, SymbolRow
from cockpit.protocol.messages import Json
from cockpit.workspace.changes import diff_of
from cockpit.workspace.hunks import unified

CHECK_SECONDS = 5.0
PLACES = "file:line:column (from 1, columns in characters), file:Class.method or Class.method"


def main(argv: Sequence[str]) -> int:
    """0 when something was found, 1 when not, 2 for a fault of usage."""
    parser = _parser()
    given = parser.parse_args(list(argv))
    if given.op == "rename" and (not given.place or not given.new):
        parser.error("rename needs PLACE and the new name")
    if given.op not in ("rename", "batch", "diagnostics") and not given.place:
        parser.error(f"{given.op} needs PLACE: {PLACES}")
    if given.new and given.op != "rename":
        parser.error(f"{given.op} takes one PLACE")
    if given.source == "tree-sitter" and given.op in ("rename", "diagnostics"):
        parser.error(f"{given.op} needs a language server; leave out --source")
    root = root_of(given.root)
    try:
        return asyncio.run(_until_signal(_run(given, root)))
    except asyncio.CancelledError:
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="cockpit nav",
        description="Code by symbol: definitions, uses, problems.",
        epilog=f"PLACE: {PLACES}; for symbols and outline a file, for workspace-symbols a name",
    )
    add = parser.add_argument
    add("op", choices=(*OPS, "rename", "batch"), metavar="OP", help=", ".join((*OPS, "rename", "batch")))
    add("place", nargs="?", default="", metavar="PLACE")
    add("new", nargs="?", default="", metavar="NEW", help="the new name (rename)")
    add("--root", default=".", metavar="DIR", help="the project's folder")
    add("--json", action="store_true")
    add("--source", choices=("auto", "lsp", "tree-sitter"), default="auto", help="who may answer")
    add("--trust", action="store_true", help="trust the folder for this run: its own programs may start")
    add("--force", action="store_true", help="rename: apply it although it brings new problems")
    add("--apply", action="store_true", help="rename: write it; without this only the diff is printed")
    return parser


async def _until_signal(work: Coroutine[object, object, int]) -> int:
    """End servers in order, too, when the terminal or the caller ends us."""
    task = asyncio.ensure_future(work)
    forget = on_signals(lambda _: task.cancel())
    try:
        return await task
    finally:
        forget()


async def _run(given: argparse.Namespace, root: str) -> int:
    source = cast("Ask", given.source)
    async with opened(root, given.trust) as open_root:
        if given.op == "batch":
            await nav_batch.run(open_root, source)
            return 0
        if given.op == "rename":
            return await _rename(open_root, given)
        return await _ask(open_root, Asked(given.op, given.place, source), given.json)


async def _ask(open_root: Opened, asked: Asked, as_json: bool) -> int:
    try:
        found = await answer(open_root, asked)
    except PlaceAmbiguous as error:
        return _ambiguous(error, as_json)
    except OSError as error:
        raise CockpitError(f"{asked.place}: {error.strerror or error}", f"a place is {PLACES}") from error
    if as_json:
        said: dict[str, Json] = {
            "results": results_of(found),
            "complete": found.complete,
            "note": found.note,
        }
        print(json.dumps(said, ensure_ascii=False))
    else:
        _print(found)
    if not (found.rows or found.problems):
        why = found.note or "nothing found"
        if found.note and asked.op == "diagnostics":
            why = f"{found.note}; nothing found"
        print(f"cockpit: {asked.op} {asked.place}: {why}".replace(" :", ":"), file=sys.stderr)
        return 1
    return 0


def _print(found: Answer) -> None:
    if found.text:
        print(found.text)
        return
    for row in found.rows:
        print(_line(row))
    for one in found.problems:
        print(_problem(one))
    if not found.complete and found.note and (found.rows or found.problems):
        print(f"cockpit: {found.note}", file=sys.stderr)


def _problem(one: ProblemRow) -> str:
    code = f" [{one.code}]" if one.code else ""
    message = one.message.strip().partition("\n")[0]
    return f"{one.path}:{one.line}:{one.column}  {one.severity} {one.server}{code}  {message}"


def _line(row: SymbolRow) -> str:
    name = f"{row.container}.{row.name}" if row.container and row.kind != "reference" else row.name
    return f"{row.path}:{row.line}:{row.column}  {row.kind} {name}  {row.text}".rstrip()


def _ambiguous(error: PlaceAmbiguous, as_json: bool) -> int:
    if as_json:
        rows = results_of(Answer(error.candidates))
        said = {"results": [], "complete": True, "note": "", "error": str(error), "candidates": rows}
        print(json.dumps(said, ensure_ascii=False))
    print(f"cockpit: {error}", file=sys.stderr)
    for row in error.candidates:
        print(f"  {_line(row)}", file=sys.stderr)
    return 1


async def _rename(open_root: Opened, given: argparse.Namespace) -> int:
    """The diff, or with `--apply` what was written."""
    navigator, workspace = open_root.navigator, open_root.workspace
    try:
        at = await navigator.locate(relative(workspace.root, given.place))
    except PlaceAmbiguous as error:
        return _ambiguous(error, given.json)
    edits = await navigator.rename(at, given.new)
    changes = await workspace.plan(edits)
    if not changes.files:
        print("cockpit: nothing would change", file=sys.stderr)
        return 1
    for row in await navigator.left(at, edits):
        print(f"cockpit: not renamed: {_line(row)}", file=sys.stderr)
    broken = (await navigator.checked(changes, CHECK_SECONDS)).new
    for one in broken:
        print(f"cockpit: new problem: {_problem(one)}", file=sys.stderr)
    errors = sum(one.severity == "error" for one in broken)
    if given.apply and errors and not given.force:
        count = f"{errors} new error{'s' if errors > 1 else ''}"
        raise CockpitError(f"not renamed: it would bring {count}", "--force renames all the same")
    if given.apply:
        await workspace.apply(changes)
    diffs = [diff_of(file) for file in changes.files]
    if given.json:
        rows: list[Json] = [
            {"path": one.path, "change": one.change, "moved_from": one.moved_from} for one in changes.files
        ]
        text = "".join(unified(one) for one in diffs)
        print(json.dumps({"results": rows, "applied": given.apply, "diff": text}, ensure_ascii=False))
    elif given.apply:
        for file, diff in zip(changes.files, diffs, strict=True):
            print(f"{file.change}  {file.path}  +{diff.added} -{diff.removed}")
    else:
        print("".join(unified(one) for one in diffs), end="")
    return 0
