"""Command files in the forms of other agents, all fields; a broken one of each says what to mend."""

from pathlib import Path

import pytest

from cockpit.formats.command_files import CommandFile, find_commands, find_commands_in
from cockpit.formats.substitution import expand_template
from cockpit.plugin.origin import Unloaded

CLAUDE = """---
description: Fix an issue
argument-hint: [issue] [priority]
allowed-tools: Bash(git add:*), Bash(git status:*), Read
disallowed-tools: [WebFetch]
model: claude-3-5-haiku-20241022
effort: high
context: fork
agent: Explore
background: yes
user-invocable: true
disable-model-invocation: true
arguments: issue priority
shell: bash
hooks:
  PreToolUse: []
---
Fix $issue with $ARGUMENTS[1].
"""
GEMINI = '''# /git:commit
description = "Writes a commit message."
prompt = """
Summarise for {{args}}:
!{git diff --staged}
@{docs/style.md}
"""
'''


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


def commands(root: Path, person: Path, trusted: bool = True) -> dict[str, CommandFile]:
    return {item.name: item for item in find_commands(root, trusted, person) if isinstance(item, CommandFile)}


def refused(root: Path, person: Path) -> list[tuple[str, int, str]]:
    found = (item.origin for item in find_commands(root, True, person) if isinstance(item, Unloaded))
    return [(fault.file, fault.line, fault.reason) for origin in found for fault in origin.refused]


def test_a_claude_command_with_every_field(root: Path, person: Path) -> None:
    path = put(root / ".claude/commands/fix.md", CLAUDE)
    item = commands(root, person)["fix"]
    assert (item.description, item.hint, item.model, item.effort) == (
        "Fix an issue",
        "[issue] [priority]",
        "fast",
        "high",
    )
    assert item.allowed_tools == ("Bash(git add:*)", "Bash(git status:*)", "Read")
    assert item.denied_tools == ("WebFetch",) and item.fork and item.role == "Explore" and item.background
    assert item.arguments == ("issue", "priority") and item.path == path and item.origin.layer == "project"
    assert [(fault.line, "never run" in fault.reason) for fault in item.origin.refused] == [(15, True)]
    made = expand_template(item.template(), item.values("12 'very high'", item.template(), {}))
    assert made.text == "Fix 12 with very high."


def test_a_gemini_command_with_arguments_commands_and_files(root: Path, person: Path) -> None:
    put(root / ".gemini/commands/git/commit.toml", GEMINI)
    item = commands(root, person)["git:commit"]
    made = expand_template(item.template(), item.values("it's me", item.template(), {}))
    assert item.description == "Writes a commit message." and "Summarise for it's me:" in made.text
    assert made.commands == ("git diff --staged",) and made.files == ("docs/style.md",)
    assert (
        expand_template("no place", item.values("x y", "no place", {})).text == "no place\n\n/git:commit x y"
    )


def test_an_opencode_command_counts_from_1_and_may_run_in_a_subagent(root: Path, person: Path) -> None:
    put(root / ".opencode/commands/a.md", "---\ndescription: d\nagent: reviewer\nmodel: x/y\n---\n$1 and $2")
    put(root / ".opencode/command/b.md", "---\nagent: build\nsubtask: true\n---\nb")
    put(root / ".opencode/commands/c.md", "---\nagent: reviewer\nsubtask: false\n---\nc")
    put(person / ".config/opencode/commands/nested/d.md", "d")
    found = commands(root, person)
    assert found["a"].fork and found["a"].role == "reviewer" and found["a"].model == ""
    assert found["b"].fork and found["b"].role == "" and not found["c"].fork
    assert found["nested:d"].origin.layer == "user"
    template = found["a"].template()
    assert (
        expand_template(template, found["a"].values("one two three", template, {})).text
        == "one and two three"
    )


def test_commands_in_opencode_s_settings(root: Path, person: Path) -> None:
    file = put(
        root / "opencode.jsonc",
        '{\n // mine\n "command": {\n  "test": {"template": "run $ARGUMENTS", "description": "Tests"},\n'
        '  "bad": {\n   "description": "no template"\n  },\n  "worse": 3,\n },\n}\n',
    )
    found = commands(root, person)
    assert found["test"].template() == "run $ARGUMENTS" and found["test"].description == "Tests"
    assert sorted(refused(root, person)) == [
        (str(file), 5, "it has no `template`"),
        (str(file), 8, "it has no `template`"),
    ]


