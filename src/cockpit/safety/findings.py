"""One reason to ask about a command or to deny it, found by a check."""

from dataclasses import dataclass

from cockpit.plugin.safety import Level
from cockpit.plugin.tools import Capability

LEVEL_RANK: dict[Level, int] = {"allow": 0, "ask": 1, "deny": 2}


@dataclass(frozen=True, slots=True)
class SafetyFinding:
    """`rule` is the id that users see; with `remember` False no answer to it is stored as a rule."""

    level: Level
    rule: str
    risk: int
    capabilities: frozenset[Capability]
    reason: str
    alternative: str = ""
    destination: str = ""
    remember: bool = True


def deny(
    rule: str, reason: str, *capabilities: Capability, risk: int = 95, alternative: str = ""
) -> SafetyFinding:
    capability_set = frozenset(capabilities)
    return SafetyFinding("deny", rule, risk, capability_set, reason, alternative, remember=False)


def ask(
    rule: str,
    reason: str,
    *capabilities: Capability,
    risk: int = 50,
    alternative: str = "",
    destination: str = "",
    remember: bool = True,
) -> SafetyFinding:
    return SafetyFinding(
        "ask", rule, risk, frozenset(capabilities), reason, alternative, destination, remember
    )


def find_strictest(findings: list[SafetyFinding]) -> SafetyFinding:
    """The finding with the highest level, then the highest risk."""
    return max(findings, key=lambda finding: (LEVEL_RANK[finding.level], finding.risk))
