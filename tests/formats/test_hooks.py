"""Hooks as Claude Code, Codex and crush write them, with all their fields; broken ones tell their line."""

import json
from pathlib import Path

import pytest

from cockpit.formats.config_files import parse_config
from cockpit.formats.hook_files import list_hook_files, read_hook_files, read_hooks
from cockpit.formats.hooks import Hook, HookFile, find_matcher_fault, matches_name, parse_tool_rule
from cockpit.plugin.origin import Unloaded

CLAUDE = """{
  // every field that Claude Code documents
  "permissions": {"allow": []},
  "hooks": {
    "PreToolUse": [
      {"matcher": "Edit|Write", "hooks": [
        {"type": "command", "command": "black", "timeout": 20, "statusMessage": "formatting",
         "once": true, "async": false, "shell": "bash", "args": ["-q"], "if": "Edit(src/**)",
         "onFailure": "block"}
      ]}
    ],
    "UserPromptSubmit": [{"hooks": [{"type": "command", "command": "date"}]}],
    "SessionEnd": [{"hooks": [{"type": "command", "command": "sync"}]}],
    "Stop": [{"hooks": [
      {"type": "prompt", "prompt": "Done? $ARGUMENTS", "model": "haiku"},
      {"type": "agent", "prompt": "Look", "timeout": 90},
      {"type": "http", "url": "https://example.org/x", "headers": {"A": "$B"}, "allowedEnvVars": ["B"]},
      {"type": "mcp_tool", "server": "s", "tool": "t", "input": {"a": "${tool_input.b}"}},
      {"type": "command", "command": "echo", "async": true}
    ]}]
  }
}"""


def read(text: str, family: str = "claude", seconds: float | None = None) -> tuple[list[Hook], list[str]]:
    file = HookFile(Path("/p/hooks.json"), "project", family, seconds)
    found = read_hooks(parse_config(text, str(file.path)), file)
    return list(found.hooks), [str(fault) for item in found.unloaded for fault in item.origin.refused]


def test_every_field_of_claude_code_is_understood() -> None:
    hooks, faults = read(CLAUDE)
    assert faults == []
    first, prompt, end, *stop = hooks
    assert (first.event.name, first.line, first.once, first.fails_closed) == ("PreToolUse", 7, True, True)
    assert first.action == {"command": "black", "args": ["-q"], "shell": "bash"}
    assert [(item.matcher, item.when) for item in first.conditions] == [("Edit|Write", "Edit(src/**)")]
    assert (first.seconds, prompt.seconds, end.seconds) == (20.0, 30.0, 1.5)
    assert [item.kind for item in stop] == ["prompt", "agent", "http", "mcp_tool", "command"]
    assert [item.seconds for item in stop] == [30.0, 90.0, 600.0, 600.0, 600.0]
    assert stop[4].in_background and not first.in_background
    assert stop[2].action["allowedEnvVars"] == ["B"]


def test_listing_names_the_line_and_limits_of_a_hook() -> None:
    origin = read(CLAUDE)[0][0].origin()
    assert (origin.file, origin.layer) == ("/p/hooks.json", "project")
    assert origin.fields["line"] == 7 and origin.fields["timeout"] == 20.0
    assert origin.fields["decides"] == "it can deny and ask; an allow from it has no effect"


