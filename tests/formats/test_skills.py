"""Skill files of the standard, of Claude and of others: what is understood and what is told."""

import os
from pathlib import Path

import pytest

from cockpit.formats.skills import find_skill_folder, find_skills, normalize_skill_name, read_skill
from cockpit.plugin.origin import Unloaded
from cockpit.plugin.values import Skill
from cockpit.settings import file_io

CLAUDE = """\
\ufeff---
name: deploy-it
description: >-
  Deploys the service. Use when: somebody asks for a release.
when_to_use: also for "ship it"
argument-hint: [stage] [version]
arguments: stage version
disable-model-invocation: yes
user-invocable: on
allowed-tools: Bash(git add *), Bash(npm run:*) Read, mcp__ci__*
disallowed-tools: [WebFetch, WebSearch]
model: sonnet
effort: high
context: fork
agent: Explore
background: 1
paths: "src/**/*.{ts,tsx}, *.md"
shell: bash
license: MIT
compatibility: needs git
metadata:
  author: somebody
  version: "1.2"
hooks:
  PreToolUse:
    - matcher: Bash
      hooks: [{type: command, command: ./x.sh}]
what-nobody-knows: 7
---

# Deploy

Deploy $stage.
"""


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    (tmp_path / "project" / ".git").mkdir(parents=True)
    return tmp_path


