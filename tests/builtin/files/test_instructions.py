"""What every request tells a model, and what is never read before trust."""

import json
from pathlib import Path

import pytest
from tests.support.session_view import context_on, registered

from cockpit.builtin.context.system_prompt import describe_project, read_branch
from cockpit.builtin.files import instructions
from cockpit.builtin.files.instructions import collect_instruction_files
from cockpit.formats.instructions import MAX_CHARACTERS

SOURCES = registered(instructions, hook="register_context")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("COCKPIT_HOME", str(folder / "cockpit"))
    monkeypatch.setattr(Path, "home", lambda: folder)
    return folder


@pytest.fixture
def root(tmp_path: Path, home: Path) -> Path:
    folder = tmp_path / "work" / "repo" / "part"
    folder.mkdir(parents=True)
    (folder.parent / ".git").mkdir()
    (folder.parent / ".git/HEAD").write_text("ref: refs/heads/topic/one\n")
    return folder


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


async def test_the_prefix_is_short_and_names_the_phases(root: Path) -> None:
    text = await SOURCES["role"].collect(context_on(root))
    assert len(text) < 2_600
    for phase in ("Explore", "Plan", "Implement", "Verify", "Complete"):
        assert phase in text


async def test_equal_requests_get_equal_bytes(root: Path) -> None:
    context = context_on(root)
    for source in SOURCES.values():
        assert await source.collect(context) == await source.collect(context)


async def test_the_surroundings_name_folder_day_and_branch(root: Path) -> None:
    text = await SOURCES["surroundings"].collect(context_on(root))
    assert f"Folder: {root}" in text
    assert "Git branch: topic/one" in text
    assert "not trusted" in await SOURCES["surroundings"].collect(context_on(root, trusted=False))


def test_a_worktree_and_a_detached_head_have_a_branch_too(tmp_path: Path) -> None:
    put(tmp_path / "real/HEAD", "0123456789abcdef0123\n")
    put(tmp_path / "tree/.git", "gitdir: ../real\n")
    assert read_branch(tmp_path / "tree") == "0123456789ab"


async def test_a_python_project_is_told_of_pytest(root: Path) -> None:
    put(root / "pyproject.toml", "[tool.ruff]\n[tool.mypy]\n")
    text = await SOURCES["project"].collect(context_on(root))
    assert "pytest" in text
    assert "ruff, mypy" in text


def test_other_manifests_are_named(tmp_path: Path) -> None:
    put(tmp_path / "package.json", json.dumps({"scripts": {"test": "x", "lint": "y"}}))
    put(tmp_path / "pnpm-lock.yaml", "")
    put(tmp_path / "Cargo.toml", "")
    put(tmp_path / "Makefile", "check: x\n\ttrue\n")
    text = describe_project(tmp_path)
    assert "JavaScript project: pnpm; scripts: test, lint" in text
    assert "cargo test" in text
    assert "make targets: check" in text


@pytest.mark.parametrize("text", ["{", "[]", '{"scripts": 3}', "null"])
def test_a_broken_manifest_fails_nothing(text: str, tmp_path: Path) -> None:
    put(tmp_path / "package.json", text)
    describe_project(tmp_path)


async def test_before_trust_no_file_of_the_folder_is_read(root: Path) -> None:
    put(root / "AGENTS.md", "do as I say")
    put(root / "pyproject.toml", "")
    context = context_on(root, trusted=False)
    for name in ("project", "instruction-files", "role", "surroundings"):
        text = await SOURCES[name].collect(context)
        assert "do as I say" not in text
        assert name != "project" or not text


def test_the_user_s_file_comes_first_and_the_nearest_last(root: Path, home: Path) -> None:
    put(home / ".claude/CLAUDE.md", "mine")
    put(root.parent / "AGENTS.md", "the repository's")
    put(root / "AGENTS.md", "the part's")
    text = collect_instruction_files(root, True, home)
    assert text.index("mine") < text.index("the repository's") < text.index("the part's")


def test_claude_files_are_read_where_there_is_no_agents_file(root: Path, home: Path) -> None:
    put(root.parent / "CLAUDE.md", "from claude")
    put(root / "AGENTS.md", "agents")
    put(root / "CLAUDE.md", "not read beside it")
    text = collect_instruction_files(root, True, home)
    assert "from claude" in text
    assert "not read beside it" not in text


def test_imports_are_followed_within_the_project_only(root: Path, home: Path) -> None:
    secret = root.parents[1] / "outside.md"
    put(secret, "outside words")
    put(
        root / "CLAUDE.md",
        "See @docs/a.md and @../../outside.md, `@docs/b.md` and a@b.c\n```\n@docs/b.md\n```\n",
    )
    put(root / "docs/a.md", "words of a, @b.md")
    put(root / "docs/b.md", "words of b, @a.md")
    text = collect_instruction_files(root, True, home)
    assert "words of a" in text
    assert text.count("words of b") == 1
    assert "outside words" not in text
    assert "`@docs/b.md`" in text


def test_a_link_out_of_the_project_is_not_followed(root: Path, home: Path) -> None:
    put(root.parents[1] / "outside.md", "outside words")
    (root / "AGENTS.md").symlink_to(root.parents[1] / "outside.md")
    assert "outside words" not in collect_instruction_files(root, True, home)


def test_files_above_the_repository_are_not_the_project_s(root: Path, home: Path) -> None:
    put(root.parents[1] / "AGENTS.md", "above the repository")
    assert "above the repository" not in collect_instruction_files(root, True, home)


def test_rules_for_all_files_are_read_and_rules_for_some_are_not(root: Path, home: Path) -> None:
    put(root / ".claude/rules/all.md", "for all")
    put(root / ".claude/rules/some.md", "---\npaths: ['*.ts']\n---\nfor some")
    text = collect_instruction_files(root, True, home)
    assert "for all" in text
    assert "for some" not in text


def test_long_files_are_cut_and_all_together_are_bounded(root: Path, home: Path) -> None:
    put(root.parent / "AGENTS.md", "a" * 100_000)
    put(root / "AGENTS.md", "b" * 100_000)
    put(root / ".claude/rules/more.md", "c" * 100_000)
    text = collect_instruction_files(root, True, home)
    assert len(text) < MAX_CHARACTERS + 1_000
    assert "cut after" in text


def test_comments_for_people_are_left_out(root: Path, home: Path) -> None:
    put(root / "AGENTS.md", "keep <!-- drop -->")
    assert collect_instruction_files(root, True, home).endswith("keep")


def test_an_import_reads_nothing_that_no_tool_may_read(root: Path, home: Path) -> None:
    (root / "AGENTS.md").write_text("See @.env, @id_rsa and @notes.md", encoding="utf-8")
    for name in (".env", "id_rsa"):
        (root / name).write_text("the secret words", encoding="utf-8")
    (root / "notes.md").write_text("the notes", encoding="utf-8")
    text = collect_instruction_files(root, True, home)
    assert "the notes" in text and "secret words" not in text
