"""`cockpit nav OPERATION [PLACE]`: code by symbol on the command line, without a session and without a
model.

`cockpit nav batch` answers each line of JSON on stdin with a line of JSON as soon as it is ready; an invalid
line is answered with the reason.
"""

import argparse
import asyncio
import json
import sys
import threading
from collections.abc import Coroutine, Sequence
from typing import TextIO, cast

from cockpit.cli.command import print_json, select_fields
from cockpit.cli.nav.lookup import (
    OPERATIONS,
    NavAnswer,
    NavProject,
    NavRequest,
    answer_request,
    encode_results,
    make_relative,
    open_project,
    resolve_root,
)
from cockpit.errors import CockpitError
from cockpit.headless.signals import INTERRUPTED_EXIT_CODE, watch_signals
from cockpit.plugin.navigation import PlaceAmbiguous
from cockpit.protocol.code import ProblemRow, SourceChoice, SymbolRow
from cockpit.workspace.files.changes import format_unified_diff, make_diff

MAX_CONCURRENT = 8
# Seconds to wait for a starting server; a program can ask again.
BATCH_PATIENCE_SECONDS = 0.2
CHECK_SECONDS = 5.0
PLACE_FORMS = "file:line:column (from 1, columns in characters), file:Class.method or Class.method"


async def run_batch(opened: NavProject, source: SourceChoice) -> None:
    """Answer every line of stdin, at most `MAX_CONCURRENT` at a time; returns after the last answer."""
    queue = _queue_lines(sys.stdin)
    free = asyncio.Semaphore(MAX_CONCURRENT)
    async with asyncio.TaskGroup() as tasks:
        while (line := await queue.get()) is not None:
            if not line.strip():
                continue
            await free.acquire()
            task = tasks.create_task(_answer_line(opened, line, source))
            task.add_done_callback(lambda _: free.release())


def _queue_lines(lines: TextIO) -> "asyncio.Queue[str | None]":
    """Queue the lines, then None. Reads in a daemon thread, because a read of stdin cannot be cancelled."""
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[str | None] = asyncio.Queue()

    def read() -> None:
        try:
            for line in lines:
                loop.call_soon_threadsafe(queue.put_nowait, line)
            loop.call_soon_threadsafe(queue.put_nowait, None)
        except RuntimeError:
            pass  # the loop ended before its input

    threading.Thread(target=read, daemon=True).start()
    return queue


async def _answer_line(opened: NavProject, line: str, source: SourceChoice) -> None:
    reply = await _build_reply(opened, line, source)
    # A single write, so that answers are never interleaved.
    sys.stdout.write(json.dumps(reply, ensure_ascii=False) + "\n")
    sys.stdout.flush()


async def _build_reply(opened: NavProject, line: str, source: SourceChoice) -> dict[str, object]:
    try:
        args = json.loads(line)
    except ValueError as error:
        return _build_error(None, f"this line is not valid JSON: {error}")
    if not isinstance(args, dict):
        return _build_error(None, 'this line is not a JSON object: {"id": 1, "op": "...", "place": "..."}')
    id, op, place = args.get("id"), args.get("op"), args.get("place", "")
    if not isinstance(op, str) or not isinstance(place, str):
        return _build_error(id, "op and place must be strings")
    try:
        answer = await answer_request(opened, NavRequest(op, place, source, BATCH_PATIENCE_SECONDS))
    except PlaceAmbiguous as error:
        candidates = encode_results(NavAnswer(error.candidates))
        return _build_error(id, str(error)) | {"candidates": candidates}
    except (CockpitError, OSError) as error:
        return _build_error(id, str(error))
    encoded = {"id": id, "results": encode_results(answer)}
    if not answer.complete:
        encoded |= {"complete": False, "note": answer.note}
    elif answer.note and not (answer.rows or answer.problems):
        encoded["note"] = answer.note
    return encoded


def _build_error(id: object, error: str) -> dict[str, object]:
    return {"id": id, "results": [], "error": error}


def main(argv: Sequence[str]) -> int:
    """Exit code 0 if something was found, 1 if not, 2 for wrong usage."""
    parser = _parser()
    args = parser.parse_args(list(argv))
    if args.op == "rename" and (not args.place or not args.new):
        parser.error("rename needs PLACE and the new name")
    if args.op not in ("rename", "batch", "diagnostics") and not args.place:
        parser.error(f"{args.op} needs PLACE: {PLACE_FORMS}")
    if args.new and args.op != "rename":
        parser.error(f"{args.op} takes one PLACE")
    if args.source == "tree-sitter" and args.op in ("rename", "diagnostics"):
        parser.error(f"{args.op} needs a language server; leave out --source")
    root = resolve_root(args.root)
    try:
        return asyncio.run(_run_until_signal(_run_operation(args, root)))
    except asyncio.CancelledError:
        return INTERRUPTED_EXIT_CODE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="cockpit nav",
        description="Look up code by symbol: definitions, uses, problems.",
        epilog=f"PLACE: {PLACE_FORMS}; for symbols and outline a file, for workspace-symbols a name",
    )
    add = parser.add_argument
    ops = (*OPERATIONS, "rename", "batch")
    add("op", choices=ops, metavar="OP", help=", ".join(ops))
    add("place", nargs="?", default="", metavar="PLACE")
    add("new", nargs="?", default="", metavar="NEW", help="the new name (rename)")
    add("--root", default=".", metavar="DIR", help="project folder (default: .)")
    add("--json", action="store_true")
    add("--source", choices=("auto", "lsp", "tree-sitter"), default="auto", help="what may answer")
    add("--trust", action="store_true", help="trust the folder for this run: its own programs may start")
    add("--force", action="store_true", help="rename: apply even if it causes new problems")
    add("--apply", action="store_true", help="rename: write the files (default: only print the diff)")
    return parser


