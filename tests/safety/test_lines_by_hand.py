"""Lines with a verdict that was decided by hand, independently of the rules."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from cockpit.safety.engine import judge_line
from cockpit.safety.policy import load_rules
from cockpit.safety.values import ExecutionContext, Shell

HERE = Path(__file__).parent
OWN = ("/home/dev/.config/cockpit", "/home/dev/.local/state/cockpit")
GROUNDS: dict[Shell, ExecutionContext] = {
    "bash": ExecutionContext(
        "/proj/ws", "/home/dev", own=("/home/dev/.config/cockpit", "/home/dev/.local/state/cockpit")
    ),
    "powershell": ExecutionContext("C:\\proj\\ws", "C:\\Users\\dev", platform="windows"),
}
FITS = {
    "B": {"deny"},
    "b": {"ask", "deny"},
    "c": {"ask"},
    "s": {"allow"},
    "t": {"allow", "ask"},
}


def lines(name: str) -> Iterator[tuple[str, str]]:
    for row in (HERE / name).read_text(encoding="utf-8").splitlines():
        letter, tab, line = row.partition("\t")
        if tab and not row.startswith("#"):
            yield letter, _written(line)


def _written(line: str) -> str:
    line = line.replace("␤", "\n").replace("␀", "\0").replace("␍", "\r")
    return re.sub(r"<U\+([0-9A-F]{4})>", lambda found: chr(int(found[1], 16)), line)


@pytest.mark.parametrize(("letter", "line"), list(lines("lines_by_hand.txt")))
def test_a_bash_line_gets_its_verdict(letter: str, line: str) -> None:
    verdict = judge_line(line, "bash", GROUNDS["bash"], load_rules()).verdict
    assert verdict.level in FITS[letter], (verdict.rules, verdict.reason)


@pytest.mark.parametrize(("letter", "line"), list(lines("powershell_by_hand.txt")))
def test_a_powershell_line_gets_its_verdict(letter: str, line: str) -> None:
    verdict = judge_line(line, "powershell", GROUNDS["powershell"], load_rules()).verdict
    assert verdict.level in FITS[letter], (verdict.rules, verdict.reason)
