"""What an answer would cover from now on, and keeping it: rules of argv shape, never a prefix of text."""

from dataclasses import dataclass
from pathlib import Path

from cockpit.core.agent import Host
from cockpit.core.approval import Answered
from cockpit.core.rules import parse
from cockpit.plugin.safety import Verdict
from cockpit.plugin.tools import Preview, Tool
from cockpit.protocol.events import ApprovalRequested

# Whatever else a verdict says: an answer to one of these holds for this one call.
NEVER = frozenset(
    {"secret.read", "persist", "priv", "agent.self", "code.remote", "shell.opaque", "host.mutate"}
)
ALL_EDITS = "Edit(**)"


@dataclass(frozen=True, slots=True)
class Kept:
    """The rules an answer would keep, as people write them: for the session, and for always. Empty when
    nothing may be remembered."""

    session: tuple[str, ...] = ()
    always: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Both in one line, for people."""
        session, always = ", ".join(self.session), ", ".join(self.always)
        return session if session == always else f"{session} for this session, {always} for always"


def keepable(tool: Tool, preview: Preview | None, verdict: Verdict) -> Kept:
    """What a person could answer for more than this call. What deletes is asked about every time."""
    if preview is None or not verdict.may_remember or verdict.person_only or verdict.capabilities & NEVER:
        return Kept()
    if tool.kind == "delete" or _deletes(preview):
        return Kept()
    if preview.lift and tool.kind == "edit":
        # For this session an edit is an edit: it is checkpointed, and /rewind takes it back.
        return Kept((ALL_EDITS,), (f"Edit({preview.lift})",))
    if preview.lift:
        rule = f"{tool.name}({preview.lift})"
        return Kept((rule,), (rule,))
    asked = [part for part in verdict.parts if part.level != "allow"]
    if not asked or any(part.level == "deny" or not part.shape for part in asked):
        return Kept()
    rules = tuple(dict.fromkeys(f"{tool.name}({part.shape})" for part in asked))
    return Kept(rules, rules)


def _deletes(preview: Preview) -> bool:
    return preview.changes is not None and any(one.change == "deleted" for one in preview.changes.files)


def remember(host: Host, request: ApprovalRequested, answer: Answered) -> None:
    """Keep what a person answered, for this session or in their own settings for this folder."""
    match answer.decision:
        case "allow_once" | "reject_once":
            return
        case "allow_session":
            host.session_rules += [parse("allow", text, "this session") for text in request.remembers]
        case "allow_always" | "reject_always":
            source = f"your settings for {Path(host.root).name}"
            for text in request.keeps:
                rule = parse("allow" if answer.decision == "allow_always" else "deny", text, source)
                host.session_rules.append(rule)
                if host.remember is not None:
                    host.remember(rule)
