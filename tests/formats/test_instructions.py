"""Instruction files of people and projects: which are told, which wait, and what is said of a broken one."""

import os
from pathlib import Path

import pytest

from cockpit.formats.instructions import (
    MAX_CHARACTERS,
    MAX_FILE_CHARACTERS,
    list_instructions,
    load_always,
    load_conditional,
    load_nested,
)
from cockpit.plugin.origin import FileProblem, Origin


@pytest.fixture
def person(tmp_path: Path) -> Path:
    folder = tmp_path / "person"
    folder.mkdir()
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    (folder / ".git").mkdir(parents=True)
    return folder


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def anything(path: Path) -> str:
    """Refuses no file."""
    return ""


def rows(root: Path, person: Path, trusted: bool = True) -> dict[str, Origin]:
    return dict(list_instructions(root, trusted, person, anything))


def faults(root: Path, person: Path) -> list[FileProblem]:
    return [fault for origin in rows(root, person).values() for fault in origin.refused]


def test_the_listing_names_every_file_with_its_layer_and_what_it_hides(root: Path, person: Path) -> None:
    put(person / ".claude/CLAUDE.md", "mine")
    put(person / ".claude/rules/style.md", "my style")
    put(root / "AGENTS.md", "the project's @docs/a.md")
    put(root / "docs/a.md", "a")
    hidden = put(root / "CLAUDE.md", "not read beside it")
    put(root / "CLAUDE.local.md", "only here")
    put(root / ".claude/rules/deep/api.md", "---\npaths: src/**/*.{ts,tsx}, *.sql\n---\nrules for these")
    put(root / ".cockpit/rules/all.md", "for all")
    put(root / "part/AGENTS.md", "the part's")
    listed = rows(root, person)
    assert {name: item.layer for name, item in listed.items()} == {
        "~/.claude/CLAUDE.md": "user",
        "~/.claude/rules/style.md": "user",
        "AGENTS.md": "project",
        "CLAUDE.local.md": "project",
        ".claude/rules/deep/api.md": "project",
        ".cockpit/rules/all.md": "project",
        "part/AGENTS.md": "project",
    }
    assert listed["AGENTS.md"].shadows == (str(hidden),)
    assert listed["AGENTS.md"].fields["imports"] == [str(root / "docs/a.md")]
    assert listed[".claude/rules/deep/api.md"].fields["paths"] == ["src/**/*.{ts,tsx}", "*.sql"]
    assert listed["part/AGENTS.md"].fields["when"] == "a file below part/ is touched"
    assert not [item for item in listed.values() if item.refused]


@pytest.mark.parametrize(
    "name", [".config/AGENTS.md", ".codex/AGENTS.md", ".vibe/AGENTS.md", ".pi/agent/AGENTS.md"]
)
def test_the_user_s_own_is_read_where_other_agents_keep_it(root: Path, person: Path, name: str) -> None:
    put(person / name, "mine")
    hidden = put(person / ".claude/CLAUDE.md", "Claude's, not read beside it")
    (told,) = load_always(root, False, person, anything)
    assert told.text == "mine" and told.origin.shadows == (str(hidden),)


def test_an_untrusted_folder_gives_only_the_user_s(root: Path, person: Path) -> None:
    put(person / ".config/AGENTS.md", "mine")
    put(root / "AGENTS.md", "the project's")
    put(root / "part/AGENTS.md", "the part's")
    assert list(rows(root, person, trusted=False)) == ["~/.config/AGENTS.md"]


def test_missing_import_is_reported_with_its_line(root: Path, person: Path) -> None:
    path = put(
        root / "AGENTS.md", "<!-- a comment\nof two lines -->\none\n\nsee @docs/gone.md and @someone\n"
    )
    (fault,) = faults(root, person)
    assert (fault.file, fault.line) == (str(path), 5)
    assert "`@docs/gone.md` does not exist" in fault.reason and "backticks" in fault.remedy


def test_import_from_outside_is_reported_and_not_read(root: Path, person: Path) -> None:
    put(root.parent / "secret.md", "secret words")
    put(root / "AGENTS.md", "one\n@../secret.md and @~/x.md\n")
    assert "secret words" not in load_always(root, True, person, anything)[0].text
    assert [(item.line, "is outside" in item.reason) for item in faults(root, person)] == [
        (2, True),
        (2, True),
    ]


def test_a_fault_in_an_imported_file_names_that_file(root: Path, person: Path) -> None:
    put(root / "AGENTS.md", "@docs/a.md")
    inner = put(root / "docs/a.md", "words\n@./gone.txt\n")
    (fault,) = faults(root, person)
    assert (fault.file, fault.line) == (str(inner), 2)


