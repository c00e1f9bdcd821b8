"""From a previewed call to a yes or a no: verdict, then a person, then what is remembered."""

from dataclasses import dataclass, replace

from cockpit.core.agent import Agent
from cockpit.core.approval import Answered
from cockpit.core.decisions import Deciding
from cockpit.core.guards import ask_guards
from cockpit.core.judgement import SENDING, Circumstances, judge
from cockpit.core.ledger import Settled, audited, part_of, refusals, settled
from cockpit.core.remembering import keepable, remember
from cockpit.core.rules import Asked
from cockpit.plugin.context import Context
from cockpit.plugin.launching import Isolation, Profile
from cockpit.plugin.safety import Decider, Guarded, Judged, Verdict
from cockpit.plugin.tools import Preview, Tool
from cockpit.protocol.events import ApprovalRequested
from cockpit.protocol.messages import Decision, Json, ToolCall
from cockpit.protocol.queries import RefusalRow
from cockpit.protocol.rows import ApprovalPart

RISK_OF_AN_ASK = 30
PROFILES: dict[Profile, str] = {
    "read": "held in: reads the workspace, writes nothing, no network",
    "build": "held in: writes only in the workspace, no network",
    "net": "held in: writes only in the workspace; has network",
    "none": "",
}
SHOWN_PROBLEMS = 3
CHECK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Permitted:
    """The outcome. `preview` is what may run: a person may have taken parts out of it. `seal` is the
    digest of `preview.launch` as it was allowed ("" where no program is started). `sends`: it may bring
    back text of the network."""

    allowed: bool
    preview: Preview | None
    reason: str = ""
    note: str = ""
    seal: str = ""
    sends: bool = False


async def permit(
    agent: Agent,
    tool: Tool,
    call: ToolCall,
    preview: Preview | None,
    context: Context,
    guard_asks: str,
    asked_by: str,
) -> Permitted:
    """Whether `call` may run."""
    host = agent.host
    judged = Judged(call, tool, preview, context)
    # What a command line does stands in it; what a change does is seen in its diff, by its asker too.
    typed = asked_by == "person" and host.origin == "tui" and tool.kind == "execute"
    deciders = host.catalog.all(Decider)
    isolation = await agent.workspace.processes.isolation()
    held = isolation.level == "full"
    now = Circumstances(agent.mode, typed, held, host.has_read_outside, agent.is_planning)
    verdict = await verdict_for(agent, judged, deciders, now)
    if guard_asks and verdict.level == "allow":
        verdict = Verdict("ask", guard_asks, RISK_OF_AN_ASK, may_remember=False, person_only=True)
    preview = _profiled(preview, verdict, agent)
    deciding = Deciding(agent, call, verdict, preview, isolation)
    match verdict.level:
        case "allow":
            deciding.record("allow")
            return Permitted(True, preview, seal=_seal(preview), sends=_sends(verdict))
        case "deny":
            deciding.record("deny")
            return Permitted(False, preview, _denied(verdict))
        case "ask":
            pass
    request = replace(_request(agent, tool, call, preview, verdict), held=_held(preview, isolation))
    if said := await _guarded(agent, call, request):
        deciding.record("deny", "guard")
        return Permitted(False, preview, f"refused by {said}")
    answer = await host.approvals.ask(request, agent.path, call.id)
    taken = _settled(preview, answer)
    hunks = audited(taken)
    if answer.is_allowed and taken is not None and (torn := _torn(taken, request.whole)):
        deciding.record("reject_once", answer.by, hunks)
        return Permitted(False, preview, torn)
    deciding.record(answer.outcome, answer.by, hunks)
    remember(agent.host, request, answer)
    if not answer.is_allowed:
        return Permitted(False, preview, _rejected(answer, verdict, host.approvals.someone))
    narrowed = await _narrowed(preview, taken, context)
    note = taken.told if taken is not None else ""
    return Permitted(True, narrowed, note=note, seal=_seal(narrowed), sends=_sends(verdict))


async def _guarded(agent: Agent, call: ToolCall, request: ApprovalRequested) -> str:
    """Why a guard answers no in a person's place, empty where none does: a yes is theirs alone."""
    facts: dict[str, Json] = {"suggestions": list(request.keeps)}
    guarded = Guarded("permission", request.reason, call, call.name, facts=facts)
    passed = await ask_guards(agent, guarded, call=call.id)
    return passed.refusal or passed.halt


async def verdict_for(
    agent: Agent, judged: Judged, deciders: tuple[Decider, ...], now: Circumstances
) -> Verdict:
    """The verdict on a call of `agent`; one that its role does not mean is denied, whatever allows it."""
    verdict = await judge(judged, deciders, agent.all_rules(), now)
    asked = Asked(judged.tool, judged.preview, agent.root, verdict.parts)
    strays = agent.rights.strays(asked) if agent.rights is not None else ""
    return replace(verdict, level="deny", reason=strays) if strays and verdict.level != "deny" else verdict


def _profiled(preview: Preview | None, verdict: Verdict, agent: Agent) -> Preview | None:
    """The preview with the profile that the verdict asks for: from here on it is sealed. A folder outside
    of the root is not there in any profile."""
    if preview is None or preview.launch is None:
        return preview
    inside = agent.workspace.is_inside(preview.launch.cwd)
    profile = (verdict.sandbox or "build") if inside else "none"
    hosts = agent.host.settings.words("sandbox.hosts") if profile == "net" else ()
    environment = tuple(sorted({**agent.host.variables, **dict(preview.launch.environment)}.items()))
    launch = replace(preview.launch, profile=profile, hosts=hosts, environment=environment)
    return replace(preview, launch=launch)


