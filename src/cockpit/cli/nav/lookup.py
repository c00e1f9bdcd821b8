"""Answers one request of `cockpit nav`: opens a navigator without a session, and looks up an operation and a
place. Prints nothing.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast, get_args

from cockpit import paths
from cockpit.cli.command import is_trusted, load_catalog, select_fields
from cockpit.errors import CockpitError
from cockpit.navigation.navigator import LiveNavigator, NavigatorConfig, open_navigator
from cockpit.navigation.query_router import has_ready_server
from cockpit.plugin.languages import Language
from cockpit.protocol.code import AnswerSource, ProblemRow, Relation, SourceChoice, SymbolRow
from cockpit.workspace.local import LocalWorkspace

RELATIONS: tuple[Relation, ...] = get_args(Relation)
OPERATIONS = ("symbols", "outline", "workspace-symbols", *RELATIONS, "hover", "diagnostics")


@dataclass(frozen=True, slots=True)
class NavRequest:
    """An operation of `OPERATIONS` on a place. The index answers if a server has not started after `patience`
    seconds."""

    op: str
    place: str
    source: SourceChoice = "auto"
    patience: float = 1.2


@dataclass(frozen=True, slots=True)
class NavAnswer:
    """Rows of symbols or of problems, or the `text` of a hover."""

    rows: tuple[SymbolRow, ...] = ()
    problems: tuple[ProblemRow, ...] = ()
    complete: bool = True
    note: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class NavProject:
    """A navigator and the workspace it works on."""

    navigator: LiveNavigator
    workspace: LocalWorkspace


def resolve_root(named: str) -> str:
    """The absolute path of the named folder. Raises `CockpitError` if it does not exist."""
    root = Path(named).expanduser().absolute()
    if not root.is_dir():
        raise CockpitError(f"{root} is not a folder", "name the project folder with --root DIR")
    return str(root)


def print_warning(text: str) -> None:
    """Report a problem with one of the project's files on stderr; stdout is for answers."""
    print(f"cockpit: {text}", file=sys.stderr)


@asynccontextmanager
async def open_project(root: str, trusted: bool) -> AsyncIterator[NavProject]:
    """A navigator for `root`; its servers and index are closed with the context. `trusted` applies to this
    run only."""
    trusted = trusted or is_trusted(root)
    catalog = await asyncio.to_thread(load_catalog, root, trusted)
    workspace = LocalWorkspace(root, str(paths.state()))
    folders = str(paths.state()), str(paths.cache())
    config = NavigatorConfig(workspace, catalog.all(Language), trusted, *folders, print_warning)
    navigator = open_navigator(config)
    try:
        yield NavProject(navigator, workspace)
    finally:
        await navigator.life.close()


async def answer_request(opened: NavProject, request: NavRequest) -> NavAnswer:
    """Answer a request. Raises the errors of an invalid place, and `CockpitError` for an unknown `op`."""
    navigator, place = opened.navigator, make_relative(opened.workspace.root, request.place)
    op, source, patience = request.op, request.source, request.patience
    if op not in OPERATIONS:
        raise CockpitError(f"unknown op {op!r}", f"choose one of {', '.join(OPERATIONS)}")
    if op != "diagnostics" and not place:
        raise CockpitError(f"{op} needs a place", "file:line:column, file:Class.method, or Class.method")
    if op == "workspace-symbols":
        result = await navigator.symbols(place, "", source, patience)
        return NavAnswer(result.rows, (), result.complete, result.note)
    if op in ("symbols", "outline"):
        result = await navigator.outline(place, source)
        return NavAnswer(result.rows, (), result.complete, result.note)
    if op == "diagnostics":
        # Only a server can answer this, so wait for it to start; in a batch for less time.
        seconds = 30.0 if source == "lsp" else 10.0 if patience >= 1.0 else 2.0
        problems = await navigator.problems((place or ".",), seconds)
        return NavAnswer((), problems.rows, problems.complete, problems.note)
    at = await navigator.locate(place)
    if op == "hover":
        text = await navigator.hover(at)
        source_of: AnswerSource = "lsp" if has_ready_server(navigator.life.now, at.path) else "tree-sitter"
        here = SymbolRow("", "hover", at.path, at.line, at.column, "", source_of)
        return NavAnswer((here,) if text else (), text=text)
    result = await navigator.related(cast("Relation", op), at, source, patience)
    return NavAnswer(result.rows, (), result.complete, result.note)


def make_relative(root: str, place: str) -> str:
    """`place` with an absolute path inside the root made relative to it."""
    folders = (root.rstrip("/\\"), str(Path(root).resolve()))
    inside = next((folder for folder in folders if place.startswith((folder + "/", folder + os.sep))), None)
    return place if inside is None else place[len(inside) + 1 :].replace(os.sep, "/")


def encode_results(answer: NavAnswer) -> list[dict[str, object]]:
    """The rows for programs, with `text` in that of a hover."""
    hover = {"text": answer.text} if answer.text else {}
    symbols = [_encode_symbol(row) | hover for row in answer.rows]
    return symbols + [_encode_problem(row) for row in answer.problems]


def _encode_symbol(row: SymbolRow) -> dict[str, object]:
    return {
        **select_fields(row, "path", "line", "column", "name", "kind", "source"),
        "end_line": row.end_line or row.line,
        # A server may not report the end of the name.
        "end_column": row.end_column or row.column + len(row.name),
    }


def _encode_problem(row: ProblemRow) -> dict[str, object]:
    """A problem in the shape of a symbol: `name` is its message, `kind` its severity."""
    return {
        **select_fields(row, "path", "line", "column", "end_line", "end_column", "code", "server"),
        "name": row.message,
        "kind": row.severity,
        "source": "lsp",
    }
