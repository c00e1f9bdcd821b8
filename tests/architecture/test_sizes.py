"""No file, function or class grows past what fits a reader, and nothing is suppressed."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "plugins").rglob("src/**/*.py")])
SUPPRESSION = re.compile(
    r"#\s*(noqa|type:\s*ignore|pyright:\s*ignore|mypy:\s*ignore|pragma:\s*no cover|fmt:\s*off)"
)
FILE, FUNCTION, CLASS = 300, 50, 20


def faults(text: str) -> Iterator[str]:
    """What is too large or suppressed in a file's text, a sentence each."""
    lines = text.count("\n")
    if lines > FILE:
        yield f"{lines} lines, over {FILE}: it is two things"
    if found := SUPPRESSION.search(text):
        yield f"a suppression: {found[0]}"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _length(node) > FUNCTION:
            yield f"{node.name} has {_length(node)} lines, over {FUNCTION}"
        if isinstance(node, ast.ClassDef):
            methods = sum(isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) for one in node.body)
            if methods > CLASS:
                yield f"{node.name} has {methods} methods, over {CLASS}"


def _length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_keeps_the_measures(path: Path) -> None:
    assert not list(faults(path.read_text(encoding="utf-8")))


def test_the_guard_sees_each_kind_of_fault() -> None:
    long = "def long():\n" + "    x = 1\n" * FUNCTION
    wide = "class Wide:\n" + "".join(f"    def m{n}(self): ...\n" for n in range(CLASS + 1))
    silenced = "x = 1  # " + "noqa\n"
    assert list(faults(long)) and list(faults(wide)) and list(faults(silenced))
    assert list(faults("x = 1\n" * (FILE + 1)))
    assert not list(faults("def short():\n    return 1\n"))


def test_no_style_sheet_has_a_rule_on_everything() -> None:
    sheets = list((ROOT / "src").rglob("*.tcss"))
    sources = [
        path.read_text(encoding="utf-8") for path in [*sheets, *(ROOT / "src/cockpit/tui").rglob("*.py")]
    ]
    assert not [text for text in sources if re.search(r"(?m)^\s*\*[:\s]*\{", text)]