def test_our_own_files_have_fifteen_seconds_and_crushs_thirty_and_its_shape() -> None:
    flat = '"pre_tool_use": [{"matcher": "^bash$", "command": "y"}]'
    text = f'{{"hooks": {{"stop": [{{"hooks": [{{"command": "x"}}]}}], {flat}}}}}'
    (stop, before), faults = read(text, "cockpit", 15.0)
    assert faults == []
    assert (stop.event.name, stop.seconds, before.action_text("command")) == ("Stop", 15.0, "y")
    assert read(text, "crush", 30.0)[0][1].seconds == 30.0


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ('"PreToolUze": []', "4: there is no event PreToolUze; did you mean PreToolUse?"),
        ('"FileChanged": []', "4: FileChanged never occurs in cockpit"),
        ('"Stop": {}', "4: `Stop` is not a list"),
        ('"Stop": ["x"]', "4: this is not a table"),
        ('"PreToolUse": [{"matcher": "(", "hooks": []}]', "4: the matcher '(' is not a regular expression"),
        ('"PreToolUse": [{"matcher": 7, "hooks": []}]', "4: `matcher` is not text"),
        ('"Stop": [{"hooks": {}}]', "4: `hooks` is not a list"),
        ('"Stop": [{"hooks": [{"type": "shell"}]}]', "4: there is no type 'shell'"),
        ('"Stop": [{"hooks": [{"type": "command"}]}]', "4: a hook of type command needs `command`"),
        (
            '"Stop": [{"hooks": [{"command": " "}]}]',
            "4: a hook of type command has the wrong type of `command`",
        ),
        (
            '"Stop": [{"hooks": [{"command": "x", "args": [1]}]}]',
            "has the wrong type of `args`; write a list of texts",
        ),
        ('"Stop": [{"hooks": [{"command": "x", "shell": "fish"}]}]', "`shell` is not a shell"),
        ('"Stop": [{"hooks": [{"type": "http", "url": "ftp://x"}]}]', "`url` is not an address"),
        ('"Stop": [{"hooks": [{"type": "mcp_tool", "server": "s"}]}]', "type mcp_tool needs `tool`"),
        ('"Stop": [{"hooks": [{"command": "x", "if": "Bash(x)"}]}]', "Stop has none; remove it"),
        ('"PreToolUse": [{"hooks": [{"command": "x", "if": "a b"}]}]', "`if` is 'a b'; write one rule"),
    ],
)
def test_unusable_hooks_are_reported_with_their_line(entry: str, said: str) -> None:
    text = f'{{\n"hooks": {{\n"Notification": [{{"hooks": [{{"command": "notify"}}]}}],\n{entry}\n}}}}'
    hooks, faults = read(text)
    assert [item.action_text("command") for item in hooks] == ["notify"]
    assert len(faults) == 1 and said in faults[0], faults


def test_invalid_timeout_is_reported_and_the_default_is_used() -> None:
    [hook], _ = read('{"hooks": {"Stop": [{"hooks": [{"command": "x", "timeout": "5s"}]}]}}')
    assert hook.seconds == 600.0
    assert str(hook.refused[0]) == "/p/hooks.json:1: `timeout` is '5s'; write seconds; 600 are used"


def test_user_hooks_come_first_and_project_hooks_need_trust(tmp_path: Path) -> None:
    root, home = tmp_path / "root", tmp_path / "home"
    for folder, name in ((home, ".claude/settings.json"), (root, ".claude/settings.local.json")):
        (folder / name).parent.mkdir(parents=True)
        hook = {"hooks": {"Stop": [{"hooks": [{"command": f"echo {folder.name}"}]}]}}
        (folder / name).write_text(json.dumps(hook), encoding="utf-8")

    def commands(trusted: bool) -> list[str]:
        return [
            item.action_text("command")
            for item in read_hook_files(list_hook_files(root, trusted, home)).hooks
        ]

    assert commands(True) == ["echo home", "echo root"]
    assert commands(False) == ["echo home"]


def found(tmp_path: Path, **tables: object) -> tuple[list[Hook], list[Unloaded]]:
    """The hooks of files with these tables: `user_...` and `project_...`, in their order."""
    files = []
    for name, table in tables.items():
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(table), encoding="utf-8")
        files.append(HookFile(path, "user" if name.startswith("user") else "project"))
    result = read_hook_files(tuple(files))
    return list(result.hooks), list(result.unloaded)


def stops(*groups: tuple[str, str]) -> dict[str, object]:
    rows = [{"matcher": m, "hooks": [{"command": c}]} for m, c in groups]
    return {"hooks": {"PreToolUse": rows}}


def test_equal_hooks_are_merged_with_all_conditions_and_locations(tmp_path: Path) -> None:
    hooks, _ = found(
        tmp_path, user_a=stops(("Bash", "x"), ("Read", "x"), ("", "y")), user_b=stops(("Bash", "x"))
    )
    assert [(item.action_text("command"), len(item.conditions)) for item in hooks] == [("x", 2), ("y", 1)]
    assert hooks[0].also == (f"{tmp_path}/user_a.json:1", f"{tmp_path}/user_b.json:1")


