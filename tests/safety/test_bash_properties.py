"""Properties of every line: no transformation lowers a verdict, nothing raises, nothing hangs."""

import os
import random
import shlex
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cockpit.safety.bash.line_verdict import judge_bash
from cockpit.safety.engine import judge_line
from cockpit.safety.policy import load_rules
from cockpit.safety.rules.rule import CommandRule, RuleSet
from cockpit.safety.values import ExecutionContext

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
GROUND = ExecutionContext(root="/proj/ws", home="/home/dev")
RANK = {"allow": 0, "ask": 1, "deny": 2}
LINES = [
    line
    for level in ("allow", "ask", "deny")
    for line in (HERE / f"bash_{level}.txt").read_text(encoding="utf-8").splitlines()
    if "⏎" not in line
]
# Lines whose text can stand inside others: balanced, in one piece.
WHOLE = [
    line for line in LINES if judge_line(line, "bash", GROUND, load_rules()).verdict.rules[:1] != ("syntax",)
]
PLAIN = [line for line in WHOLE if all(sign.isalnum() or sign in " /.-_~" for sign in line)]
FUZZ = 1_000_000 if os.environ.get("COCKPIT_FUZZ") else 20_000


def rank(text: str) -> int:
    return RANK[judge_bash(text, GROUND, load_rules()).verdict.level]


def quoted(text: str) -> str:
    first, *rest = text.split(" ")
    return " ".join([f"'{first}'", *(one if one.startswith("~") else f'"{one}"' for one in rest)])


def escaped(text: str) -> str:
    first, space, rest = text.partition(" ")
    return "\\" + first[:1] + "\\".join(first[1:]) + space + rest


WRAPPERS = (
    "env ",
    "nice -n 5 ",
    "timeout 5 ",
    "command ",
    "time ",
    "nohup ",
    "sudo ",
    "setsid ",
    "stdbuf -o0 ",
    "busybox ",
)
AROUND = (
    "{}; true",
    "true; {}",
    "true && {}",
    "false || {}",
    "( {} )",
    "{{ {}\n}}",
    "if true; then {}\nfi",
    "{} &",
    "for i in 1; do {}\ndone",
    "\n{}\n",
    "echo $({}\n)",
    'echo "$({}\n)"',
    "x=1; {}",
    "cat <({}\n)",
    "! {}",
    "time {}",
    "time {{ {}\n}}",
    "f() {{ {}\n}}; f",
    "while true; do {}\ndone",
    "echo a | {{ {}\n}}",
    "case a in a) {}\n;; esac",
    "coproc {{ {}\n}}",
)


@pytest.mark.parametrize("around", AROUND)
def test_nesting_a_line_never_lowers_its_verdict(around: str) -> None:
    for line in WHOLE:
        if "#" not in line and not line.rstrip().endswith(("\\", "&")):
            made = around.format(line)
            assert rank(made) >= rank(line), made


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    line=st.sampled_from(WHOLE),
    shell=st.sampled_from(["bash -c", "sh -c", "eval", "bash -lc", "su -c", "env bash -c"]),
)
def test_a_line_as_the_string_of_a_shell_is_never_judged_lower(line: str, shell: str) -> None:
    assert rank(f"{shell} {shlex.quote(line)}") >= rank(line)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(line=st.sampled_from(PLAIN), wrapper=st.sampled_from(WRAPPERS))
def test_a_wrapper_never_lowers_a_verdict(line: str, wrapper: str) -> None:
    assert rank(wrapper + line) >= rank(line), wrapper + line


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(line=st.sampled_from(PLAIN))
def test_quotes_backslashes_and_variables_never_lower_a_verdict(line: str) -> None:
    first, space, rest = line.partition(" ")
    for made in (
        quoted(line),
        escaped(line),
        f"v={first}; $v{space}{rest}",
        f"$(echo {first}){space}{rest}",
        f"{first[:1]}''{first[1:]}{space}{rest}",
        line.replace(" ", "  \\\n "),
        line.replace(" ", "${IFS}") if "~" not in line else line,
        f"LC_ALL=C {line}",
    ):
        assert rank(made) >= rank(line), made


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    line=st.sampled_from([line for line in WHOLE if rank(line) == 2]),
    tail=st.sampled_from(['; echo "', "; (", "; '", " ; fi", "; case", "\n<<<"]),
)
def test_a_syntax_error_does_not_hide_what_must_not_run(line: str, tail: str) -> None:
    if "#" not in line and not line.endswith("\\"):
        assert rank(line + tail) == 2, line + tail


PIECES = (HERE / "bash_pieces.txt").read_text(encoding="utf-8").replace("⏎", "\n").split(" ")


def fuzzed(source: random.Random) -> str:
    if source.random() < 0.3:
        line = source.choice(LINES)
        at = source.randrange(len(line) + 1)
        return line[:at] + source.choice(PIECES) + line[at + source.randrange(3) :]
    joint = source.choice(["", " "])
    return joint.join(source.choice(PIECES) for _ in range(source.randrange(1, 14)))


def test_fuzzed_lines_neither_raise_nor_hang() -> None:
    source, rules = random.Random(20261122), load_rules()
    for _ in range(FUZZ):
        text = fuzzed(source)
        started = time.process_time()
        judge_bash(text, GROUND, rules)
        assert time.process_time() - started < 2.0, text


def test_a_fault_of_the_reader_is_an_ask_for_a_user() -> None:
    class Broken(dict[str, tuple[CommandRule, ...]]):
        def get(self, *arguments: object) -> tuple[CommandRule, ...]:
            raise RuntimeError("broken")

    verdict = judge_line("cat /x/y", "bash", GROUND, RuleSet(by_program=Broken())).verdict
    assert (verdict.level, verdict.user_only, verdict.rules) == ("ask", True, ("unread",))


def test_long_and_deep_lines_are_read_to_the_end_or_asked_about() -> None:
    for text in (
        "echo $(" * 120 + "rm -rf /" + ")" * 120,
        "eval " * 2000 + "rm -rf /",
        "; ".join(["ls"] * 5000) + "; rm -rf /",
        "x=aa; " + "x=$x$x; " * 60 + "rm -rf /",
        "(" * 500 + "rm -rf /" + ")" * 500,
        "echo '" + "a" * 120_000 + "'; rm -rf /",
        "true | " * 3000 + "rm -rf /",
    ):
        started = time.process_time()
        assert judge_line(text, "bash", GROUND, load_rules()).verdict.level == "deny", text[:40]
        assert time.process_time() - started < 5.0, text[:40]
    for text in (
        "(" * 60_000,
        "$(" * 20_000,
        '"' * 60_001,
        "<<a " * 15_000,
        "{" * 60_000,
        "cat " + "/*" * 5000,
    ):
        assert judge_line(text, "bash", GROUND, load_rules()).verdict.level == "ask"


def test_a_line_of_more_commands_than_are_read_is_never_allowed() -> None:
    for joint in ("; ", "\n", " && ", " | "):
        for text in (joint.join(["ls"] * 301), "echo $(" + joint.join(["ls"] * 301) + ")"):
            assert judge_line(text, "bash", GROUND, load_rules()).verdict.level != "allow", joint
