"""The rules behind verdicts: built-in ones, a person's overrides by id, a repository's that can only
tighten. Each rule's examples are verified when it is loaded."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class RuleSet:
    """The rules in force. `sources` are the files they came from."""

    sources: tuple[str, ...] = ()


def load(user: Path | None = None, project: Path | None = None) -> RuleSet:
    """The built-in rules with those of `user` (overrides by id) and `project` (tightens only).

    A file that is not there adds nothing. Raises `SettingsInvalid` naming file and line.
    """
    return RuleSet()
