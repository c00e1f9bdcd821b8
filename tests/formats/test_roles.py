"""Files of roles as people wrote them for six agents: what is understood, what is refused, with its line."""

import json
from pathlib import Path

import pytest

from cockpit.formats.roles import RoleBounds, find_roles, parse_role, read_role, read_roles_flag
from cockpit.plugin.agents import Quota, Role
from cockpit.plugin.origin import FileProblem, Unloaded

CLAUDE = """---
name: security-reviewer
description: "Reviews for security. Use PROACTIVELY after changes.\\n<example>Context: x</example>"
tools: Read, Grep, Glob, Bash(git diff *), mcp__github__get_issue
disallowedTools: [Write, "Bash(git push *)"]
model: opus
permissionMode: plan
maxTurns: 20
skills: [review, release-notes]
mcpServers:
  - github
  - local: {command: npx, args: [server]}
hooks:
  PreToolUse: []
memory: project
background: true
effort: high
isolation: worktree
color: purple
initialPrompt: Look at the diff.
---

You review for security.

- Look at input.
"""
OPENCODE = """---
description: Reviews code
mode: subagent
model: anthropic/claude-sonnet-4-5
temperature: 0.1
steps: 12
tools:
  write: false
  edit: false
  github_*: false
permission:
  edit: deny
  webfetch: allow
  bash:
    "*": ask
    "git push*": deny
---
You review.
"""
GEMINI = """---
name: finder
description: Finds things.
kind: local
tools:
  - read_file
  - grep_search
  - mcp_github_*
model: gemini-2.5-flash
max_turns: 10
timeout_mins: 5
---
You find.
"""
CODEX = '''name = "pr_explorer"
description = "Read-only explorer"
model = "gpt-5.4"
model_reasoning_effort = "medium"
sandbox_mode = "read-only"
nickname_candidates = ["A", "B"]
developer_instructions = """
Stay in exploration mode.
"""
'''


def made(
    text: str, family: str = "claude", suffix: str = ".md", bounds: RoleBounds | None = None, *, folder: Path
) -> Role:
    path = folder / f"a-role{suffix}"
    path.write_text(text, encoding="utf-8")
    role = read_role(path, "project", family, bounds)
    assert isinstance(role, Role), role
    return role


def faults(role: Role | Unloaded) -> list[FileProblem]:
    assert role.origin is not None
    return list(role.origin.refused)


def test_every_field_of_claude_code_is_understood(tmp_path: Path) -> None:
    role = made(CLAUDE, folder=tmp_path)
    assert role.name == "security-reviewer"
    assert role.description == "Reviews for security. Use PROACTIVELY after changes."
    assert role.instructions == "You review for security.\n\n- Look at input."
    assert role.tools == ("Read", "Grep", "Glob", "Bash(git diff *)", "mcp__github__get_issue")
    assert role.denied_tools == ("Write", "Bash(git push *)")
    assert (role.model, role.mode, role.max_steps) == ("strong", "plan", 20)
    assert role.skills == ("review", "release-notes") and role.mcp_servers == ("github", "local")
    assert role.background and role.isolation == "worktree"
    assert (role.effort, role.color, role.memory) == ("high", "purple", "project")
    assert role.prompt == "Look at the diff." and not role.explores
    assert role.origin is not None and role.origin.layer == "project"
    assert role.origin.fields["maxTurns"] == 20 and role.origin.fields["model"] == "opus"
    refused = {item.line: item.reason for item in faults(role)}
    assert "server of its own: local" in refused[10]
    assert "never run" in refused[13] and "memory" in refused[15]
    assert all(item.remedy for item in faults(role))


@pytest.mark.parametrize(
    ("field", "line", "bounds", "reason"),
    [
        ("permissionMode: bypassPermissions", 4, RoleBounds("ask"), "only restrict"),
        ("permissionMode: acceptEdits", 4, RoleBounds("ask"), "only restrict"),
        ("permissionMode: acceptEdits", 4, RoleBounds("plan"), "only restrict"),
        ("maxTurns: 101", 4, RoleBounds(steps=100), "more than the 100 steps"),
        ("permissionMode: yolo", 4, RoleBounds(), "'yolo'"),
        ("maxTurns: many", 4, RoleBounds(), "'many'"),
        ("isolation: container", 4, RoleBounds(), "'container'"),
        ("tools: Read, Bash(git", 4, RoleBounds(), "is not a tool"),
        ("background: perhaps", 4, RoleBounds(), "'perhaps'"),
        ("quota: {steps: 5, coffee: 3}", 4, RoleBounds(), "coffee"),
    ],
)
def test_widening_or_invalid_fields_are_refused_with_their_line(
    tmp_path: Path, field: str, line: int, bounds: RoleBounds, reason: str
) -> None:
    role = made(f"---\nname: one\ndescription: d\n{field}\n---\nDo.\n", bounds=bounds, folder=tmp_path)
    [fault] = faults(role)
    assert fault.line == line and reason in fault.reason and fault.remedy
    assert role.mode is None and role.max_steps <= 100 and role.instructions == "Do."


