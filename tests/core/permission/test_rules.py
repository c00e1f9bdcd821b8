"""Which rules cover a call: by the words of every command, never by a text prefix; and entries of roles."""

from dataclasses import replace

import pytest
from tests.support.session_view import registered

from cockpit.builtin.tools import delete, edit, shell
from cockpit.core.permission.rules import (
    CallFacts,
    PermissionRule,
    RoleRights,
    entry_names_tool,
    match_rules,
    parse_rule,
    unknown_entries,
)
from cockpit.plugin.safety import CommandPart, Level
from cockpit.plugin.tools import CommandLine, Preview, Tool
from cockpit.plugin.values import Role

SHELL = registered(shell)["shell"]
EDIT = registered(edit)["edit"]
DELETE = registered(delete)["delete"]


def part(*argv: str | None, level: Level = "ask", shape: str = "x") -> CommandPart:
    return CommandPart(" ".join(one or "?" for one in argv), argv, level, shape=shape)


def asked(*parts: CommandPart, text: str = "") -> CallFacts:
    return CallFacts(SHELL, Preview("", line=CommandLine(text, "bash", "/ws")), "/ws", parts)


def allow(*texts: str) -> tuple[PermissionRule, ...]:
    return tuple(parse_rule("allow", text, "mine") for text in texts)


@pytest.mark.parametrize(
    ("rule", "argv", "fits"),
    [
        ("Bash(git status *)", ("git", "status"), True),
        ("Bash(git status *)", ("git", "status", "-s"), True),
        ("Bash(git status *)", ("git", "push"), False),
        ("Bash(git status:*)", ("git", "status", "-s"), True),
        ("Bash(git *)", ("gitk",), False),
        ("Bash(npm run test)", ("npm", "run", "test"), True),
        ("Bash(npm run test)", ("npm", "run", "test", "--", "x"), False),
        ("Bash(npm run test)", ("npm", "run", "test && rm"), False),
        ("Bash(npm run *)", ("npm", "run test"), False),
        ("Bash(echo a b)", ("echo", "a b"), False),
        ("Bash(git *)", ("/tmp/git", "status"), False),
        ("Bash(git *)", ("./git", "status"), False),
        ("Bash(pytest *)", ("pytest", None), True),
        ("Bash(pytest -q)", ("pytest", None), False),
        ("Bash(pytest *)", (None, "-q"), False),
        ("Bash", ("anything",), True),
        ("Bash(*)", ("anything", "else"), True),
        ("Edit(**)", ("git", "status"), False),
    ],
)
def test_an_allow_rule_matches_words_not_text(rule: str, argv: tuple[str | None, ...], fits: bool) -> None:
    assert (match_rules(allow(rule), asked(part(*argv))) is not None) == fits


def test_allow_rules_cover_a_line_together_or_not_at_all() -> None:
    test, commit = part("npm", "test"), part("git", "commit", "-m", "x")
    rules = allow("Bash(npm test)", "Bash(git commit *)")
    both = match_rules(rules, asked(test, commit))
    assert both is not None and both.by == rules
    assert match_rules(rules[:1], asked(test, commit)) is None


def test_parts_that_are_allowed_anyway_need_no_rule() -> None:
    line = asked(part("pytest", "-q"), part("tail", "-5", level="allow"))
    assert match_rules(allow("Bash(pytest *)"), line) is not None


@pytest.mark.parametrize("level", ["ask", "deny"])
def test_no_allow_rule_covers_a_part_that_may_not_be_remembered(level: Level) -> None:
    sudo = part("sudo", "ls", level=level, shape="")
    assert match_rules(allow("Bash", "Bash(*)", "Bash(sudo *)"), asked(sudo)) is None


def test_a_deny_beats_an_ask_beats_an_allow_and_losing_rules_are_named() -> None:
    rules = (
        *allow("Bash(git *)"),
        parse_rule("ask", "Bash(git push *)", "b"),
        parse_rule("deny", "Bash(git push -f)", "c"),
    )
    push = match_rules(rules, asked(part("git", "push")))
    assert push is not None and (push.level, str(push)) == ("ask", "Bash(git push *) (b)")
    assert [str(one) for one in push.shadowed] == ["Bash(git *)"]
    force = match_rules(rules, asked(part("git", "push", "-f")))
    assert force is not None and force.level == "deny" and len(force.shadowed) == 2


@pytest.mark.parametrize("text", ["/usr/bin/git push", "sudo git push", "x=$(git push)", "a |& git push"])
def test_a_deny_rule_matches_commands_of_a_line_that_cannot_be_parsed(text: str) -> None:
    unread = CommandPart(text, (), "ask")
    found = match_rules((parse_rule("deny", "Bash(git push *)", "mine"),), asked(unread, text=text))
    named = match_rules(
        (parse_rule("deny", "Bash(git push *)", "mine"),), asked(part("/usr/bin/git", "push"))
    )
    assert named is not None and (found is not None or text.startswith("/"))


@pytest.mark.parametrize(("tool", "covered"), [(EDIT, True), (DELETE, False)])
def test_leave_to_edit_is_no_leave_to_delete(tool: Tool, covered: bool) -> None:
    call = CallFacts(tool, Preview("", paths=("/ws/src/a.py",)), "/ws")
    assert (match_rules(allow("Edit(src/**)"), call) is not None) == covered
    assert match_rules((parse_rule("deny", "Edit(src/**)", "mine"),), call) is not None


def test_every_path_of_a_call_must_be_covered() -> None:
    call = CallFacts(EDIT, Preview("", paths=("/ws/src/a.py", "/ws/docs/b.md")), "/ws")
    assert match_rules(allow("Edit(src/**)"), call) is None
    assert match_rules(allow("Edit(src/**)", "Edit(docs/**)"), call) is not None


@pytest.mark.parametrize(
    ("entry", "names"),
    [
        ("mcp__github", ["mcp__github__issues"]),
        ("mcp__*", ["mcp__github__issues", "mcp__other__issues"]),
        ("mcp__", []),
        ("mcp__()", []),
        ("mcp__git", []),
        ("Bash", ["shell"]),
    ],
)
def test_an_mcp_entry_of_a_role_names_the_tools_of_its_server_only(entry: str, names: list[str]) -> None:
    servers = [
        replace(SHELL, name=f"mcp__{server}__issues", aliases=(), kind="fetch")
        for server in ("github", "other")
    ]
    tools = (SHELL, EDIT, *servers)
    assert [tool.name for tool in tools if entry_names_tool(entry, tool)] == names
    denying = RoleRights(Role("r", "", "", denied_tools=(entry,)))
    assert [tool.name for tool in tools if denying.withholds(tool)] == names


def test_a_bare_mcp_entry_is_reported_as_naming_no_tool() -> None:
    assert unknown_entries(("mcp__", "mcp__github", "mcp__*", "Bash"), (SHELL,)) == ("mcp__",)