def test_too_deep_imports_and_too_long_files_are_reported(root: Path, person: Path) -> None:
    for at in range(8):
        put(root / f"{at}.md", f"level {at} @{at + 1}.md" if at < 7 else "the end")
    put(root / "AGENTS.md", "@0.md")
    put(root / "CLAUDE.local.md", "x" * (MAX_FILE_CHARACTERS + 1))
    said = [item.reason for item in faults(root, person)]
    assert any("more than 5 deep" in item for item in said) and any(
        "cut after 24,000" in item for item in said
    )


def test_total_length_is_bounded_and_the_rest_is_reported(root: Path, person: Path) -> None:
    for at in range(4):
        put(root / f".claude/rules/{at}.md", "y" * 20_000)
    told = load_always(root, True, person, anything)
    assert sum(len(item.text) for item in told) == MAX_CHARACTERS
    assert any("together" in item.reason for item in faults(root, person))


def test_link_out_of_the_project_and_pipe_are_not_read(root: Path, person: Path) -> None:
    put(root.parent / "outside.md", "outside words")
    (root / "AGENTS.md").symlink_to(root.parent / "outside.md")
    if hasattr(os, "mkfifo"):
        os.mkfifo(root / "CLAUDE.local.md")
    put(root / "CLAUDE.md", "read in its place")
    listed = rows(root, person)
    assert "leads out of" in listed["AGENTS.md"].refused[0].reason
    assert (
        "CLAUDE.local.md" not in listed or "not a regular file" in listed["CLAUDE.local.md"].refused[0].reason
    )
    assert "outside words" not in "".join(item.text for item in load_always(root, True, person, anything))


def test_a_broken_rule_s_frontmatter_is_told_and_another_agent_s_field(root: Path, person: Path) -> None:
    broken = put(root / ".claude/rules/a.md", "---\npaths: ['*.py'\nwords\n")
    cursor = put(root / ".claude/rules/b.md", "---\ndescription: x\nglobs: '*.py'\n---\nwords")
    told = {(item.file, item.line) for item in faults(root, person)}
    assert told == {(str(broken), 1), (str(cursor), 3)}


def test_rules_wait_for_their_files_and_folders_for_theirs(root: Path, person: Path) -> None:
    put(root / ".claude/rules/py.md", "---\npaths:\n  - 'src/**/*.py'\n---\npython words")
    put(person / ".claude/rules/md.md", "---\npaths: '*.md'\n---\nmy words")
    put(root / "src/AGENTS.md", "source words")
    python = next(
        item for item in load_conditional(root, True, person, anything) if item.name.endswith("py.md")
    )
    mine = next(
        item for item in load_conditional(root, True, person, anything) if item.name.endswith("md.md")
    )
    assert python.concerns(str(root / "src/a/b.py")) and not python.concerns(str(root / "b.py"))
    assert mine.concerns(str(root / "docs/a.md")) and not mine.concerns(str(root.parent / "a.md"))
    assert load_always(root, True, person, anything) == ()
    assert [item.text for item in load_nested(root, root / "src", person, anything)] == ["source words"]


def test_a_rule_of_a_folder_above_counts_from_that_folder(root: Path, person: Path) -> None:
    put(root / ".claude/rules/web.md", "---\npaths: web/**\n---\nweb words")
    (rule,) = load_conditional(root / "web", True, person, anything)
    assert rule.concerns(str(root / "web/a.js")) and not rule.concerns(str(root / "web2/a.js"))


def test_unreadable_files_are_neither_imported_nor_instructions(root: Path, person: Path) -> None:
    put(root / ".env", "the password")
    put(root / "AGENTS.md", "how\nto work, see @.env and @docs/a.md")
    put(root / "docs/a.md", "and how not, @../.env")
    (root / "CLAUDE.local.md").symlink_to(root / ".env")

    def refuses(path: Path) -> str:
        return "it holds secrets" if path.name == ".env" else ""

    told = load_always(root, True, person, refuses)
    assert "and how not" in told[0].text
    assert "password" not in "".join(item.text for item in told)
    refused = [
        item for _, origin in list_instructions(root, True, person, refuses) for item in origin.refused
    ]
    assert [(Path(item.file).name, item.line) for item in refused] == [
        ("AGENTS.md", 2),
        ("a.md", 1),
        ("CLAUDE.local.md", 0),
    ]
    assert all("it holds secrets" in item.reason and item.remedy for item in refused)
