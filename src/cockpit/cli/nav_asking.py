"""One question of `cockpit nav`: a navigator without a session, an op and a place to rows.

Knows no output; `nav` prints for people, `nav_batch` for programs.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from cockpit import paths
from cockpit.cli.catalogs import catalog_of
from cockpit.errors import CockpitError
from cockpit.navigation.asking import is_ready
from cockpit.navigation.navigator import LiveNavigator
from cockpit.navigation.open import Root, open_navigator
from cockpit.plugin.languages import Language
from cockpit.protocol.code import AnswerSource, Ask, ProblemRow, Relation, SymbolRow
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
OPS = ("symbols", "outline", "workspace-symbols", *RELATIONS, "hover", "diagnostics")


@dataclass(frozen=True, slots=True)
class Asked:
    """`patience`: seconds that a server which is starting is waited for before the index answers."""

    op: str
    place: str
    source: Ask = "auto"
    patience: float = 1.2


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows, one of the two kinds; `text` is a hover's."""

    rows: tuple[SymbolRow, ...] = ()
    problems: tuple[ProblemRow, ...] = ()
    complete: bool = True
    note: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Opened:
    """A navigator and the workspace it stands on."""

    navigator: LiveNavigator
    workspace: LocalWorkspace


def root_of(named: str) -> str:
    """The folder a person named. Raises `CockpitError` when there is none."""
    root = Path(named).expanduser().absolute()
    if not root.is_dir():
        raise CockpitError(f"there is no folder {root}", "name the project's folder: --root DIR")
    return str(root)


def warn(text: str) -> None:
    """What is wrong with a file of the project's; stdout is for answers."""
    print(f"cockpit: {text}", file=sys.stderr)


@asynccontextmanager
async def opened(root: str, trusted: bool) -> AsyncIterator[Opened]:
    """A navigator of `root`; its servers and index end with the block. `trusted`: for this run."""
    is_trusted = trusted or trust.is_trusted(root) is True
    catalog = await asyncio.to_thread(catalog_of, root, is_trusted)
    workspace = LocalWorkspace(root, str(paths.state()))
    made = Root(workspace, catalog.all(Language), is_trusted, str(paths.state()), str(paths.cache()), warn)
    navigator = open_navigator(made)
    try:
        yield Opened(navigator, workspace)
    finally:
        await navigator.life.close()


async def answer(opened: Opened, asked: Asked) -> Answer:
    """Raises what a bad place raises, and `CockpitError` for an op nobody knows."""
    navigator, place = opened.navigator, relative(opened.workspace.root, asked.place)
    op, source, patience = asked.op, asked.source, asked.patience
    if op not in OPS:
        raise CockpitError(f"there is no op {op}", f"there are {', '.join(OPS)}")
    if op != "diagnostics" and not place:
        raise CockpitError(f"{op} needs a place", "file:line:column, file:Class.method, or Class.method")
    if op in ("symbols", "outline", "workspace-symbols"):
        if op == "workspace-symbols":
            found = await navigator.symbols(place, "", source, patience)
        else:
            found = await navigator.outline(place, source)
        return Answer(found.rows, (), found.complete, found.note)
    if op == "diagnostics":
        # Nobody else can answer this: a server that is starting is waited for, in a batch less.
        seconds = 30.0 if source == "lsp" else 10.0 if patience >= 1.0 else 2.0
        problems = await navigator.problems((place or ".",), seconds)
        return Answer((), problems.rows, problems.complete, problems.note)
    at = await navigator.locate(place)
    if op == "hover":
        text = await navigator.hover(at)
        source_of: AnswerSource = "lsp" if is_ready(navigator.life.now, at.path) else "tree-sitter"
        here = SymbolRow("", "hover", at.path, at.line, at.column, "", source_of)
        return Answer((here,) if text else (), text=text)
    found = await navigator.related(RELATIONS[op], at, source, patience)
    return Answer(found.rows, (), found.complete, found.note)


def relative(root: str, place: str) -> str:
    """`place` with an absolute path inside the root made relative to it."""
    folders = (root.rstrip("/\\"), str(Path(root).resolve()))
    inside = next((one for one in folders if place.startswith((one + "/", one + os.sep))), None)
    return place if inside is None else place[len(inside) + 1 :].replace(os.sep, "/")


def row_of(row: SymbolRow) -> dict[str, Json]:
    """A row as programs read it; the end of a name nobody measured is that of its letters."""
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


def problem_of(row: ProblemRow) -> dict[str, Json]:
    """A problem in the shape of a row: its name is the message, its kind the severity."""
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


def results_of(answer: Answer) -> list[Json]:
    rows: list[Json] = [row_of(row) for row in answer.rows]
    if answer.text:
        rows = [{**row_of(row), "text": answer.text} for row in answer.rows]
    return rows + [problem_of(row) for row in answer.problems]