def test_narrowing_fields_are_used(tmp_path: Path) -> None:
    text = "---\nname: one\ndescription: d\npermissionMode: {}\n---\nDo.\n"
    modes = {
        name: made(text.format(name), bounds=RoleBounds("full"), folder=tmp_path).mode
        for name in ("default", "manual", "acceptEdits", "dontAsk", "bypassPermissions", "plan")
    }
    assert modes == {
        "default": None,
        "manual": "ask",
        "acceptEdits": "auto-edit",
        "dontAsk": "deny",
        "bypassPermissions": "full",
        "plan": "plan",
    }


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("", None),
        ("tools: []\n", ()),
        ("tools:\n", ()),
        ("tools: '*'\n", None),
        ("tools: All tools\n", None),
        ("tools: Read, Bash(git add *), Edit\n", ("Read", "Bash(git add *)", "Edit")),
        ("tools:\n  - Read\n  - Edit\n", ("Read", "Edit")),
        ("tools: [Read, Edit]\n", ("Read", "Edit")),
    ],
)
def test_a_list_of_tools_in_every_spelling(
    tmp_path: Path, said: str, expected: tuple[str, ...] | None
) -> None:
    assert made(f"---\nname: n\ndescription: d\n{said}---\nDo.\n", folder=tmp_path).tools == expected


@pytest.mark.parametrize(
    ("model", "family", "expected"),
    [
        ("inherit", "claude", ""),
        ("haiku", "claude", "fast"),
        ("sonnet", "claude", "medium"),
        ("claude-opus-4-5-20251101", "claude", "strong"),
        ("fast", "cockpit", "fast"),
        ("openai:gpt-5", "cockpit", "openai:gpt-5"),
        ("openai/gpt-5", "opencode", "openai:gpt-5"),
        ("anthropic/claude-sonnet-4-5", "opencode", "medium"),
    ],
)
def test_models_become_tiers(tmp_path: Path, model: str, family: str, expected: str) -> None:
    text = f"---\nname: n\ndescription: d\nmodel: {model}\n---\nDo.\n"
    assert made(text, family, folder=tmp_path).model == expected


def test_opencodes_maps_narrow_and_its_allows_are_refused(tmp_path: Path) -> None:
    role = made(OPENCODE, "opencode", folder=tmp_path)
    assert role.name == "a-role" and role.tools is None and role.max_steps == 12
    assert set(role.denied_tools) == {"write", "edit", "mcp__github__*", "Edit", "Bash(git push*)"}
    assert ["`webfetch` allows" in item.reason and item.line for item in faults(role)] == [11]


def test_geminis_and_codex_files_are_read(tmp_path: Path) -> None:
    gemini = made(GEMINI, "gemini", folder=tmp_path)
    assert gemini.tools == ("read_file", "grep_search", "mcp__github__*")
    assert gemini.max_steps == 10 and gemini.quota == Quota(seconds=300.0)
    codex = made(CODEX, "codex", ".toml", folder=tmp_path)
    assert (codex.name, codex.mode, codex.effort) == ("pr_explorer", "plan", "medium")
    assert codex.instructions == "Stay in exploration mode."
    wide = made(CODEX.replace("read-only", "danger-full-access"), "codex", ".toml", folder=tmp_path)
    assert wide.mode is None and faults(wide)[0].line == 5


@pytest.mark.parametrize(
    ("name", "text", "line", "reason"),
    [
        ("a.md", "Just text.\n", 1, "no frontmatter"),
        ("a.md", "---\nname: a\ndescription: d\n---\n\n", 2, "no instructions"),
        ("a.md", "---\nname: a\ndescription: d\nno end", 1, "never closed"),
        ("a.toml", 'name = "a"\ndescription = \n', 2, "not valid TOML"),
        ("a.md", "---\nname: a\ndescription: d\ndisable: true\n---\nDo.\n", 4, "says `disable`"),
    ],
)
def test_a_broken_file_says_where_and_what_to_do(
    tmp_path: Path, name: str, text: str, line: int, reason: str
) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    read = read_role(path, "project", "codex" if name.endswith("toml") else "claude")
    assert isinstance(read, Unloaded) and read.name == "a"
    told = [item for item in read.origin.refused if reason in item.reason]
    assert told and told[0].line == line and told[0].remedy


