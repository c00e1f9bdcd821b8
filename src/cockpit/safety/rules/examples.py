"""The examples of rules, tried against the rules: a rule that does not do what it says is no rule."""

from cockpit.errors import SettingsInvalid
from cockpit.safety.rules import RuleSet
from cockpit.safety.rules.values import Rule
from cockpit.safety.values import Ground

GROUND = Ground(root="/proj/ws", home="/home/dev")
HELD = Ground(root="/proj/ws", home="/home/dev", sandbox=True)


def verify(rules: RuleSet, chosen: tuple[Rule, ...]) -> None:
    """Raises `SettingsInvalid` for the first example that comes out differently."""
    from cockpit.safety.engine import judge_line

    for rule in chosen:
        ground = HELD if rule.needs == "sandbox" else GROUND
        for wanted, lines in ((True, rule.match), (False, rule.not_match)):
            for line in lines:
                verdict = judge_line(line, "bash", ground, rules).verdict
                hit = any(rule.id in part.rules for part in verdict.parts) and (
                    rule.level != "allow" or verdict.level == "allow"
                )
                if hit is not wanted:
                    word = "does not match" if wanted else "matches"
                    raise SettingsInvalid(
                        f"{rule.file}:{rule.line}: the rule `{rule.id}` {word} its example {line!r}",
                        "correct the rule or the example",
                    )
