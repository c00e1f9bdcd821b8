"""What one command was found to do: the grounds of a verdict, before they are joined."""

from dataclasses import dataclass

from cockpit.plugin.safety import Level
from cockpit.plugin.tools import Capability

LEVEL_RANK: dict[Level, int] = {"allow": 0, "ask": 1, "deny": 2}


@dataclass(frozen=True, slots=True)
class PowerShellFinding:
    """`rule` is the id that is shown; `forgets` says that no answer to it is remembered."""

    level: Level
    rule: str
    reason: str
    risk: int = 40
    capabilities: frozenset[Capability] = frozenset()
    alternative: str = ""
    forgets: bool = False


def deny(rule: str, reason: str, *capabilities: Capability, alternative: str = "") -> PowerShellFinding:
    return PowerShellFinding("deny", rule, reason, 95, frozenset(capabilities), alternative, forgets=True)


def ask(
    rule: str,
    reason: str,
    *capabilities: Capability,
    risk: int = 45,
    alternative: str = "",
    forgets: bool = False,
) -> PowerShellFinding:
    return PowerShellFinding("ask", rule, reason, risk, frozenset(capabilities), alternative, forgets)


def find_strictest(findings: list[PowerShellFinding]) -> PowerShellFinding:
    """The one that decides: the highest level, then the highest risk."""
    return max(findings, key=lambda one: (LEVEL_RANK[one.level], one.risk))
