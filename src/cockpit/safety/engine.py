"""Judges a command line for either shell. Runs nothing and raises nothing."""

from typing import assert_never

from cockpit.safety.rules.rule import RuleSet
from cockpit.safety.values import ExecutionContext, JudgedLine, Shell, ask_unreadable


def judge_line(text: str, shell: Shell, context: ExecutionContext, rules: RuleSet) -> JudgedLine:
    """The verdict on `text` as `shell` will read it. A line that cannot be judged is an ask that only the
    user can answer."""
    match shell:
        case "bash":
            from cockpit.safety.bash.line_verdict import judge_bash

            return judge_bash(text, context, rules)
        case "powershell":
            from cockpit.safety.powershell.line_verdict import judge_powershell

            try:
                return judge_powershell(text, context, rules)
            except Exception as error:  # A fault of the reader must never become an allow.
                return ask_unreadable(text, error)
        case _:
            assert_never(shell)
