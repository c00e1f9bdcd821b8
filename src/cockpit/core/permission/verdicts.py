"""The verdict on a tool call: deciders first, then, for an ask only, permission rules and the mode.

Never asks the user: an `ask` returned from here goes to the approvals.
"""

import asyncio
from dataclasses import dataclass, replace

from cockpit.core.permission.rules import CallFacts, PermissionRule, RuleMatch, match_rules
from cockpit.plugin.safety import Decider, Judged, Level, Verdict
from cockpit.plugin.tools import Tool
from cockpit.protocol.mcp_names import MCP_PREFIX
from cockpit.protocol.messages import Mode

# The tools that return text of MCP servers.
OUTSIDE_TOOLS = (MCP_PREFIX, "list_mcp_", "read_mcp_")
MCP_START_SECONDS = 15.0
# The mention that adds resources of MCP servers to a prompt.
MCP_MENTION = "mcp"
STRICTNESS: dict[Level, int] = {"allow": 0, "ask": 1, "deny": 2}
CHANGING_CAPABILITIES = frozenset(
    {
        "fs.write",
        "fs.delete",
        "code.exec",
        "code.remote",
        "pkg.install",
        "vcs.local",
        "vcs.remote",
        "net.egress",
        "proc.signal",
        "priv",
        "host.mutate",
        "persist",
        "container",
        "db",
        "shell.opaque",
        "agent.self",
    }
)
# What the build profile contains: it has no network, and a checkpoint undoes what it wrote.
CONFINED_CAPABILITIES = frozenset({"fs.read", "fs.write", "code.exec", "vcs.local"})
SENDING_CAPABILITIES = frozenset({"net.egress", "code.remote"})
HARMLESS_CAPABILITIES = frozenset({"fs.read", "ask.person", "none"})
PLAN_MODE_REASON = "plan mode changes nothing"
FILE_CAPABILITIES = frozenset({"fs.read", "fs.write"})
READ_ONLY_KINDS = frozenset({"read", "search", "think"})
EDIT_KINDS = frozenset({"edit", "move"})
DECIDER_SECONDS = 5.0


def is_outside_text(tool: Tool, sends: bool) -> bool:
    """Whether a result contains text from outside. `sends`: the call went over the network."""
    return sends or tool.kind == "fetch" or tool.name.startswith(OUTSIDE_TOOLS)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """The situation a call is judged in. `typed`: the user at the screen wrote this very call. `is_held`: a
    full sandbox contains programs. `has_read_outside`: text from the network is in the conversation.
    `is_planning`: plan mode applies to the agent."""

    mode: Mode
    typed: bool = False
    is_held: bool = False
    has_read_outside: bool = False
    is_planning: bool = False


async def judge_call(
    judged: Judged,
    deciders: tuple[Decider, ...],
    rules: tuple[PermissionRule, ...],
    circumstances: Circumstances,
) -> Verdict:
    """The verdict on a call."""
    verdict = await _ask_deciders(judged, deciders)
    if verdict.level == "deny":
        return verdict
    root = judged.context.workspace.root
    match = match_rules(rules, CallFacts(judged.tool, judged.preview, root, verdict.parts))
    is_planning = circumstances.is_planning or circumstances.mode == "plan"
    if is_planning and not _only_reads(judged, verdict) and not _is_allowed_mcp_read(judged.tool, match):
        return replace(
            verdict,
            level="deny",
            reason=PLAN_MODE_REASON,
            rules=(*verdict.rules, "mode plan"),
            alternative="put it into the plan and call propose_plan; only the user leaves plan mode",
        )
    if match is not None and match.level == "deny":
        return replace(verdict, level="deny", reason=f"the rule {match} forbids it")
    if match is not None and match.level == "ask":
        reason = f"the rule {match} asks" if verdict.level == "allow" else verdict.reason
        verdict = replace(verdict, level="ask", reason=reason)
    if verdict.level != "ask" or verdict.user_only:
        return verdict
    return _apply_rules_and_mode(verdict, judged, match, circumstances)


def _only_reads(judged: Judged, verdict: Verdict) -> bool:
    """Whether a call may be judged in plan mode. What the call can do decides, never its name: a kind or
    capability that is not known to only read is refused."""
    tool = judged.tool
    if tool.kind == "execute":
        # A command line that was proven to only read, in a sandbox that prevents everything else.
        return verdict.level == "allow" and verdict.sandbox == "read"
    if verdict.capabilities & CHANGING_CAPABILITIES and not verdict.capabilities <= FILE_CAPABILITIES:
        return False
    if tool.capabilities & CHANGING_CAPABILITIES:
        return not _can_change(judged)
    return tool.kind in READ_ONLY_KINDS and tool.capabilities <= HARMLESS_CAPABILITIES


def _is_allowed_mcp_read(tool: Tool, match: RuleMatch | None) -> bool:
    """Whether plan mode lets a call of an MCP tool be judged: the tool declares that it only reads, and the
    user has a rule that allows it. Neither is enough alone."""
    only_reads = tool.kind == "fetch" and not tool.capabilities & SENDING_CAPABILITIES
    is_allowed = match is not None and match.level == "allow"
    return only_reads and is_allowed and tool.name.startswith(OUTSIDE_TOOLS)


