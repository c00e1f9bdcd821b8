"""Rules for lines of several commands: a deny rule matches any of them, an allow rule must cover all."""

from pathlib import Path

import pytest
from tests.support.decks import call, driving, script

from cockpit.core.session.options import RunOptions
from cockpit.protocol.events import ApprovalRequested, ToolCallFinished
from cockpit.safety.rule_patterns import split_commands


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("cd src && git push origin", "git push origin"),
        ("true; git push", "git push"),
        ("x=$(git push)", "git push"),
        ("if true; then git push; fi", "git push"),
        ("A=1 B=2 git  push", "git push"),
        ("sudo git push", "git push"),
        ('bash -c "a | git push"', "git push"),
        ("echo `git push`", "git push"),
        ("git push > log", "git push"),
    ],
)
def test_a_line_is_read_as_every_command_it_may_contain(line: str, command: str) -> None:
    assert command in split_commands(line)


@pytest.fixture
def scripted(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COCKPIT_SCRIPT", str(root.parent / "script.json"))
    return root


async def test_a_denied_command_is_denied_inside_a_longer_line_too(scripted: Path) -> None:
    lines = ["touch denied.txt", "true && touch denied.txt", "echo $(touch denied.txt)"]
    script(scripted.parent, {"calls": [call("shell", command=one) for one in lines]}, {"text": "done"})
    options = RunOptions(model="scripted:script", mode="full", deny=("Bash(touch *)",))
    async with driving(scripted, options=options) as driver:
        await driver.prompt("go")
    assert [one.result.outcome for one in driver.all(ToolCallFinished)] == ["denied"] * 3
    assert not (scripted / "denied.txt").exists()


@pytest.mark.parametrize(("allowed", "runs"), [(("mkdir",), False), (("mkdir", "touch"), True)])
async def test_allow_rules_must_cover_every_command_of_a_line(
    scripted: Path, allowed: tuple[str, ...], runs: bool
) -> None:
    line = "mkdir made && touch made/b.txt | cat"
    script(scripted.parent, {"calls": [call("shell", command=line)]}, {"text": "done"})
    rules = tuple(f"Bash({one} *)" for one in allowed)
    options = RunOptions(model="scripted:script", someone=False, allow=rules)
    async with driving(scripted, options=options) as driver:
        await driver.prompt("go")
    assert bool(driver.all(ApprovalRequested)) != runs and (scripted / "made" / "b.txt").exists() == runs
