"""The verdict on a command line: one door for both shells. Runs nothing, raises nothing."""

import shlex
from dataclasses import replace
from typing import assert_never

from cockpit.plugin.safety import CommandPart, Verdict
from cockpit.safety.bash import line_verdict
from cockpit.safety.policy import RuleSet
from cockpit.safety.values import ExecutionContext, JudgedLine, Shell


def judge_line(text: str, shell: Shell, ground: ExecutionContext, rules: RuleSet) -> JudgedLine:
    """The verdict on `text` as `shell` will read it. Whatever goes wrong on the way is an ask that only
    a person answers (G3 of the safety guarantees)."""
    try:
        return _judge(text, shell, ground, rules)
    except Exception as error:  # the one place: a fault of the reader must never become a yes
        line = ask_unreadable(text, f"cockpit could not read it ({type(error).__name__}): check it by eye")
        return deny_line(line) if shell == "bash" and line_verdict.holds_fatal_text(text) else line


def judge_argv(argv: tuple[str, ...], ground: ExecutionContext, rules: RuleSet) -> JudgedLine:
    """The verdict on a program that is started without a shell; `script` is its quoted form."""
    return judge_line(shlex.join(argv), "bash", ground, rules)


def ask_unreadable(text: str, reason: str) -> JudgedLine:
    """An ask that nothing but a person answers."""
    part = CommandPart(text, (), "ask", 60, frozenset({"shell.opaque"}), ("unread",), reason)
    verdict = Verdict(
        "ask", reason, 60, part.capabilities, part.rules, sandbox="build",
        may_remember=False, person_only=True, parts=(part,),
    )  # fmt: skip
    return JudgedLine(verdict, text)


def deny_line(line: JudgedLine) -> JudgedLine:
    """The same line, refused: also unread it plainly holds what must not run."""
    reason = "it holds what must not run, whatever stands around it"
    return replace(line, verdict=replace(line.verdict, level="deny", reason=reason, risk=95))


def _judge(text: str, shell: Shell, ground: ExecutionContext, rules: RuleSet) -> JudgedLine:
    match shell:
        case "bash":
            from cockpit.safety.bash.line_verdict import judge_bash

            return judge_bash(text, ground, rules)
        case "powershell":
            from cockpit.safety.powershell.line_verdict import judge_powershell

            return judge_powershell(text, ground, rules)
        case _:
            assert_never(shell)