def test_missing_name_or_description_is_filled_in_and_reported(tmp_path: Path) -> None:
    role = made("---\nname: My Reviewer!\n---\n# Reviews things\nDo.\n", folder=tmp_path)
    assert (role.name, role.description) == ("my-reviewer", "Reviews things")
    assert [item.line for item in faults(role)] == [2, 0]
    assert isinstance(
        parse_role("\ufeff---\r\nname: x\r\ndescription: d\r\n---\r\nDo.\r\n", "f", "x", "plugin"), Role
    )


def write(folder: Path, name: str, body: str, suffix: str = ".md") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}{suffix}"
    path.write_text(f"---\nname: {name}\ndescription: d\n---\n{body}\n", encoding="utf-8")
    return path


def test_nearest_folder_wins_for_each_name(tmp_path: Path, home: Path) -> None:
    from cockpit import paths

    root, user = tmp_path / "repo" / "pkg", tmp_path / "person"
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    mine = write(root / ".cockpit/agents", "one", "ours")
    theirs = write(root / ".claude/agents", "one", "claude's")
    above = write(tmp_path / "repo" / ".cockpit/agents", "one", "above")
    write(root / ".claude/agents/deep/er", "nested", "n")
    write(root / ".agents/agents", "kimi", "k")
    write(root / ".gemini/agents", "gem", "g")
    write(root / ".claude/agents", "README", "no role")
    write(user / ".claude/agents", "one", "the person's")
    write(paths.config() / "agents", "two", "config")
    (user / ".codex/agents").mkdir(parents=True)
    (user / ".codex/agents/c.toml").write_text(CODEX, encoding="utf-8")
    found = find_roles(root, True, user, RoleBounds())
    roles = {
        (item.name, item.origin.layer if item.origin else ""): item
        for item in found
        if isinstance(item, Role)
    }
    assert set(roles) == {
        ("one", "project"),
        ("nested", "project"),
        ("kimi", "project"),
        ("gem", "project"),
        ("one", "user"),
        ("two", "user"),
        ("pr_explorer", "user"),
    }
    item = roles["one", "project"].origin
    assert item is not None and item.file == str(mine) and item.shadows == (str(theirs), str(above))
    again = find_roles(root, True, user, RoleBounds())
    assert again == found
    untrusted = {item.name for item in find_roles(root, False, user, RoleBounds()) if isinstance(item, Role)}
    assert untrusted == {"one", "two", "pr_explorer"}


def test_a_link_out_of_the_project_is_not_followed(tmp_path: Path) -> None:
    root, outside = tmp_path / "repo", tmp_path / "outside"
    (root / ".git").mkdir(parents=True)
    target = write(outside, "stranger", "x")
    (root / ".claude/agents").mkdir(parents=True)
    (root / ".claude/agents/stranger.md").symlink_to(target)
    [found] = find_roles(root, True, tmp_path / "nobody", RoleBounds())
    assert isinstance(found, Unloaded) and "outside the project" in found.origin.refused[0].reason


def test_the_flag_takes_claude_codes_table() -> None:
    table = json.loads(
        '{"a": {"description": "d", "prompt": "Do.", "tools": ["Read"], "model": "haiku"}, "b": 3}'
    )
    role, broken = read_roles_flag(table, RoleBounds())
    assert isinstance(role, Role) and (role.name, role.tools, role.model) == ("a", ("Read",), "fast")
    assert role.instructions == "Do." and role.origin is not None and role.origin.layer == "flags"
    assert isinstance(broken, Unloaded) and "b" in broken.origin.refused[0].reason


def test_a_file_without_a_name_loads_under_its_own_and_says_so(tmp_path: Path) -> None:
    folder = tmp_path / ".claude" / "agents"
    folder.mkdir(parents=True)
    path = folder / "nameless.md"
    path.write_text("---\ndescription: Looks.\ntools: Read\n---\nLook.\n", "utf-8")
    role = read_role(path, "project", "claude")
    assert isinstance(role, Role)
    assert role.name == "nameless"
    assert role.origin is not None
    remedy = "add `name: nameless`; nameless is used"
    assert role.origin.refused == (FileProblem(str(path), 1, "it has no `name`", remedy),)
    # opencode's files have no such field: there the file's name is the name.
    theirs = read_role(path, "project", "opencode")
    assert isinstance(theirs, Role) and theirs.origin is not None
    assert theirs.origin.refused == ()
