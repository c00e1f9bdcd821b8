"""Decides one previewed call: verdict, then the user, then the rules to store. Writes the decision to the
audit log. Stored rules match parsed words, never a text prefix.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from cockpit.core.agent.agent import Agent
from cockpit.core.agent.guards import run_guards
from cockpit.core.permission.approvals import (
    ApprovalAnswer,
    ReviewedChanges,
    approval_part,
    collect_refusals,
    hunks_for_audit,
    review_changes,
)
from cockpit.core.permission.rules import CallFacts, parse_rule
from cockpit.core.permission.verdicts import SENDING_CAPABILITIES, Circumstances, judge_call
from cockpit.core.transcript.log import new_id
from cockpit.plugin.context import Context
from cockpit.plugin.safety import Decider, Guarded, Judged, Verdict
from cockpit.plugin.tools import Preview, Tool
from cockpit.plugin.workspace import Isolation, Profile
from cockpit.protocol.events import ApprovalRequested
from cockpit.protocol.messages import Decision, Json, ToolCall
from cockpit.protocol.queries import RefusalRow
from cockpit.protocol.rows import ApprovalPart
from cockpit.settings.files import add_user_word

# A call with one of these is approved once only, whatever its verdict says.
NEVER_REMEMBERED = frozenset(
    {"secret.read", "persist", "priv", "agent.self", "code.remote", "shell.opaque", "host.mutate"}
)
ALL_EDITS = "Edit(**)"


@dataclass(frozen=True, slots=True)
class RuleOffer:
    """The rules an answer would store, for the session and for always; empty when none may be stored."""

    session: tuple[str, ...] = ()
    always: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Both in one line, for display."""
        session, always = ", ".join(self.session), ", ".join(self.always)
        return session if session == always else f"{session} for this session, {always} for always"


def rule_offer(tool: Tool, preview: Preview | None, verdict: Verdict) -> RuleOffer:
    """The rules the user can store for a call. Deletions are asked about every time."""
    deletes = tool.kind == "delete" or (
        preview is not None
        and preview.changes is not None
        and any(file.change == "deleted" for file in preview.changes.files)
    )
    if (
        preview is None
        or deletes
        or not verdict.may_remember
        or verdict.user_only
        or verdict.capabilities & NEVER_REMEMBERED
    ):
        return RuleOffer()
    if preview.lift and tool.kind == "edit":
        # For this session all edits are allowed: they are checkpointed, and /rewind undoes them.
        return RuleOffer((ALL_EDITS,), (f"Edit({preview.lift})",))
    if preview.lift:
        rule = f"{tool.name}({preview.lift})"
        return RuleOffer((rule,), (rule,))
    parts = [part for part in verdict.parts if part.level != "allow"]
    if not parts or any(part.level == "deny" or not part.shape for part in parts):
        return RuleOffer()
    rules = tuple(dict.fromkeys(f"{tool.name}({part.shape})" for part in parts))
    return RuleOffer(rules, rules)


def remember_answer(agent: Agent, request: ApprovalRequested, answer: ApprovalAnswer) -> None:
    """Store the rules of an answer, for this session or in the user's settings for this folder."""
    root = agent.services.root
    match answer.decision:
        case "allow_once" | "reject_once":
            return
        case "allow_session":
            agent.state.add_rules(parse_rule("allow", text, "this session") for text in request.remembers)
        case "allow_always" | "reject_always":
            source = f"your settings for {Path(root).name}"
            for text in request.keeps:
                rule = parse_rule("allow" if answer.decision == "allow_always" else "deny", text, source)
                agent.state.add_rules((rule,))
                add_user_word(("projects", root, "permissions", rule.level), f"{rule.tool}({rule.pattern})")