def test_project_cannot_widen_a_users_hook(tmp_path: Path) -> None:
    hooks, _ = found(
        tmp_path, user=stops(("Bash", "x")), project=stops(("*", "x")), project_2=stops(("Bash", "x"))
    )
    own, theirs = hooks
    assert [item.matcher for item in own.conditions] == ["Bash"]
    assert (theirs.file.layer, [item.matcher for item in theirs.elsewhere]) == ("project", ["Bash"])
    hooks, _ = found(tmp_path, user=stops(("Bash", "x")), project=stops(("Bash", "x")))
    assert [item.file.layer for item in hooks] == ["user"]


def test_user_disables_all_hooks_and_a_project_only_its_own(tmp_path: Path) -> None:
    off = stops(("", "x")) | {"disableAllHooks": True}
    hooks, unloaded = found(tmp_path, user=stops(("", "own")), project=off)
    assert [item.action_text("command") for item in hooks] == ["own"]
    assert "switched off" in str(unloaded[0].origin.refused[0])
    assert found(tmp_path, user=off, project=stops(("", "theirs")))[0] == []


def test_broken_file_is_reported_and_the_others_are_read(tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text('{"hooks": {\n"Stop" []}}', encoding="utf-8")
    good = tmp_path / "good.json"
    good.write_text(json.dumps(stops(("", "x"))), encoding="utf-8")
    folder = tmp_path / "folder.json"
    folder.mkdir()
    result = read_hook_files(tuple(HookFile(path, "user") for path in (broken, folder, good)))
    assert len(result.hooks) == 1
    first, second = (str(item.origin.refused[0]) for item in result.unloaded)
    assert first.startswith(f"{broken}:2: invalid JSON: expected a colon here")
    assert str(folder) in second


def test_hooks_of_one_line_have_names_of_their_own() -> None:
    hooks, _ = read('{"hooks": {"Stop": [{"hooks": [{"command": "a"}, {"command": "b"}]}]}}')
    assert [item.name("/p") for item in hooks] == ["Stop hooks.json:1", "Stop hooks.json:1 (2)"]


def test_a_digest_is_of_what_runs_and_when() -> None:
    def digest(matcher: str, command: str, line: str = "") -> str:
        return read(line + json.dumps(stops((matcher, command))))[0][0].digest()

    assert digest("Bash", "x") == digest("Bash", "x", "\n\n")
    assert len({digest("Bash", "x"), digest("Read", "x"), digest("Bash", "y")}) == 3


@pytest.mark.parametrize(
    ("matcher", "names", "fitting"),
    [
        ("", ("Bash",), True),
        ("*", ("Bash",), True),
        ("Bash", ("Bash", "shell"), True),
        ("shell", ("Bash", "shell"), True),
        ("Edit|Write", ("Write",), True),
        ("Edit, Write", ("Write",), True),
        ("bash", ("Bash",), False),
        ("Ba", ("Bash",), False),
        ("mcp__memory", ("mcp__memory__create",), False),
        ("mcp__memory__.*", ("mcp__memory__create",), True),
        ("Notebook.*", ("NotebookEdit",), True),
        (".*Edit", ("MultiEdit",), True),
        ("^(?!Bash)", ("Bash", "shell"), False),
        ("^(?!Bash)", ("Read",), True),
        ("(?<tool>Bash)$", ("Bash",), True),
        ("(", ("Bash",), False),
    ],
)
def test_matchers(matcher: str, names: tuple[str, ...], fitting: bool) -> None:
    assert matches_name(matcher, names) is fitting


def test_only_an_invalid_regular_expression_is_a_fault() -> None:
    assert [bool(find_matcher_fault(item)) for item in ("", "*", "Bash|Read", "a.*", "*.py", "[")] == [
        False
    ] * 4 + [True] * 2


def test_a_rule_is_a_tool_and_a_pattern() -> None:
    assert parse_tool_rule("Bash(git push *)") == ("Bash", "git push *")
    assert parse_tool_rule("mcp__x__*") == ("mcp__x__*", "")
    assert parse_tool_rule("a b") is None
