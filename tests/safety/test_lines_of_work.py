"""Lines of attackers and of ordinary work, each with its expected verdict."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cockpit.safety.engine import judge_line
from cockpit.safety.policy import load_rules
from cockpit.safety.values import ExecutionContext

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
GROUND = ExecutionContext(
    "/proj/ws", "/home/dev", own=("/home/dev/.config/cockpit", "/home/dev/.local/state/cockpit")
)
FITS = {"B": {"deny"}, "b": {"ask", "deny"}, "c": {"ask"}, "s": {"allow"}, "t": {"allow", "ask"}}


def lines(name: str) -> Iterator[tuple[str, str]]:
    for row in (HERE / name).read_text(encoding="utf-8").splitlines():
        letter, tab, line = row.partition("\t")
        if tab and not row.startswith("#"):
            yield letter, line.replace("␤", "\n").replace("␍", "\r")


def level(letter: str, line: str) -> str:
    ground = replace(GROUND, sandbox=letter.endswith("+"))
    return judge_line(line, "bash", ground, load_rules()).verdict.level


@pytest.mark.parametrize(("letter", "line"), list(lines("lines_of_attack.txt")))
def test_a_line_of_an_attacker_does_not_run_below_its_verdict(letter: str, line: str) -> None:
    assert level(letter, line) in FITS[letter[0]]


@pytest.mark.parametrize(("letter", "line"), list(lines("lines_of_work.txt")))
def test_a_line_of_ordinary_work_is_not_blocked_and_reads_do_not_ask(letter: str, line: str) -> None:
    assert level(letter, line) in FITS[letter[0]]
