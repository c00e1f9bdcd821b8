"""Plan mode without a screen: the user decides line by line, and without a user the plan is rejected."""

from pathlib import Path

import pytest
from tests.support.command import Ended
from tests.support.decks import call, script
from tests.support.in_process import cockpit

from cockpit.headless.line_frontend import parse_command
from cockpit.protocol.ops import DecidePlan, Invoke, SelectMode

EDIT = call("edit", path="a.txt", old="one", new="eins")
PROPOSE = call("ExitPlanMode", plan="# Greet in German\n\nEdit a.txt.", approved=True)


@pytest.fixture
def project(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (root / "a.txt").write_text("one\n", encoding="utf-8")
    monkeypatch.setenv("COCKPIT_SCRIPT", str(root.parent / "script.json"))
    return root


def plain(project: Path, *lines: str) -> Ended:
    typed = "".join(f"{line}\n" for line in lines)
    return cockpit("--plain", "--model", "scripted:script", cwd=project, stdin=typed)


def test_user_plans_and_approves_line_by_line(project: Path) -> None:
    script(project.parent, {"calls": [EDIT]}, {"calls": [PROPOSE]}, {"calls": [EDIT]}, {"text": "done"})
    ended = plain(project, "/plan", "translate it", "y", "y")
    assert ended.code == 0 and (project / "a.txt").read_text() == "eins\n"
    assert "plan mode: pending" in ended.out and "plan mode: approved" in ended.out
    assert "Edit a.txt." in ended.out


def test_do_without_a_plan_leaves_plan_mode_and_continues(project: Path) -> None:
    script(project.parent, {"text": "I would edit a.txt."}, {"calls": [EDIT]}, {"text": "done"})
    ended = plain(project, "/plan", "translate it", "/do", "y")
    assert ended.code == 0 and (project / "a.txt").read_text() == "eins\n", ended.out


def test_do_without_a_session_plan_is_reported(project: Path) -> None:
    script(project.parent, {"text": "hi"})
    ended = plain(project, "/do")
    assert ended.code == 0 and "there is no plan to decide" in ended.out


def test_plan_without_a_user_is_denied_with_exit_code_4(project: Path) -> None:
    script(project.parent, {"calls": [PROPOSE]}, {"calls": [EDIT]}, {"text": "I would edit a.txt."})
    ended = cockpit("-p", "go", "--mode", "plan", "--model", "scripted:script", cwd=project)
    assert ended.code == 4 and "no user is there to approve the plan" in ended.err
    assert (project / "a.txt").read_text() == "one\n" and "I would edit" in ended.out


@pytest.mark.parametrize(
    ("line", "kind"),
    [("/do it now", DecidePlan), ("/plan", SelectMode), ("/plan show", Invoke), ("/x", Invoke)],
)
def test_command_becomes_its_op(line: str, kind: type) -> None:
    op = parse_command("i", "tui", line)
    assert isinstance(op, kind)
    assert not isinstance(op, DecidePlan) or (op.decision, op.note) == ("approve", "it now")
