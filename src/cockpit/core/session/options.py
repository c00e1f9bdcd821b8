"""The options of the command line, for every session of a deck."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from cockpit.core.agent.turn_limits import TurnLimits
from cockpit.protocol.messages import Json, Mode


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of the command line. `someone` says whether a user can be asked. `allow` and `deny` are
    permission rules. `trust` True trusts the folder for this run, with `keep_trust` from now on; None leaves
    a value to settings. `approval_seconds` 0 waits without limit. `takes_up` False does not continue what a
    crash interrupted. `roles` are those of `--agents`. `connects` False starts no MCP server."""

    someone: bool = True
    origin: str = "tui"
    model: str | None = None
    mode: Mode | None = None
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    trust: bool | None = None
    keep_trust: bool = False
    limits: TurnLimits = field(default_factory=TurnLimits)
    approval_seconds: float = 0.0
    record: str = ""
    takes_up: bool = True
    roles: Mapping[str, Json] | None = None
    connects: bool = True


def flag_settings(options: RunOptions) -> Mapping[tuple[str, ...], tuple[str, object]]:
    """The settings that the command line sets, each with its flag."""
    limits, defaults = options.limits, TurnLimits()
    flags: dict[tuple[str, ...], tuple[str, object]] = {
        ("mode",): ("--mode", options.mode),
        ("models", "default"): ("--model", options.model),
        ("limits", "steps"): ("--max-steps", limits.steps if limits.steps != defaults.steps else None),
        ("limits", "tool_calls"): ("--max-tool-calls", limits.tool_calls),
        ("limits", "seconds"): ("--max-seconds", limits.seconds),
        ("limits", "tokens"): ("--max-tokens", limits.tokens),
        ("limits", "money"): ("--max-cost", limits.money),
        ("plugins", "roles", "agents"): ("--agents", options.roles),
    }
    return {path: entry for path, entry in flags.items() if entry[1] is not None}
