"""Answers one request of `cockpit nav`: opens a navigator without a session and turns an operation and a
place into rows.

Prints nothing; `main` prints for people and for programs.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from cockpit import paths
from cockpit.cli.command import load_catalog
from cockpit.errors import CockpitError
from cockpit.navigation.navigator import LiveNavigator, NavigatorConfig, open_navigator
from cockpit.navigation.query_router import has_ready_server
from cockpit.plugin.languages import Language
from cockpit.protocol.code import AnswerSource, ProblemRow, Relation, SourceChoice, SymbolRow
from cockpit.protocol.messages import Json
from cockpit.settings import trust
from cockpit.workspace.local import LocalWorkspace

RELATIONS: dict[str, Relation] = {
    "definition": "definition",
    "references": "references",
    "callers": "callers",
    "callees": "callees",
    "implementations": "implementations",
    "supertypes": "supertypes",
    "subtypes": "subtypes",
    "tests": "tests",
}
OPERATIONS = ("symbols", "outline", "workspace-symbols", *RELATIONS, "hover", "diagnostics")


@dataclass(frozen=True, slots=True)
class NavRequest:
    """`patience` is how many seconds a starting server is waited for before the index answers."""

    op: str
    place: str
    source: SourceChoice = "auto"
    patience: float = 1.2


@dataclass(frozen=True, slots=True)
class NavAnswer:
    """Rows of symbols or of problems; `text` is the text of a hover."""

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
        raise CockpitError(f"there is no folder {root}", "name the project folder with --root DIR")
    return str(root)


def print_warning(text: str) -> None:
    """Report a problem with one of the project's files on stderr; stdout is for answers."""
    print(f"cockpit: {text}", file=sys.stderr)


@asynccontextmanager
async def open_project(root: str, trusted: bool) -> AsyncIterator[NavProject]:
    """A navigator for `root`; its servers and index are closed with the context. `trusted` applies to this
    run only."""
    is_trusted = trusted or trust.is_trusted(root) is True
    catalog = await asyncio.to_thread(load_catalog, root, is_trusted)
    workspace = LocalWorkspace(root, str(paths.state()))
    made = NavigatorConfig(
        workspace, catalog.all(Language), is_trusted, str(paths.state()), str(paths.cache()), print_warning
    )
    navigator = open_navigator(made)
    try:
        yield NavProject(navigator, workspace)
    finally:
        await navigator.life.close()


async def answer_request(opened: NavProject, request: NavRequest) -> NavAnswer:
    """Answer a request. Raises what an invalid place raises, and `CockpitError` for an unknown operation."""
    navigator, place = opened.navigator, make_relative(opened.workspace.root, request.place)
    op, source, patience = request.op, request.source, request.patience
    if op not in OPERATIONS:
        raise CockpitError(f"there is no op {op}", f"use one of {', '.join(OPERATIONS)}")
    if op != "diagnostics" and not place:
        raise CockpitError(f"{op} needs a place", "file:line:column, file:Class.method, or Class.method")
    if op in ("symbols", "outline", "workspace-symbols"):
        if op == "workspace-symbols":
            result = await navigator.symbols(place, "", source, patience)
        else:
            result = await navigator.outline(place, source)
        return NavAnswer(result.rows, (), result.complete, result.note)
    if op == "diagnostics":
        # Only a server can answer this, so a starting one is waited for, in a batch for less time.
        seconds = 30.0 if source == "lsp" else 10.0 if patience >= 1.0 else 2.0
        problems = await navigator.problems((place or ".",), seconds)
        return NavAnswer((), problems.rows, problems.complete, problems.note)
    at = await navigator.locate(place)
    if op == "hover":
        text = await navigator.hover(at)
        source_of: AnswerSource = "lsp" if has_ready_server(navigator.life.now, at.path) else "tree-sitter"
        here = SymbolRow("", "hover", at.path, at.line, at.column, "", source_of)
        return NavAnswer((here,) if text else (), text=text)
    result = await navigator.related(RELATIONS[op], at, source, patience)
    return NavAnswer(result.rows, (), result.complete, result.note)


def make_relative(root: str, place: str) -> str:
    """`place` with an absolute path inside the root made relative to it."""
    folders = (root.rstrip("/\\"), str(Path(root).resolve()))
    inside = next((folder for folder in folders if place.startswith((folder + "/", folder + os.sep))), None)
    return place if inside is None else place[len(inside) + 1 :].replace(os.sep, "/")


def encode_symbol(row: SymbolRow) -> dict[str, Json]:
    """A row for programs; if the end of the name is unknown, it is computed from its length."""
    return {
        "path": row.path,
        "line": row.line,
        "column": row.column,
        "end_line": row.end_line or row.line,
        "end_column": row.end_column or row.column + len(row.name),
        "name": row.name,
        "kind": row.kind,
        "source": row.source,
    }


def encode_problem(row: ProblemRow) -> dict[str, Json]:
    """A problem in the shape of a row: `name` is its message, `kind` its severity."""
    return {
        "path": row.path,
        "line": row.line,
        "column": row.column,
        "end_line": row.end_line,
        "end_column": row.end_column,
        "name": row.message,
        "kind": row.severity,
        "source": "lsp",
        "code": row.code,
        "server": row.server,
    }


def encode_results(answer: NavAnswer) -> list[Json]:
    rows: list[Json] = [encode_symbol(row) for row in answer.rows]
    if answer.text:
        rows = [{**encode_symbol(row), "text": answer.text} for row in answer.rows]
    return rows + [encode_problem(row) for row in answer.problems]