@dataclass(frozen=True, slots=True)
class PendingDecision:
    """A call that is being decided; `began` is monotonic seconds."""

    agent: Agent
    call: ToolCall
    verdict: Verdict
    preview: Preview | None
    isolation: Isolation
    began: float = field(default_factory=time.monotonic)

    def record(self, outcome: str, approver: str = "", hunks: Mapping[str, object] | None = None) -> None:
        """Write the decision to the audit log. Raises `AuditFailed`; the call must not run then."""
        launch = self.preview.launch if self.preview is not None else None
        self.agent.services.audit.decided(
            self.agent.path,
            self.call,
            self.verdict,
            outcome,
            approver=approver or approver_of(self.verdict),
            latency_ms=1000 * (time.monotonic() - self.began) if approver else 0.0,
            seal=launch.seal() if launch is not None else "",
            argv=launch.argv if launch is not None else (),
            cwd=launch.cwd if launch is not None else "",
            profile=launch.profile if launch is not None else "",
            isolation=self.isolation.label(launch.profile) if launch is not None else "",
            parts=self.verdict.parts,
            hunks=hunks,
        )


def approver_of(verdict: Verdict) -> Literal["policy", "mode", "rule", "person"]:
    """Who allowed or denied a call without asking, read from the last rule of the verdict."""
    last = verdict.rules[-1] if verdict.rules else ""
    if last.startswith("mode "):
        return "mode"
    if last == "typed by a person":
        return "person"
    return "rule" if last.endswith(")") else "policy"


GUARD_ASK_RISK = 30
PROFILE_TEXTS: dict[Profile, str] = {
    "read": "sandboxed: reads the workspace, writes nothing, no network",
    "build": "sandboxed: writes only in the workspace, no network",
    "net": "sandboxed: writes only in the workspace, has network",
    "none": "",
}
MAX_SHOWN_PROBLEMS = 3
CHECK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Permission:
    """The decision on a call. `preview` is what may run: the user may have left parts out. `seal` is the
    digest of the allowed `preview.launch`, empty when no program starts. `sends`: it may return text from
    the network."""

    allowed: bool
    preview: Preview | None
    reason: str = ""
    note: str = ""
    seal: str = ""
    sends: bool = False


async def permit_call(
    agent: Agent,
    tool: Tool,
    call: ToolCall,
    preview: Preview | None,
    context: Context,
    guard_asks: str,
    asked_by: str,
) -> Permission:
    """Decide whether `call` may run."""
    services, state = agent.services, agent.state
    judged = Judged(call, tool, preview, context)
    # A typed command line says what it does. A change must be seen as a diff, also by the user who asked
    # for it.
    typed = asked_by == "person" and state.origin == "tui" and tool.kind == "execute"
    deciders = services.catalog.all(Decider)
    isolation = await agent.workspace.processes.isolation()
    is_held = isolation.level == "full"
    circumstances = Circumstances(agent.mode, typed, is_held, state.has_read_outside, agent.is_planning)
    verdict = await verdict_for(agent, judged, deciders, circumstances)
    if guard_asks and verdict.level == "allow":
        verdict = Verdict("ask", guard_asks, GUARD_ASK_RISK, may_remember=False, user_only=True)
    preview = _with_profile(preview, verdict, agent)
    deciding = PendingDecision(agent, call, verdict, preview, isolation)
    sends = bool(verdict.capabilities & SENDING_CAPABILITIES)
    if verdict.level == "allow":
        deciding.record("allow")
        return Permission(True, preview, seal=_seal(preview), sends=sends)
    if verdict.level == "deny":
        deciding.record("deny")
        return Permission(False, preview, _denial_text(verdict))
    held, confined = _describe_sandbox(preview, isolation)
    request = _approval_request(agent, tool, call, preview, verdict)
    request = replace(request, held=held, confined=confined)
    if refusal := await _run_permission_guards(agent, call, request):
        deciding.record("deny", "guard")
        return Permission(False, preview, f"refused by {refusal}")
    answer = await services.approvals.ask(request, agent.path, call.id)
    reviewed = _review_answer(preview, answer)
    hunks = hunks_for_audit(reviewed)
    if answer.is_allowed and reviewed is not None and (problem := _incomplete_text(reviewed, request.whole)):
        deciding.record("reject_once", answer.by, hunks)
        return Permission(False, preview, problem)
    deciding.record(answer.outcome, answer.by, hunks)
    remember_answer(agent, request, answer)
    if not answer.is_allowed:
        return Permission(False, preview, _rejection_text(answer, verdict, services.approvals.can_ask))
    narrowed = await _narrow_preview(preview, reviewed, context)
    note = reviewed.note if reviewed is not None else ""
    return Permission(True, narrowed, note=note, seal=_seal(narrowed), sends=sends)


