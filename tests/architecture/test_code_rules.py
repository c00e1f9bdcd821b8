"""The rules of the code that a machine can check: sizes, names, cycles, suppressions and tracked files."""

import ast
import collections
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "plugins").rglob("src/**/*.py")])
SUPPRESSION = re.compile(
    r"#\s*(noqa|type:\s*ignore|pyright:\s*ignore|mypy:\s*ignore|pragma:\s*no cover|fmt:\s*off)"
)
MAX_FILE_LINES, MAX_FUNCTION_LINES, MAX_METHODS = 500, 60, 25
MAX_TRACKED_BYTES = 1_000_000
PARTICIPLE = re.compile(r"[a-z]+(ing|ed|en)")
# Packages whose names are part of a public import path or of the architecture.
NOUNS = {"installing"}


def rule_violations(text: str) -> Iterator[str]:
    """What in a file's text is too large or suppressed, a sentence each."""
    lines = text.count("\n")
    if lines > MAX_FILE_LINES:
        yield f"{lines} lines, over {MAX_FILE_LINES}: split it into two ideas"
    if suppression := SUPPRESSION.search(text):
        yield f"a suppression: {suppression[0]}"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _length(node) > MAX_FUNCTION_LINES:
            yield f"{node.name} has {_length(node)} lines, over {MAX_FUNCTION_LINES}"
        if isinstance(node, ast.ClassDef):
            methods = sum(isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) for child in node.body)
            if methods > MAX_METHODS:
                yield f"{node.name} has {methods} methods, over {MAX_METHODS}"


def _length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


@pytest.mark.slow
def test_every_file_keeps_to_the_sizes() -> None:
    violations = [
        f"{path.relative_to(ROOT)}: {violation}"
        for path in SOURCES
        for violation in rule_violations(path.read_text(encoding="utf-8"))
    ]
    assert not violations, "\n".join(violations)


def test_the_size_check_reports_each_kind_of_violation() -> None:
    long = "def long():\n" + "    x = 1\n" * MAX_FUNCTION_LINES
    wide = "class Wide:\n" + "".join(f"    def m{n}(self): ...\n" for n in range(MAX_METHODS + 1))
    suppressed = "x = 1  # " + "noqa\n"
    assert list(rule_violations(long)) and list(rule_violations(wide)) and list(rule_violations(suppressed))
    assert list(rule_violations("x = 1\n" * (MAX_FILE_LINES + 1)))
    assert not list(rule_violations("def short():\n    return 1\n"))


def test_no_module_is_named_by_a_bare_participle() -> None:
    stems = {path.stem if path.stem != "__init__" else path.parent.name for path in SOURCES}
    assert not sorted(stem for stem in stems - NOUNS if PARTICIPLE.fullmatch(stem))


@pytest.mark.slow
def test_class_names_are_unique() -> None:
    homes = collections.defaultdict(list)
    for path in SOURCES:
        if not path.is_relative_to(ROOT / "src"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(str(path.relative_to(ROOT)))
    assert not {name: paths for name, paths in homes.items() if len(paths) > 1}


def test_every_package_says_what_it_owns() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "src").rglob("__init__.py")
        if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not silent


def _imports() -> Mapping[str, set[str]]:
    """Every module of cockpit and the modules it imports, deferred and type-checking imports included."""
    source = ROOT / "src"
    trees = {
        ".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__"): ast.parse(
            path.read_text(encoding="utf-8")
        )
        for path in source.rglob("*.py")
    }
    imports: dict[str, set[str]] = {name: set() for name in trees}
    for name, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    target = f"{node.module}.{alias.name}"
                    imports[name].add(target if target in trees else node.module)
            elif isinstance(node, ast.Import):
                imports[name] |= {alias.name for alias in node.names}
        imports[name] = {target for target in imports[name] if target in trees and target != name}
    return imports


def find_cycles(imports: Mapping[str, set[str]]) -> list[list[str]]:
    """The strongly connected groups of two or more modules (Tarjan's algorithm)."""
    index: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    cycles: list[list[str]] = []

    def visit(name: str) -> None:
        index[name] = lowest[name] = len(index)
        stack.append(name)
        for target in imports.get(name, ()):
            if target not in index:
                visit(target)
                lowest[name] = min(lowest[name], lowest[target])
            elif target in stack:
                lowest[name] = min(lowest[name], index[target])
        if lowest[name] == index[name]:
            position = stack.index(name)
            group = stack[position:]
            del stack[position:]
            if len(group) > 1:
                cycles.append(sorted(group))

    for name in imports:
        if name not in index:
            visit(name)
    return cycles


@pytest.mark.slow
def test_no_modules_import_each_other_in_a_cycle() -> None:
    assert find_cycles(_imports()) == []


def test_the_cycle_check_finds_one() -> None:
    assert find_cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]


def test_no_style_sheet_has_a_rule_on_everything() -> None:
    sheets = list((ROOT / "src").rglob("*.tcss"))
    sources = [
        path.read_text(encoding="utf-8") for path in [*sheets, *(ROOT / "src/cockpit/tui").rglob("*.py")]
    ]
    assert not [text for text in sources if re.search(r"(?m)^\s*\*[:\s]*\{", text)]


def test_no_tracked_file_is_over_one_megabyte() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a git checkout: an unpacked sdist tracks no files")
    paths = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    large = [
        str(path.relative_to(ROOT))
        for path in paths
        if path.is_file() and path.stat().st_size > MAX_TRACKED_BYTES
    ]
    assert not large, f"keep files over 1 MB out of the repository: {large}"
