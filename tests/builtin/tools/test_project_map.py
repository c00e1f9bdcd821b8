"""What the map reports about projects, and its limits."""

from pathlib import Path

import pytest
from tests.support.session_view import call, context_on, registered

from cockpit.builtin.tools import project_map
from cockpit.builtin.tools.project_map import survey as surveying
from cockpit.builtin.tools.project_map.manifests import read_manifest
from cockpit.builtin.tools.project_map.survey import first_sentence
from cockpit.plugin.tools import ToolFailed

TOOL = registered(project_map)["project_map"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, content in {
        "pyproject.toml": '[project]\nname = "shop"\n[project.scripts]\nshop = "shop.cli:main"\n',
        "README.md": "# Shop\n\n![badge](x)\n\nSells *small* things. And more.\n",
        "Makefile": "run:\n\ttrue\ntest:\n\ttrue\nX := 1\n",
        "src/shop/__init__.py": '"""The shop itself."""\n',
        "src/shop/cli.py": "def main():\n    pass\n" * 50,
        "tests/test_cli.py": "def test(): pass\n",
        "web/package.json": '{"name": "web", "scripts": {"test": "vitest", "build": "vite build"}}',
        "web/app.ts": "export {}\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    return tmp_path


async def test_project_is_described_from_its_files(project: Path) -> None:
    lines = (await call(TOOL, context_on(project))).text.splitlines()
    assert lines[0] == "shop: Sells small things."
    assert lines[1].startswith("8 files, ")
    assert lines[2].startswith("languages: Python 3 files 102 lines; TypeScript 1 file 1 lines; ")
    assert lines[3].startswith("manifests: Makefile (Make), pyproject.toml (Python), web/package.json")
    assert "entry points: shop -> shop.cli:main" in lines
    assert "test: make test; npm test (vitest)" in lines
    assert "build and run: make run; npm run build" in lines
    assert "    shop/ (2 files): The shop itself." in lines
    assert "  tests/ (1 file): tests" in lines


async def test_folder_is_mapped_alone(project: Path) -> None:
    text = (await call(TOOL, context_on(project), path="web")).text
    assert text.splitlines()[0] == "web"
    assert "Python" not in text


async def test_huge_tree_is_mapped_in_part_with_a_note(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(surveying, "MAX_FILES", 3)
    text = (await call(TOOL, context_on(project))).text
    assert "3 files" in text
    assert "at least (stopped at a limit" in text


async def test_missing_folder_is_named(project: Path) -> None:
    with pytest.raises(ToolFailed, match="nowhere does not exist"):
        await call(TOOL, context_on(project), path="nowhere")


async def test_empty_folder_is_reported(tmp_path: Path) -> None:
    assert (await call(TOOL, context_on(tmp_path))).text.startswith("no files here")


@pytest.mark.parametrize(
    ("name", "text", "kind", "expected"),
    [
        ("Cargo.toml", '[package]\nname = "r"\n[workspace]\nmembers = ["a"]', "Rust", "r"),
        ("go.mod", "module example.com/x\n", "Go", "example.com/x"),
        ("CMakeLists.txt", "project(engine)\nadd_executable(run main.c)", "CMake", "engine"),
        ("pom.xml", "<parent><artifactId>p</artifactId></parent><artifactId>me</artifactId>", "Java", "me"),
        ("composer.json", '{"name": "a/b"}', "PHP", "a/b"),
        ("x.csproj", "", ".NET", ""),
    ],
)
def test_manifests_name_their_project(name: str, text: str, kind: str, expected: str) -> None:
    facts = read_manifest(name, text)
    assert facts is not None
    assert (facts.kind, facts.name) == (kind, expected)


@pytest.mark.parametrize("name", ["pyproject.toml", "package.json", "Cargo.toml", "composer.json", "pom.xml"])
@pytest.mark.parametrize("text", ["", "{", "[[", "[]", '"x"', "project = 3", '{"scripts": 3, "bin": []}'])
def test_broken_manifest_gives_empty_facts(name: str, text: str) -> None:
    assert read_manifest(name, text) is not None


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("README.md", "# T\n\n[![b](x)](y)\n\nIt *does* [this](z). More.", "It does this."),
        ("a/__init__.py", 'r"""Raw words.\n\nMore."""\nx = 1', "Raw words."),
        ("doc.go", "// Package x counts.\npackage x", "Package x counts."),
        ("README.md", "# 标题\n\n一个工具。还有更多。", "一个工具。"),
        ("README.md", "# only a title", ""),
    ],
)
def test_first_sentence_of_prose_is_found(path: str, text: str, expected: str) -> None:
    assert first_sentence(path, text) == expected