async def _run_permission_guards(agent: Agent, call: ToolCall, request: ApprovalRequested) -> str:
    """Why a guard refuses in place of the user, or an empty string. Only the user can allow."""
    facts: dict[str, Json] = {"suggestions": list(request.keeps)}
    guarded = Guarded("permission", request.reason, call, call.name, facts=facts)
    outcome = await run_guards(agent, guarded, call=call.id)
    return outcome.refusal or outcome.halt


async def verdict_for(
    agent: Agent, judged: Judged, deciders: tuple[Decider, ...], now: Circumstances
) -> Verdict:
    """The verdict on a call of `agent`; a call outside its role is denied, whatever allows it."""
    verdict = await judge_call(judged, deciders, agent.all_rules(), now)
    facts = CallFacts(judged.tool, judged.preview, agent.root, verdict.parts)
    reason = agent.rights.denial_reason(facts) if agent.rights is not None else ""
    return replace(verdict, level="deny", reason=reason) if reason and verdict.level != "deny" else verdict


def _with_profile(preview: Preview | None, verdict: Verdict, agent: Agent) -> Preview | None:
    """The preview with the sandbox profile of the verdict; it is sealed from here on. A program that runs in
    a folder outside the root gets no profile."""
    if preview is None or preview.launch is None:
        return preview
    inside = agent.workspace.is_inside(preview.launch.cwd)
    profile = (verdict.sandbox or "build") if inside else "none"
    hosts = agent.services.settings.words("sandbox.hosts") if profile == "net" else ()
    environment = tuple(sorted({**agent.state.variables, **dict(preview.launch.environment)}.items()))
    launch = replace(preview.launch, profile=profile, hosts=hosts, environment=environment)
    return replace(preview, launch=launch)


def _seal(preview: Preview | None) -> str:
    return preview.launch.seal() if preview is not None and preview.launch is not None else ""


def _describe_sandbox(preview: Preview | None, isolation: Isolation) -> tuple[str, bool]:
    """What the program can touch, for the user, and whether the sandbox confines it."""
    if preview is None or preview.launch is None:
        return "", False
    profile = preview.launch.profile
    if isolation.level == "none" or profile == "none":
        return "not sandboxed: it runs with your rights", False
    part = "" if isolation.level == "full" else " (partial: files and TCP only)"
    return f"{PROFILE_TEXTS[profile]}{part}", True


def _approval_request(
    agent: Agent, tool: Tool, call: ToolCall, preview: Preview | None, verdict: Verdict
) -> ApprovalRequested:
    offer = rule_offer(tool, preview, verdict)
    options: tuple[Decision, ...] = ("allow_once", "reject_once")
    if offer.always:
        options = ("allow_once", "allow_session", "allow_always", "reject_once", "reject_always")
    title = preview.title if preview is not None else f"{tool.name} {call.written}"[:200]
    return ApprovalRequested(
        id=new_id(),
        agent=agent.path,
        tool=tool.name,
        title=title,
        reason=verdict.reason,
        parts=_approval_parts(preview, call, verdict, collect_refusals(agent.services.log.durable())),
        destination=verdict.destination or (preview.destination if preview is not None else ""),
        risk=verdict.risk,
        shape=str(offer),
        options=options,
        expires=agent.services.approvals.timeout(agent.state.origin),
        note=_problems_note(preview),
        new_problems=_count_new_problems(preview),
        whole=preview is not None and preview.whole,
        remembers=offer.session,
        keeps=offer.always,
        rules=verdict.rules,
        alternative=verdict.alternative,
    )