def test_codex_prompts_and_crush_commands_take_words_by_name(root: Path, person: Path) -> None:
    put(
        person / ".codex/prompts/draft.md",
        "---\ndescription: d\nargument-hint: FILE=\n---\n$FILE for $WHO, $1",
    )
    put(person / ".codex/prompts/deep/not.md", "codex reads no folders below")
    put(root / ".crush/commands/ask.md", "Look at $PATH_NAME")
    found = commands(root, person)
    assert set(found) == {"prompts:draft", "ask"}
    item = found["prompts:draft"]
    template = item.template()
    assert expand_template(template, item.values("WHO='the boss' FILE=a.md", template, {})).text.startswith(
        "a.md for the boss"
    )
    ask = found["ask"]
    assert (
        expand_template("Look at $PATH_NAME", ask.values("src", "Look at $PATH_NAME", {})).text
        == "Look at src"
    )


def test_cockpits_folder_comes_first_and_names_what_it_shadows(root: Path, person: Path) -> None:
    hidden = [put(root / f"{folder}/x.md", folder) for folder in (".claude/commands", ".opencode/commands")]
    put(root / ".cockpit/commands/x.md", "ours")
    mine = put(person / ".claude/commands/x.md", "mine")
    put(person / ".claude/commands/team/y.md", "y")
    found = [
        item
        for item in find_commands(root, True, person)
        if isinstance(item, CommandFile) and item.name == "x"
    ]
    project, user = found
    assert project.template() == "ours" and project.origin.shadows == tuple(str(item) for item in hidden)
    assert user.path == mine and commands(root, person)["team:y"].template() == "y"


def test_an_untrusted_folder_gives_only_the_user_s(root: Path, person: Path) -> None:
    put(root / ".claude/commands/x.md", "x")
    put(root / "opencode.json", '{"command": {"z": {"template": "z"}}}')
    put(person / ".claude/commands/y.md", "y")
    assert set(commands(root, person, trusted=False)) == {"y"}


def test_broken_command_files_report_file_line_and_reason(root: Path, person: Path) -> None:
    toml = put(root / ".gemini/commands/a.toml", 'description = "d"\nprompt = """\n')
    none = put(root / ".gemini/commands/b.toml", 'description = "d"\n')
    kind = put(root / ".gemini/commands/c.toml", 'description = "d"\nprompt = 3\n')
    empty = put(root / ".claude/commands/d.md", "")
    (root / ".claude/commands/e.md").symlink_to(put(root.parent / "out.md", "outside"))
    told = {(file, line) for file, line, _ in refused(root, person)}
    link = str(root / ".claude/commands/e.md")
    assert told == {(str(toml), 2), (str(none), 0), (str(kind), 2), (str(empty), 0), (link, 0)}


def test_a_file_without_a_head_is_a_whole_prompt_and_its_first_words_describe_it(
    root: Path, person: Path
) -> None:
    put(root / ".claude/commands/plain.md", "# Title\n\nExplain the code.\n\nMore.")
    put(root / ".claude/commands/README.md", "no command")
    item = commands(root, person)["plain"]
    assert item.description == "Explain the code." and item.template().startswith("# Title")
    assert set(commands(root, person)) == {"plain"}


def test_bundle_commands_are_prefixed_with_its_name(tmp_path: Path) -> None:
    put(tmp_path / "commands/go/fast.md", "go")
    (item,) = find_commands_in(tmp_path / "commands", "plugin", "kit")
    assert item.name == "kit:go:fast" and item.origin.layer == "plugin"


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ('FILES="a b" TITLE="Hello World" now', "a b: Hello World, now, $1 of "),
        ("TITLE=x one two three", "one: x, one, $1 of two three"),
        ("a b", "a: b, a, $1 of b"),
        ("OTHER=1 b", "OTHER=1: b, OTHER=1, $1 of b"),
    ],
)
def test_named_and_positional_arguments_can_be_mixed(root: Path, person: Path, typed: str, text: str) -> None:
    put(person / ".codex/prompts/draft.md", "$FILES: $TITLE, $1, $$1 of $2")
    item = commands(root, person)["prompts:draft"]
    template = item.template()
    assert expand_template(template, item.values(typed, template, {})).text == text