def _seal(preview: Preview | None) -> str:
    return preview.launch.seal() if preview is not None and preview.launch is not None else ""


def _sends(verdict: Verdict) -> bool:
    return bool(verdict.capabilities & SENDING)


def _held(preview: Preview | None, isolation: Isolation) -> str:
    """What the program may touch if it runs, in words."""
    if preview is None or preview.launch is None:
        return ""
    profile = preview.launch.profile
    if isolation.level == "none" or profile == "none":
        return "not held in: it runs with your rights"
    part = "" if isolation.level == "full" else " (partial: files and TCP only)"
    return f"{PROFILES[profile]}{part}"


def _request(
    agent: Agent, tool: Tool, call: ToolCall, preview: Preview | None, verdict: Verdict
) -> ApprovalRequested:
    kept = keepable(tool, preview, verdict)
    options: tuple[Decision, ...] = ("allow_once", "reject_once")
    if kept.always:
        options = ("allow_once", "allow_session", "allow_always", "reject_once", "reject_always")
    title = preview.title if preview is not None else _title(tool, call)
    return ApprovalRequested(
        id=agent.host.new_id(),
        agent=agent.path,
        tool=tool.name,
        title=title,
        reason=verdict.reason,
        parts=_parts(preview, call, verdict, refusals(agent.host.log.durable())),
        destination=verdict.destination or (preview.destination if preview is not None else ""),
        risk=verdict.risk,
        shape=str(kept),
        options=options,
        expires=agent.host.patience(),
        note=_note(preview),
        whole=preview is not None and preview.whole,
        remembers=kept.session,
        keeps=kept.always,
        rules=verdict.rules,
        alternative=verdict.alternative,
    )


def _note(preview: Preview | None) -> str:
    """What the change does to problems, in one line; empty where nobody could look."""
    checked = preview.checked if preview is not None else None
    if checked is None:
        return ""
    if checked.state == "unknown":
        return f"problems unknown: {checked.note}"
    first = (
        f"{row.path}:{row.line} {row.message}".partition("\n")[0] for row in checked.new[:SHOWN_PROBLEMS]
    )
    shown = "; ".join(first)  # what a server says on further lines is advice
    gone = f" ({checked.gone} gone)" if checked.gone else ""
    looked = f", {checked.files} files looked at" if checked.files > 1 else ""
    return f"new problems: {len(checked.new)}{gone}{looked}{' - ' if shown else ''}{shown}"


def _title(tool: Tool, call: ToolCall) -> str:
    return f"{tool.name} {call.written}"[:200]


def _parts(
    preview: Preview | None, call: ToolCall, verdict: Verdict, refused: tuple[RefusalRow, ...]
) -> tuple[ApprovalPart, ...]:
    if preview is None:
        return (ApprovalPart("call", call.name, call.written),)
    if verdict.parts and preview.line is not None:
        # The whole line first, as it will run; then what it was read as.
        whole = ApprovalPart("line", preview.line.text, _where(preview))
        read = tuple(
            ApprovalPart(f"command#{at}", one.text, level=one.level, reason=one.reason)
            for at, one in enumerate(verdict.parts, 1)
        )
        return (whole, *read)
    if preview.changes is not None:
        return tuple(part_of(one, refused) for one in preview.changes.files)
    return tuple(ApprovalPart(part.id, part.title, part.detail) for part in preview.parts)


def _where(preview: Preview) -> str:
    return preview.parts[0].detail if preview.parts else ""


def _settled(preview: Preview | None, answer: Answered) -> Settled | None:
    """What a person took of the change set, by hunk; None where there is none."""
    if preview is None or preview.changes is None:
        return None
    return settled(preview.changes, answer.parts, answer.edits)


async def _narrowed(preview: Preview | None, taken: Settled | None, context: Context) -> Preview | None:
    """The preview with what the person took, as they took it."""
    if preview is None or taken is None or not taken.told:
        return preview
    # What was checked was the whole set: what is left of it is looked at again, for a moment.
    checked = await context.navigator.checked(taken.changes, CHECK_SECONDS) if preview.checked else None
    shown = checked if checked is not None and checked.state == "checked" else None
    return replace(preview, changes=taken.changes, checked=shown)


def _denied(verdict: Verdict) -> str:
    text = f"denied: {verdict.reason or 'a rule forbids it'}"
    return f"{text}; instead: {verdict.alternative}" if verdict.alternative else text


def _torn(taken: Settled, whole: bool) -> str:
    """Why nothing of what was allowed may be written, or nothing."""
    others = ", ".join((*taken.refused, *taken.edited))
    if taken.problem:
        return f"nothing was written: {taken.problem}"
    if whole and others:
        return (
            f"nothing was written: this change is applied as a whole, and the person left out {others}; "
            "ask them what they want instead"
        )
    if not taken.changes.files:
        return f"nothing was written: the person left nothing of it\n{taken.told}"
    return ""


def _rejected(answer: Answered, verdict: Verdict, someone: bool) -> str:
    if not someone or answer.by == "nobody":
        return (
            f"denied: {verdict.reason}, and nobody is there to ask; allow it with --allow or another --mode"
        )
    if answer.by == "timeout":
        return f"denied: {verdict.reason}, and nobody answered in time; go on without it and say so"
    if answer.note:
        return f"the person rejected this call and says: {answer.note}"
    return "the person rejected this call; do not repeat it, ask what they want instead"