def _apply_rules_and_mode(
    verdict: Verdict, judged: Judged, match: RuleMatch | None, circumstances: Circumstances
) -> Verdict:
    """The verdict after rules and mode are applied to an ask."""
    if match is not None and match.level == "allow" and _rule_may_allow(verdict, circumstances):
        return replace(verdict, level="allow", rules=(*verdict.rules, str(match)))
    asked_for = match is not None and match.level == "ask"
    match circumstances.mode:
        case "full":
            return replace(verdict, level="allow", rules=(*verdict.rules, "mode full"))
        case "deny":
            return replace(verdict, level="deny", reason=f"mode deny: {verdict.reason}")
        case "auto-edit" if not asked_for and _is_edit(verdict, judged):
            return replace(verdict, level="allow", rules=(*verdict.rules, "mode auto-edit"))
        case "auto-edit" if not asked_for and circumstances.is_held and _is_confined(verdict, judged):
            rules = (*verdict.rules, "mode auto-edit, held in the sandbox")
            return replace(verdict, level="allow", rules=rules)
        case "ask" | "auto-edit" | "plan":
            pass
    if circumstances.typed:
        return replace(verdict, level="allow", rules=(*verdict.rules, "typed by a person"), sandbox="none")
    return verdict


def _rule_may_allow(verdict: Verdict, circumstances: Circumstances) -> bool:
    """Once text from the network is in the conversation, no stored rule may allow sending anything there."""
    sends = bool(verdict.capabilities & SENDING_CAPABILITIES)
    return verdict.may_remember and not (sends and circumstances.has_read_outside)


def _is_edit(verdict: Verdict, judged: Judged) -> bool:
    """Whether it is an ordinary edit. Files that decide what runs later are asked about separately."""
    return judged.tool.kind in EDIT_KINDS and _is_inside(judged) and verdict.may_remember


def _is_confined(verdict: Verdict, judged: Judged) -> bool:
    """Whether the sandbox contains a program that works in a trusted folder."""
    if not judged.context.session.trusted or verdict.sandbox != "build" or not verdict.may_remember:
        return False
    return bool(verdict.capabilities) and verdict.capabilities <= CONFINED_CAPABILITIES


async def _ask_deciders(judged: Judged, deciders: tuple[Decider, ...]) -> Verdict:
    strictest: Verdict | None = None
    for decider in deciders:
        try:
            async with asyncio.timeout(DECIDER_SECONDS):
                verdict = await decider.decide(judged)
        # Plugin code: a decider that failed has not agreed, so only the user can.
        except Exception as error:
            reason = f"the decider {decider.name} failed: {type(error).__name__}: {error}"
            verdict = Verdict("ask", reason, 50, rules=(decider.name,), may_remember=False, user_only=True)
        if verdict is not None:
            strictest = _combine_verdicts(strictest, verdict)
    return strictest or _default_verdict(judged)


def _combine_verdicts(known: Verdict | None, other: Verdict) -> Verdict:
    """The stricter of two verdicts, with the risk and restrictions of both."""
    if known is None:
        return other
    first, second = (known, other) if STRICTNESS[known.level] >= STRICTNESS[other.level] else (other, known)
    return replace(
        first,
        risk=max(known.risk, other.risk),
        capabilities=known.capabilities | other.capabilities,
        rules=(*first.rules, *second.rules),
        may_remember=known.may_remember and other.may_remember,
        user_only=known.user_only or other.user_only,
        sandbox=first.sandbox or second.sandbox,
        parts=first.parts or second.parts,
        destination=first.destination or second.destination,
        alternative=first.alternative or second.alternative,
    )


def _default_verdict(judged: Judged) -> Verdict:
    """The verdict when all deciders are silent."""
    tool = judged.tool
    only_reads = tool.kind in READ_ONLY_KINDS or tool.capabilities & CHANGING_CAPABILITIES
    if only_reads and not _can_change(judged) and _is_inside(judged):
        return Verdict("allow", capabilities=tool.capabilities)
    reasons = {
        "edit": ("it changes files", 20),
        "delete": ("it deletes files", 40),
        "move": ("it moves files", 20),
        "execute": ("it runs a program", 40),
        "fetch": ("it goes over the network", 40),
    }
    reason, risk = reasons.get(tool.kind, (f"no rule covers {tool.name}", 30))
    return Verdict("ask", reason, risk, tool.capabilities)


def _can_change(judged: Judged) -> bool:
    """Whether the call can change anything. A tool that writes files reports a call that only reads as
    concurrent."""
    tool = judged.tool
    if not tool.capabilities & CHANGING_CAPABILITIES:
        return False
    if not tool.capabilities <= FILE_CAPABILITIES:
        return True
    try:
        return not tool.is_concurrent(judged.call.arguments)
    # Plugin code: a tool that fails here has not said that it only reads.
    except Exception:
        return True


def _is_inside(judged: Judged) -> bool:
    paths = judged.preview.paths if judged.preview is not None else ()
    return all(judged.context.workspace.is_inside(path) for path in paths)
