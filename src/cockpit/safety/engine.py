"""The verdict on a command line: one door for both shells. Runs nothing, raises nothing."""

import shlex
from dataclasses import replace
from typing import assert_never

from cockpit.plugin.safety import CommandPart, Verdict
from cockpit.safety.bash import crude
from cockpit.safety.rules import RuleSet
from cockpit.safety.values import Ground, Line, Shell


def judge_line(text: str, shell: Shell, ground: Ground, rules: RuleSet) -> Line:
    """The verdict on `text` as `shell` will read it. Whatever goes wrong on the way is an ask that only
    a person answers (G3 of the safety guarantees)."""
    try:
        return _judge(text, shell, ground, rules)
    except Exception as error:  # the one place: a fault of the reader must never become a yes
        line = unread(text, f"cockpit could not read it ({type(error).__name__}): check it by eye")
        return refused(line) if shell == "bash" and crude.is_fatal(text) else line


def judge_argv(argv: tuple[str, ...], ground: Ground, rules: RuleSet) -> Line:
    """The verdict on a program that is started without a shell; `script` is its quoted form."""
    return judge_line(shlex.join(argv), "bash", ground, rules)


def unread(text: str, reason: str) -> Line:
    """An ask that nothing but a person answers."""
    part = CommandPart(text, (), "ask", 60, frozenset({"shell.opaque"}), ("unread",), reason)
    verdict = Verdict(
        "ask", reason, 60, part.capabilities, part.rules, sandbox="build",
        may_remember=False, person_only=True, parts=(part,),
    )  # fmt: skip
    return Line(verdict, text)


def refused(line: Line) -> Line:
    """The same line, refused: also unread it plainly holds what must not run."""
    reason = "it holds what must not run, whatever stands around it"
    return replace(line, verdict=replace(line.verdict, level="deny", reason=reason, risk=95))


def _judge(text: str, shell: Shell, ground: Ground, rules: RuleSet) -> Line:
    match shell:
        case "bash":
            from cockpit.safety.bash.verdict import judge_bash

            return judge_bash(text, ground, rules)
        case "powershell":
            from cockpit.safety.powershell import judge

            return judge(text, ground, rules)
        case _:
            assert_never(shell)
