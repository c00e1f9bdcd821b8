"""What an answer would cover from now on, and keeping it: rules of argv shape, never a prefix of text."""

from pathlib import Path
from typing import Literal

from cockpit.core.agent import Host
from cockpit.core.approval import Answered
from cockpit.core.rules import Rule
from cockpit.plugin.safety import Verdict
from cockpit.plugin.tools import Preview, Tool

# Whatever else a verdict says: an answer to one of these holds for this one call.
NEVER = frozenset(
    {"secret.read", "persist", "priv", "agent.self", "code.remote", "shell.opaque", "host.mutate"}
)


def remembers(tool: Tool, preview: Preview | None, verdict: Verdict) -> tuple[str, ...]:
    """The rules that "always" would keep, as people write them; () when nothing may be remembered."""
    if preview is None or not verdict.may_remember or verdict.person_only or verdict.capabilities & NEVER:
        return ()
    if preview.lift:
        return (f"{tool.name}({preview.lift})",)
    asked = [part for part in verdict.parts if part.level != "allow"]
    if not asked or any(part.level == "deny" or not part.shape for part in asked):
        return ()
    return tuple(dict.fromkeys(f"{tool.name}({part.shape})" for part in asked))


def remember(host: Host, tool: Tool, kept: tuple[str, ...], answer: Answered) -> None:
    """Keep what a person answered, for this session or in their own settings for this folder."""
    if not kept or answer.decision in ("allow_once", "reject_once"):
        return
    level: Literal["allow", "deny"] = "deny" if answer.decision == "reject_always" else "allow"
    lasting = answer.decision in ("allow_always", "reject_always")
    source = f"your settings for {Path(host.root).name}" if lasting else "this session"
    for text in kept:
        rule = Rule(level, tool.name, text.removeprefix(f"{tool.name}(").removesuffix(")"), source)
        host.session_rules.append(rule)
        if lasting and host.remember is not None:
            host.remember(rule)