def write(path: Path, text: str = "", **fields: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    head = "".join(f"{key}: {value}\n" for key, value in fields.items())
    path.write_text(text or f"---\n{head}---\nBody of {path.parent.name}\n", encoding="utf-8")
    return path


def found(house: Path, root: str = "project", trusted: bool = True) -> dict[str, Skill]:
    return {one.name: one for one in every(house, root, trusted) if isinstance(one, Skill)}


def every(house: Path, root: str = "project", trusted: bool = True) -> tuple[Skill | Unloaded, ...]:
    return find_skills(house / root, trusted, house / "home")


def skill(path: Path, prefix: str = "") -> Skill:
    read = read_skill(path, "project", prefix=prefix)
    assert isinstance(read, Skill), read
    return read


def test_every_field_of_claude_is_understood(tmp_path: Path) -> None:
    path = write(tmp_path / "deploy-it" / "SKILL.md", CLAUDE)
    read = skill(path)
    assert read.name == "deploy-it"
    assert read.description == "Deploys the service. Use when: somebody asks for a release."
    assert read.when == 'also for "ship it"'
    assert (read.hint, read.arguments) == ("[stage] [version]", ("stage", "version"))
    assert not read.for_model and read.for_user
    assert read.allowed_tools == ("Bash(git add *)", "Bash(npm run:*)", "Read", "mcp__ci__*")
    assert read.denied_tools == ("WebFetch", "WebSearch")
    assert (read.model, read.effort, read.shell) == ("medium", "high", "bash")
    assert read.fork and read.role == "Explore" and read.background
    assert read.paths == ("src/**/*.{ts,tsx}", "*.md")
    assert read.body() == "# Deploy\n\nDeploy $stage."
    assert find_skill_folder(read) == path.parent
    assert read.origin is not None
    assert read.origin.fields["metadata"] == {"author": "somebody", "version": "1.2"}
    assert "what-nobody-knows" not in read.origin.fields and "hooks" not in read.origin.fields
    [fault] = read.origin.refused
    assert (fault.line, fault.file) == (24, str(path)) and "never run" in fault.reason


@pytest.mark.parametrize("word", ["no", "off", "false", "0", "No", '"off"'])
def test_booleans_are_written_in_many_ways(tmp_path: Path, word: str) -> None:
    fields = {"description": "D", "user-invocable": word}
    assert not skill(write(tmp_path / "a" / "SKILL.md", **fields)).for_user


@pytest.mark.parametrize(
    ("written", "name"),
    [("PDF_Tools", "pdf-tools"), ("-a--b-", "a-b"), ("x" * 80, "x" * 64), ("My Skill", "my-skill")],
)
def test_a_name_against_the_rules_is_mended_and_told(tmp_path: Path, written: str, name: str) -> None:
    read = skill(write(tmp_path / "a" / "SKILL.md", name=written, description="D"))
    assert read.name == name and read.origin is not None
    [fault] = read.origin.refused
    assert fault.line == 2 and f"loaded as {name}" in fault.reason and name in fault.remedy
    assert normalize_skill_name(name) == name


def test_a_projects_skill_names_a_tier_and_a_persons_any_model(tmp_path: Path) -> None:
    path = write(tmp_path / "a" / "SKILL.md", description="D", model="acme:large")
    mine = read_skill(path, "user")
    assert isinstance(mine, Skill) and mine.model == "acme:large"
    theirs = skill(path)
    assert theirs.model == "" and theirs.origin is not None and theirs.origin.refused[0].line == 3
    assert skill(write(tmp_path / "b" / "SKILL.md", description="D", model="inherit")).model == ""


def test_a_name_of_nothing_is_refused(tmp_path: Path) -> None:
    read = read_skill(write(tmp_path / "日本" / "SKILL.md", description="D"), "user")
    assert isinstance(read, Unloaded) and "not a valid skill name" in read.origin.refused[0].reason


def test_a_skill_without_a_name_is_called_as_its_folder(tmp_path: Path) -> None:
    assert skill(write(tmp_path / "review-it" / "SKILL.md", description="D")).name == "review-it"
    assert skill(write(tmp_path / "flat.md", description="D")).name == "flat"
    assert skill(write(tmp_path / "b" / "SKILL.md", description="D"), prefix="kit").name == "kit:b"


def test_a_description_is_needed_and_bounded(tmp_path: Path) -> None:
    folder = write(tmp_path / "a" / "SKILL.md", "---\nname: a\n---\n# Title\n\nDo this\nand that.\n\nMore.")
    read = skill(folder)
    assert read.description == "Do this and that." and read.origin is not None and read.origin.refused
    for text in ("Just notes.", "---\nname: b\n---\nText", "---\nname: [a\ndescription: b"):
        flat = read_skill(write(tmp_path / "b.md", text), "user")
        assert isinstance(flat, Unloaded) and flat.origin.refused[0].line == 1, text
    long = skill(write(tmp_path / "c" / "SKILL.md", description="x" * 1_100))
    assert len(long.description) == 1_024 and long.origin is not None and long.origin.refused


def test_each_place_is_found_and_the_strongest_hides_the_others(house: Path) -> None:
    project, home = house / "project", house / "home"
    folders = (".cockpit", ".claude", ".agents", ".opencode", ".gemini", ".codex")
    files = [write(project / one / "skills" / "a" / "SKILL.md", description=one) for one in folders]
    for one in folders:
        write(project / one / "skills" / f"of{one}" / "SKILL.md", description=one)
    users = (".claude", ".agents", ".config/agents", ".config/opencode")
    for number, one in enumerate(users):
        write(home / one / "skills" / f"user-{number}" / "SKILL.md", description=one)
    write(Path(os.environ["COCKPIT_HOME"]) / "config" / "skills" / "ours.md", description="ours")
    skills = found(house)
    assert {"of-cockpit", "of-claude", "of-agents", "of-opencode", "of-gemini", "of-codex"} <= set(skills)
    assert {"user-0", "user-1", "user-2", "user-3", "ours"} <= set(skills)
    winner = skills["a"]
    assert winner.description == ".cockpit" and winner.origin is not None
    assert winner.origin.shadows == tuple(str(one) for one in files[1:])
    assert skills["of-opencode"].dialect == "opencode" and skills["of-claude"].dialect == "claude"
    assert {one.origin.layer for one in skills.values() if one.origin} == {"project", "user"}


def test_the_nearest_folder_wins_up_to_the_top_of_the_repository(house: Path) -> None:
    near = house / "project" / "packages" / "web"
    write(house / "project" / ".cockpit" / "skills" / "a" / "SKILL.md", description="top")
    write(house / "project" / ".cockpit" / "skills" / "b" / "SKILL.md", description="top")
    write(near / ".agents" / "skills" / "a" / "SKILL.md", description="near")
    write(house / ".claude" / "skills" / "c" / "SKILL.md", description="above the repository")
    skills = found(house, "project/packages/web")
    assert {name: one.description for name, one in skills.items()} == {"a": "near", "b": "top"}


def test_an_untrusted_folder_brings_no_skill(house: Path) -> None:
    write(house / "project" / ".claude" / "skills" / "a" / "SKILL.md", description="D")
    write(house / "home" / ".claude" / "skills" / "u" / "SKILL.md", description="D")
    assert set(found(house, trusted=False)) == {"u"}


def test_drafts_and_papers_are_no_skills(house: Path) -> None:
    folder = house / "project" / ".cockpit" / "skills"
    for name in ("README.md", "Changelog.md", "LICENSE.md", "CONTRIBUTING.md", "notes.txt", ".hidden.md"):
        write(folder / name, description="D")
    write(folder / "drafts" / "a" / "SKILL.md", description="D")
    write(folder / "drafts" / "b.md", description="D")
    write(folder / "group" / "drafts" / "c" / "SKILL.md", description="D")
    write(folder / "group" / "real" / "SKILL.md", description="D")
    write(folder / "real" / "reference.md", description="D")
    write(folder / "lower" / "skill.md", description="D")
    assert set(found(house)) == {"real", "lower"}


def test_a_folder_goes_before_a_flat_file_and_a_link_is_one_file(house: Path) -> None:
    folder = house / "project" / ".agents" / "skills"
    whole = write(folder / "a" / "SKILL.md", description="folder")
    flat = write(folder / "a.md", description="flat")
    (house / "project" / ".claude").mkdir()
    (house / "project" / ".claude" / "skills").symlink_to(folder, target_is_directory=True)
    [one] = every(house)
    assert isinstance(one, Skill) and one.origin is not None and one.description == "folder"
    assert [os.path.realpath(path) for path in (one.path, *one.origin.shadows)] == [str(whole), str(flat)]


def test_a_link_out_of_the_project_is_refused(house: Path) -> None:
    outside = write(house / "elsewhere" / "SKILL.md", description="D")
    folder = house / "project" / ".cockpit" / "skills" / "a"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").symlink_to(outside)
    [one] = every(house)
    assert isinstance(one, Unloaded) and "outside the project" in one.origin.refused[0].reason
    (house / "home" / ".claude").mkdir()
    (house / "home" / ".claude" / "skills").symlink_to(house / "elsewhere", target_is_directory=True)
    write(house / "elsewhere" / "b" / "SKILL.md", description="D")
    assert "b" in found(house)


def test_a_pipe_in_place_of_a_skill_waits_for_nobody(house: Path) -> None:
    folder = house / "project" / ".cockpit" / "skills"
    write(folder / "good" / "SKILL.md", description="D")
    (folder / "bad").mkdir()
    os.mkfifo(folder / "bad" / "SKILL.md")
    skills = every(house)
    assert [type(one) for one in skills] == [Unloaded, Skill]


def test_no_body_is_read_before_it_is_used(house: Path) -> None:
    folder = house / "project" / ".cockpit" / "skills"
    write(folder / "small" / "SKILL.md", description="D")
    path = write(folder / "huge" / "SKILL.md", description="D")
    with path.open("ab") as file:
        # More than any file of ours may hold: reading it whole would be refused.
        file.truncate(file_io.MAX_BYTES + 1)
    skills = found(house)
    assert set(skills) == {"small", "huge"}
    assert skills["small"].body() == "Body of small"
    with pytest.raises(OSError, match="more than"):
        skills["huge"].body()


def test_a_hundred_skills_are_read_once(house: Path) -> None:
    folder = house / "project" / ".cockpit" / "skills"
    for number in range(100):
        write(folder / f"s{number}" / "SKILL.md", description="D")
    assert len(found(house)) == 100
    memory = Path(os.environ["COCKPIT_HOME"]) / "cache" / "heads.json"
    memory.write_text(memory.read_text().replace('"description": "D"', '"description": "kept"'))
    write(folder / "s7" / "SKILL.md", description="new")
    said = {one.description for one in found(house).values()}
    assert said == {"kept", "new"}
