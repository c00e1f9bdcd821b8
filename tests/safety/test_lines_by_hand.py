"""Command lines with a verdict that was decided by hand, independently of the rules: one test per file."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from cockpit.safety.engine import judge_line
from cockpit.safety.policy import load_rules
from cockpit.safety.values import ExecutionContext, Shell

HERE = Path(__file__).parent
OWN = ("/home/dev/.config/cockpit", "/home/dev/.local/state/cockpit")
WINDOWS = ExecutionContext("C:\\proj\\ws", "C:\\Users\\dev", platform="windows")
# The letters are explained at the top of lines_by_hand.txt.
LEVELS = {"B": {"deny"}, "b": {"ask", "deny"}, "c": {"ask"}, "s": {"allow"}, "t": {"allow", "ask"}}


def read_lines(name: str) -> Iterator[tuple[str, str]]:
    for row in (HERE / name).read_text(encoding="utf-8").splitlines():
        letter, tab, line = row.partition("\t")
        if tab and not row.startswith("#"):
            line = line.replace("␤", "\n").replace("␀", "\0").replace("␍", "\r")
            yield letter, re.sub(r"<U\+([0-9A-F]{4})>", lambda match: chr(int(match[1], 16)), line)


@pytest.mark.parametrize(
    ("name", "shell", "least"),
    [
        ("lines_by_hand.txt", "bash", 780),
        ("lines_of_attack.txt", "bash", 1200),
        ("lines_of_work.txt", "bash", 490),
        ("powershell_by_hand.txt", "powershell", 175),
    ],
)
def test_every_line_of_a_file_gets_its_verdict(name: str, shell: Shell, least: int) -> None:
    rules, lines = load_rules(), list(read_lines(name))
    assert len(lines) >= least
    wrong = []
    for letter, line in lines:
        context = ExecutionContext("/proj/ws", "/home/dev", own=OWN, sandbox=letter.endswith("+"))
        verdict = judge_line(line, shell, context if shell == "bash" else WINDOWS, rules).verdict
        if verdict.level not in LEVELS[letter[0]]:
            wrong.append(f"{letter}: {verdict.level} {verdict.rules} {verdict.reason}: {line!r}")
    assert not wrong, f"{len(wrong)} lines of {name} got another verdict:\n" + "\n".join(wrong)