async def _run_until_signal(work: Coroutine[object, object, int]) -> int:
    """Run to the end. A signal cancels `work`, so that the servers are closed in order."""
    task = asyncio.ensure_future(work)
    remove_handlers = watch_signals(lambda _: task.cancel())
    try:
        return await task
    finally:
        remove_handlers()


async def _run_operation(args: argparse.Namespace, root: str) -> int:
    source = cast("SourceChoice", args.source)
    async with open_project(root, args.trust) as opened:
        if args.op == "batch":
            await run_batch(opened, source)
            return 0
        if args.op == "rename":
            return await _rename(opened, args)
        return await _look_up(opened, NavRequest(args.op, args.place, source), args.json)


async def _look_up(opened: NavProject, request: NavRequest, as_json: bool) -> int:
    try:
        answer = await answer_request(opened, request)
    except PlaceAmbiguous as error:
        return _print_candidates(error, as_json)
    except OSError as error:
        reason = f"{request.place}: {error.strerror or error}"
        raise CockpitError(reason, f"a place is {PLACE_FORMS}") from error
    if as_json:
        print_json({"results": encode_results(answer), **select_fields(answer, "complete", "note")})
    else:
        _print_answer(answer)
    if not (answer.rows or answer.problems):
        why = answer.note or "nothing found"
        if answer.note and request.op == "diagnostics":
            why = f"{answer.note}; nothing found"
        print(f"cockpit: {request.op} {request.place}: {why}".replace(" :", ":"), file=sys.stderr)
        return 1
    return 0


def _print_answer(answer: NavAnswer) -> None:
    if answer.text:
        print(answer.text)
        return
    for row in answer.rows:
        print(_format_symbol(row))
    for problem in answer.problems:
        print(_format_problem(problem))
    if not answer.complete and answer.note and (answer.rows or answer.problems):
        print(f"cockpit: {answer.note}", file=sys.stderr)


def _format_problem(problem: ProblemRow) -> str:
    code = f" [{problem.code}]" if problem.code else ""
    message = problem.message.strip().partition("\n")[0]
    place = f"{problem.path}:{problem.line}:{problem.column}"
    return f"{place}  {problem.severity} {problem.server}{code}  {message}"


def _format_symbol(row: SymbolRow) -> str:
    name = f"{row.container}.{row.name}" if row.container and row.kind != "reference" else row.name
    return f"{row.path}:{row.line}:{row.column}  {row.kind} {name}  {row.text}".rstrip()


def _print_candidates(error: PlaceAmbiguous, as_json: bool) -> int:
    if as_json:
        rows = encode_results(NavAnswer(error.candidates))
        encoded = {"results": [], "complete": True, "note": "", "error": str(error), "candidates": rows}
        print_json(encoded)
    print(f"cockpit: {error}", file=sys.stderr)
    for row in error.candidates:
        print(f"  {_format_symbol(row)}", file=sys.stderr)
    return 1


async def _rename(opened: NavProject, args: argparse.Namespace) -> int:
    """Print the diff, or with `--apply` what was written."""
    navigator, workspace = opened.navigator, opened.workspace
    try:
        at = await navigator.locate(make_relative(workspace.root, args.place))
    except PlaceAmbiguous as error:
        return _print_candidates(error, args.json)
    edits = await navigator.rename(at, args.new)
    changes = await workspace.plan(edits)
    if not changes.files:
        print("cockpit: nothing would change", file=sys.stderr)
        return 1
    for row in await navigator.left(at, edits):
        print(f"cockpit: not renamed: {_format_symbol(row)}", file=sys.stderr)
    problems = (await navigator.checked(changes, CHECK_SECONDS)).new
    for problem in problems:
        print(f"cockpit: new problem: {_format_problem(problem)}", file=sys.stderr)
    errors = sum(problem.severity == "error" for problem in problems)
    if args.apply and errors and not args.force:
        count = f"{errors} new error{'s' if errors > 1 else ''}"
        raise CockpitError(f"not renamed: it would cause {count}", "add --force to rename anyway")
    if args.apply:
        await workspace.apply(changes)
    diffs = [make_diff(file) for file in changes.files]
    if args.json:
        rows = [select_fields(file, "path", "change", "moved_from") for file in changes.files]
        text = "".join(format_unified_diff(diff) for diff in diffs)
        print_json({"results": rows, "applied": args.apply, "diff": text})
    elif args.apply:
        for file, diff in zip(changes.files, diffs, strict=True):
            print(f"{file.change}  {file.path}  +{diff.added} -{diff.removed}")
    else:
        print("".join(format_unified_diff(diff) for diff in diffs), end="")
    return 0
