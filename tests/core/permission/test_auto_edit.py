"""What runs without asking: the verdict, the sandbox and the mode together."""

from pathlib import Path

import pytest
from tests.support.decks import call, driving, script

from cockpit.core.session.options import RunOptions
from cockpit.protocol.events import ApprovalRequested, SessionChanged, ToolCallFinished
from cockpit.protocol.messages import Mode
from cockpit.settings.files import user_file


@pytest.fixture
def scripted(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (root / "a.txt").write_text("one\n", encoding="utf-8")
    monkeypatch.setenv("COCKPIT_SCRIPT", str(root.parent / "script.json"))
    return root


def options(mode: Mode = "ask", trust: bool = True) -> RunOptions:
    return RunOptions(model="scripted:script", mode=mode, someone=False, trust=trust)


async def run(root: Path, given: RunOptions, *commands: str) -> tuple[list[str], list[str], str]:
    """Outcomes and isolations of the commands, and the session's isolation."""
    script(root.parent, *({"calls": [call("shell", command=one)]} for one in commands), {"text": "done"})
    async with driving(root, options=given) as driver:
        changed = await driver.next(SessionChanged)
        await driver.prompt("go")
        results = [one.result for one in driver.all(ToolCallFinished)]
    return [one.outcome for one in results], [one.isolation for one in results], changed.isolation


async def test_a_proven_reader_runs_unasked_in_an_available_read_profile(scripted: Path) -> None:
    outcomes, held, isolation = await run(scripted, options(), "cat a.txt | wc -l", "ls -la && pwd")
    assert outcomes == ["ok", "ok"]
    expected = {"full": "bwrap read", "partial": "landlock read", "none": "none"}[isolation]
    assert held == [expected, expected]


async def test_auto_edit_runs_sandboxed_programs_and_asks_for_the_rest(scripted: Path) -> None:
    commands = ("python3 -m compileall -q .", "touch made", "rm a.txt", "curl -s http://127.0.0.1:9/x")
    outcomes, _, isolation = await run(scripted, options("auto-edit"), *commands)
    unasked = "ok" if isolation == "full" else "denied"
    assert outcomes == [unasked, unasked, "denied", "denied"]


async def test_auto_edit_runs_no_program_of_an_untrusted_folder(scripted: Path) -> None:
    outcomes, _, _ = await run(scripted, options("auto-edit", trust=False), "make", "cat a.txt")
    assert outcomes == ["denied", "ok"]


async def test_without_a_sandbox_less_runs_unasked_and_this_is_reported(scripted: Path) -> None:
    user_file().parent.mkdir(parents=True, exist_ok=True)
    user_file().write_text('[sandbox]\nuse = "off"\n', encoding="utf-8")
    commands = ("cat a.txt", "python3 --version", "touch made")
    outcomes, held, isolation = await run(scripted, options("auto-edit"), *commands)
    assert (outcomes, held[0], isolation) == (["ok", "denied", "denied"], "none", "none")


async def test_leave_for_a_command_is_no_leave_to_run_it_elsewhere(scripted: Path) -> None:
    other = scripted.parent / "other"
    other.mkdir()
    make = call("shell", command="touch made", cwd=str(other))
    script(scripted.parent, {"calls": [make]}, {"text": "done"})
    given = RunOptions(model="scripted:script", trust=True, someone=False, allow=("Bash(touch *)",))
    async with driving(scripted, options=given) as driver:
        await driver.prompt("go")
    assert driver.all(ToolCallFinished)[0].result.outcome == "denied" and not list(other.iterdir())


async def test_where_a_sandbox_is_required_nothing_runs_without_it(
    scripted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user_file().parent.mkdir(parents=True, exist_ok=True)
    user_file().write_text('[sandbox]\nuse = "required"\n', encoding="utf-8")
    outcomes, _, isolation = await run(scripted, options(), "cat a.txt")
    assert outcomes == (["ok"] if isolation == "full" else ["error"])


async def test_text_from_the_network_suspends_rules_that_allow_sending(scripted: Path) -> None:
    fetch = call("shell", command="curl -s http://127.0.0.1:9/x")
    script(scripted.parent, {"calls": [fetch]}, {"calls": [fetch]}, {"text": "done"})
    given = RunOptions(model="scripted:script", trust=True, allow=("Bash(curl *)",))
    async with driving(scripted, options=given) as driver:
        turn = await driver.begin("go")
        request = await driver.next(ApprovalRequested)
        assert len(driver.all(ToolCallFinished)) == 1 or "allow_session" not in request.options
        await driver.decide(request.id, "reject_once")
        await driver.end(turn)
    assert driver.all(ToolCallFinished)[-1].result.outcome == "denied"
