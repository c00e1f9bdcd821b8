"""The verdict on a command line: one door for both shells. Runs nothing, raises nothing."""

from cockpit.plugin.safety import CommandPart, Verdict
from cockpit.safety.rules import RuleSet
from cockpit.safety.values import Ground, Line, Shell


def judge_line(text: str, shell: Shell, ground: Ground, rules: RuleSet) -> Line:
    """The verdict on `text` as `shell` will read it."""
    part = CommandPart(text, (), "ask", 50, frozenset({"shell.opaque"}), ("unread",), "nothing reads it yet")
    return Line(Verdict("ask", part.reason, 50, part.capabilities, part.rules, parts=(part,)), text)


def judge_argv(argv: tuple[str, ...], ground: Ground, rules: RuleSet) -> Line:
    """The verdict on a program that is started without a shell; `script` is its quoted form."""
    return judge_line(" ".join(argv), "bash", ground, rules)