def _problems_note(preview: Preview | None) -> str:
    """How the change affects the problems of the code, in one line; empty when it was not checked."""
    checked = preview.checked if preview is not None else None
    if checked is None:
        return ""
    if checked.state == "unknown":
        return f"problems unknown: {checked.note}"
    rows = checked.new[:MAX_SHOWN_PROBLEMS]
    # Further lines of a server's message are advice.
    shown = "; ".join(f"{row.path}:{row.line} {row.message}".partition("\n")[0] for row in rows)
    gone = f" ({checked.gone} gone)" if checked.gone else ""
    files = f", {checked.files} files checked" if checked.files > 1 else ""
    return f"new problems: {len(checked.new)}{gone}{files}{' - ' if shown else ''}{shown}"


def _count_new_problems(preview: Preview | None) -> int | None:
    checked = preview.checked if preview is not None else None
    return None if checked is None or checked.state == "unknown" else len(checked.new)


def _approval_parts(
    preview: Preview | None, call: ToolCall, verdict: Verdict, refused: tuple[RefusalRow, ...]
) -> tuple[ApprovalPart, ...]:
    if preview is None:
        return (ApprovalPart("call", call.name, call.written),)
    if verdict.parts and preview.line is not None:
        # The whole line first, as it will run; then its parsed commands.
        folder = preview.parts[0].detail if preview.parts else ""
        commands = (
            ApprovalPart(f"command#{at}", part.text, level=part.level, reason=part.reason)
            for at, part in enumerate(verdict.parts, 1)
        )
        return (ApprovalPart("line", preview.line.text, folder), *commands)
    if preview.changes is not None:
        return tuple(approval_part(file, refused) for file in preview.changes.files)
    return tuple(ApprovalPart(part.id, part.title, part.detail) for part in preview.parts)


def _review_answer(preview: Preview | None, answer: ApprovalAnswer) -> ReviewedChanges | None:
    """The parts of a change set the user accepted; None for other calls."""
    if preview is None or preview.changes is None:
        return None
    return review_changes(preview.changes, answer.parts, answer.edits)


async def _narrow_preview(
    preview: Preview | None, reviewed: ReviewedChanges | None, context: Context
) -> Preview | None:
    """The preview reduced to what the user accepted."""
    if preview is None or reviewed is None or not reviewed.note:
        return preview
    # The check covered the whole change set; check what remains of it again.
    checked = await context.navigator.checked(reviewed.changes, CHECK_SECONDS) if preview.checked else None
    shown = checked if checked is not None and checked.state == "checked" else None
    return replace(preview, changes=reviewed.changes, checked=shown)


def _denial_text(verdict: Verdict) -> str:
    text = f"denied: {verdict.reason or 'a rule forbids it'}"
    return f"{text}; instead: {verdict.alternative}" if verdict.alternative else text


def _incomplete_text(reviewed: ReviewedChanges, whole: bool) -> str:
    """Why an allowed change must not be written at all, or an empty string."""
    others = ", ".join((*reviewed.refused, *reviewed.edited))
    if reviewed.problem:
        return f"nothing was written: {reviewed.problem}"
    if whole and others:
        return (
            f"nothing was written: this change is applied as a whole, and the user left out {others}; "
            "ask them what they want instead"
        )
    if not reviewed.changes.files:
        return f"nothing was written: the user accepted no part of the change\n{reviewed.note}"
    return ""


def _rejection_text(answer: ApprovalAnswer, verdict: Verdict, someone: bool) -> str:
    if not someone or answer.by == "nobody":
        return (
            f"denied: {verdict.reason}, and no user is there to ask; allow it with --allow or another --mode"
        )
    if answer.by == "timeout":
        return f"denied: {verdict.reason}, and there was no answer in time; continue without it and say so"
    if answer.note:
        return f"the user rejected this call and says: {answer.note}"
    return "the user rejected this call; do not repeat it, ask what they want instead"
