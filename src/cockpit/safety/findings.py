"""What one look at a command found. A value, and the short ways to make one."""

from dataclasses import dataclass

from cockpit.plugin.safety import Level
from cockpit.plugin.tools import Capability


@dataclass(frozen=True, slots=True)
class SafetyFinding:
    """A reason to ask or to refuse."""

    level: Level
    rule: str
    risk: int
    capabilities: frozenset[Capability]
    reason: str
    alternative: str = ""
    destination: str = ""


def deny(
    rule: str, reason: str, *capabilities: Capability, risk: int = 95, alternative: str = ""
) -> SafetyFinding:
    return SafetyFinding("deny", rule, risk, frozenset(capabilities), reason, alternative)


def ask(
    rule: str,
    reason: str,
    *capabilities: Capability,
    risk: int = 50,
    alternative: str = "",
    destination: str = "",
) -> SafetyFinding:
    return SafetyFinding("ask", rule, risk, frozenset(capabilities), reason, alternative, destination)
