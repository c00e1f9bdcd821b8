"""`cockpit nav`: code by symbol for scripts, in real processes, with the real server for Python."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from tests.support.command import command
from tests.support.in_process import cockpit

from cockpit.settings import trust

KEYS = {"path", "line", "column", "end_line", "end_column", "name", "kind", "source"}
CART = '''"""Carts."""


class Cart:
    """Prices."""

    def __init__(self, prices: list[int]) -> None:
        self.prices = prices

    def total(self) -> int:
        """What is to be paid, in «€»."""
        return sum(self.prices)
'''
PAY = """from shop.cart import Cart


def checkout(cart: Cart) -> str:
    return f"«{cart.total()}»"


def show(cart: Cart) -> None:
    print(checkout(cart), cart.total())
"""


@pytest.fixture
def project(root: Path) -> Path:
    (root / "shop").mkdir()
    (root / "shop" / "__init__.py").write_text("", encoding="utf-8")
    (root / "shop" / "cart.py").write_text(CART, encoding="utf-8")
    (root / "shop" / "pay.py").write_text(PAY, encoding="utf-8")
    (root / "pyproject.toml").write_text('[project]\nname = "shop"\nversion = "1"\n', encoding="utf-8")
    return root


def places(out: str) -> list[tuple[str, int, int]]:
    return [(row["path"], row["line"], row["column"]) for row in json.loads(out)["results"]]


def test_a_definition_from_a_column_in_characters(project: Path) -> None:
    ended = cockpit(
        "nav", "definition", "shop/pay.py:5:21", "--root", str(project), "--json", cwd=project.parent
    )
    assert ended.code == 0, ended.err
    assert places(ended.out) == [("shop/cart.py", 10, 9)]
    row = json.loads(ended.out)["results"][0]
    assert row.keys() == KEYS and row["name"] == "total" and (row["end_line"], row["end_column"]) == (10, 14)


@pytest.mark.parametrize("source", ["lsp", "tree-sitter"])
def test_references_by_symbol_path_name_their_source(project: Path, source: str) -> None:
    ended = cockpit("nav", "references", "shop/cart.py:Cart.total", "--json", "--source", source, cwd=project)
    found = json.loads(ended.out)
    uses = {(row["path"], row["line"], row["column"]) for row in found["results"]}
    assert {("shop/pay.py", 5, 21), ("shop/pay.py", 9, 32)} <= uses, ended.err
    assert {row["source"] for row in found["results"]} == {source} and found["complete"]


def test_text_outline_of_a_file_is_compact(project: Path) -> None:
    ended = cockpit("nav", "symbols", "shop/cart.py", cwd=project)
    lines = ended.out.splitlines()
    assert ended.code == 0 and any(
        line.startswith("shop/cart.py:10:9  ") and "Cart.total" in line and "def total(self)" in line
        for line in lines
    )
    absolute = cockpit("nav", "outline", str(project / "shop" / "cart.py"), "--root", str(project), cwd="/")
    assert absolute.out == ended.out


@pytest.mark.parametrize(
    ("op", "place", "wanted"),
    [
        ("callers", "Cart.total", ("shop/pay.py", "checkout")),
        ("workspace-symbols", "checkou", ("shop/pay.py", "checkout")),
        ("callees", "shop/pay.py:show", ("shop/pay.py", "checkout")),
    ],
)
def test_callers_callees_and_workspace_symbols(
    project: Path, op: str, place: str, wanted: tuple[str, str]
) -> None:
    ended = cockpit("nav", op, place, "--json", cwd=project)
    found = {(row["path"], row["name"]) for row in json.loads(ended.out)["results"]}
    assert wanted in found, (ended.out, ended.err)


def test_hover_prints_signature_and_documentation(project: Path) -> None:
    ended = cockpit("nav", "hover", "Cart.total", cwd=project)
    assert ended.code == 0 and "total(self)" in ended.out and "What is to be paid" in ended.out, ended.err


def test_diagnostics_without_a_place_report_the_number_of_files(project: Path) -> None:
    (project / "shop" / "bad.py").write_text("import os\nprint(nothing)\n", encoding="utf-8")
    ended = cockpit("nav", "diagnostics", "--json", cwd=project)
    told = json.loads(ended.out)
    assert any(row["path"] == "shop/bad.py" for row in told["results"]) and "files checked" in told["note"]
    (project / "fine").mkdir()
    (project / "fine" / "one.py").write_text("X = 1\n")
    ended = cockpit("nav", "diagnostics", "fine", cwd=project)
    assert ended.code == 1 and "diagnostics fine: 1 file checked; nothing found" in ended.err


def test_diagnostics_name_the_problem_and_its_server(project: Path) -> None:
    (project / "shop" / "bad.py").write_text("import os\nprint(nothing)\n", encoding="utf-8")
    ended = cockpit("nav", "diagnostics", "shop/bad.py", "--json", "--source", "lsp", cwd=project)
    rows = json.loads(ended.out)["results"]
    assert any(row["line"] == 2 and "nothing" in row["name"] for row in rows), (ended.out, ended.err)
    assert {row["kind"] for row in rows} <= {"error", "warning", "info", "hint"}


def test_a_rename_is_a_diff_until_it_is_applied(project: Path) -> None:
    before = {path: path.read_bytes() for path in project.rglob("*.py")}
    ended = cockpit("nav", "rename", "Cart.total", "amount", cwd=project)
    assert ended.code == 0, ended.err
    assert "--- a/shop/pay.py" in ended.out and "+    def amount(self) -> int:" in ended.out
    assert before == {path: path.read_bytes() for path in project.rglob("*.py")}
    applied = cockpit("nav", "rename", "Cart.total", "amount", "--apply", cwd=project)
    assert applied.code == 0 and "shop/pay.py" in applied.out, applied.err
    assert "cart.amount()" in (project / "shop" / "pay.py").read_text("utf-8")
    assert "def amount(self)" in (project / "shop" / "cart.py").read_text("utf-8")


def test_nothing_found_exits_with_1_and_a_message(project: Path) -> None:
    for place in ("Cart.nothing", "shop/none.py:1:1", "shop/pay.py:999:1"):
        ended = cockpit("nav", "definition", place, cwd=project)
        assert (ended.code, ended.out) == (1, "") and ended.err.startswith("cockpit: "), place


def test_an_ambiguous_name_lists_its_candidates(project: Path) -> None:
    (project / "shop" / "other.py").write_text("def checkout() -> None: ...\n", encoding="utf-8")
    ended = cockpit("nav", "definition", "checkout", cwd=project)
    assert ended.code == 1 and "shop/other.py:1" in ended.err and "shop/pay.py:4" in ended.err


@pytest.mark.parametrize(
    "arguments", [("definition",), ("rename", "Cart"), ("definition", "a", "b"), ("fly", "a.py:1:1")]
)
def test_usage_error_exits_with_2(project: Path, arguments: tuple[str, ...]) -> None:
    ended = cockpit("nav", *arguments, cwd=project)
    assert ended.code == 2 and "usage: cockpit nav" in ended.err


def test_missing_folder_is_reported(root: Path) -> None:
    ended = cockpit("nav", "symbols", "a.py", "--root", str(root / "none"), cwd=root)
    assert ended.code == 1 and "is not a folder" in ended.err


def test_a_batch_answers_every_line_once_and_ends_at_the_end_of_its_input(project: Path) -> None:
    asked = [{"id": n, "op": "definition", "place": "shop/pay.py:5:21"} for n in range(20)]
    asked += [
        {"id": "outline", "op": "symbols", "place": "shop/cart.py"},
        {"id": "bad", "op": "definition", "place": "shop/none.py:1:1"},
        {"id": "op", "op": "fly", "place": "shop/cart.py"},
    ]
    lines = [json.dumps(one) for one in asked] + ["not json", "[1]", "", '{"id": 99, "op": 1}']
    ended = cockpit("nav", "batch", "--root", str(project), cwd=project.parent, stdin="\n".join(lines))
    assert ended.code == 0, ended.err
    answers = [json.loads(line) for line in ended.out.splitlines()]
    assert len(answers) == len(asked) + 3
    by_id = {one["id"]: one for one in answers if one["id"] is not None}
    for n in range(20):
        rows = [(row["path"], row["line"], row["column"]) for row in by_id[n]["results"]]
        assert rows == [("shop/cart.py", 10, 9)] and by_id[n]["results"][0].keys() == KEYS
    assert {row["name"] for row in by_id["outline"]["results"]} >= {"Cart", "total"}
    assert by_id["bad"]["results"] == [] and "none.py" in by_id["bad"]["error"]
    assert "unknown op 'fly'" in by_id["op"]["error"] and "must be strings" in by_id[99]["error"]
    assert sum(one["id"] is None and "error" in one for one in answers) == 2


def test_a_batch_answers_while_its_input_is_open(project: Path) -> None:
    with subprocess.Popen(
        command("nav", "batch", "--source", "tree-sitter"),
        cwd=project,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        for n in range(3):
            process.stdin.write(json.dumps({"id": n, "op": "callers", "place": "Cart.total"}) + "\n")
            process.stdin.flush()
            answer = json.loads(process.stdout.readline())
            assert answer["id"] == n and {row["name"] for row in answer["results"]} == {"checkout", "show"}
        process.stdin.close()
        assert process.stdout.read() == "" and process.wait(30) == 0


def test_a_signal_ends_the_batch_and_its_servers(project: Path) -> None:
    with subprocess.Popen(
        command("nav", "batch", "--source", "lsp"),
        cwd=project,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps({"id": 1, "op": "definition", "place": "shop/pay.py:5:21"}) + "\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["results"][0]["source"] == "lsp"
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(30) == 130


SUM = {
    "add.h": "struct box { int add; };\nint add(int a, int b);\n",
    "add.c": '#include "add.h"\nint add(int a, int b) { return a + b; }\n',
    "main.c": '#include "add.h"\nint main(void) { struct box b; b.add = 2; return add(1, b.add); }\n',
    "other.c": "static int add(int x) { return x; }\nint other(void) { return add(3); }\n",
}


@pytest.mark.parametrize("place", ["add.c:2:5", "main.c:2:50", "add.h:2:5"])
def test_a_function_of_c_is_renamed_in_files_that_no_build_description_names(root: Path, place: str) -> None:
    for name, text in SUM.items():
        (root / name).write_text(text, encoding="utf-8")
    ended = cockpit("nav", "rename", place, "plus", "--root", str(root), "--apply", cwd=root)
    assert ended.code == 0, ended.err
    after = {name: (root / name).read_text(encoding="utf-8") for name in SUM}
    assert after["add.h"] == "struct box { int add; };\nint plus(int a, int b);\n"
    assert "int plus(int a" in after["add.c"] and "b.add = 2; return plus(1, b.add)" in after["main.c"]
    assert after["other.c"] == SUM["other.c"]


def test_rename_that_would_break_other_code_is_refused_with_places(project: Path) -> None:
    latin = "# -*- coding: latin-1 -*-\nfrom shop.cart import Cart\nCAFE = 'café'\nprint(Cart([]).total())\n"
    (project / "latin.py").write_text(latin, encoding="latin-1")
    rename = ("nav", "rename", "shop/cart.py:Cart.total", "amount", "--root", str(project), "--apply")
    refused = cockpit(*rename, cwd=project)
    assert refused.code == 1 and "not renamed: latin.py:4:16" in refused.err, refused.err
    assert "1 new error" in refused.err and "def total" in (project / "shop" / "cart.py").read_text("utf-8")
    forced = cockpit(*rename, "--force", cwd=project)
    assert forced.code == 0 and "def amount" in (project / "shop" / "cart.py").read_text("utf-8")


def test_symbols_with_source_lsp_start_the_server(project: Path) -> None:
    asked = ("nav", "workspace-symbols", "checkout", "--root", str(project), "--source", "lsp", "--json")
    ended = cockpit(*asked, cwd=project)
    assert places(ended.out) == [("shop/pay.py", 4, 5)], ended.err


def test_broken_lsp_json_is_named(project: Path) -> None:
    (project / ".lsp.json").write_text("{", encoding="utf-8")
    trust.save_trust(str(project), True)
    ended = cockpit("lsp", "status", "--root", str(project), cwd=project)
    assert ".lsp.json: invalid JSON" in ended.err
