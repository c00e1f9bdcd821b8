"""Subagents of a session that is opened again: those that ended are kept, those in the background that did
not are queued once more, with what they had said and done."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from cockpit.core.agent import Agent
from cockpit.core.history import History
from cockpit.core.subagents.child import child_of
from cockpit.core.subagents.crew import Crew
from cockpit.core.subagents.life import InProcess, has_begun
from cockpit.core.subagents.member import LIVING, Member
from cockpit.core.subagents.notes import was_noted
from cockpit.core.subagents.opening import IN_PROCESS, Opening
from cockpit.core.subagents.roles import find_role
from cockpit.core.subagents.terms import OUTPUT
from cockpit.errors import CockpitError
from cockpit.plugin.agents import AgentState, Quota
from cockpit.protocol.agents import AgentChanged, AgentTerms
from cockpit.protocol.events import Envelope, MessageFinished, Warned

ENDED_WITH = "cockpit ended while it was at it"


@dataclass(slots=True)
class Known:
    """What a transcript says of one subagent."""

    row: AgentState
    terms: AgentTerms | None


@dataclass(slots=True)
class PastAgents:
    """The subagents of a transcript, and which messages tell the main agent of their ends."""

    known: dict[str, Known] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def see(self, envelope: Envelope) -> None:
        """Fold one envelope in."""
        event = envelope.event
        if isinstance(event, AgentChanged):
            before = self.known.get(event.agent.id)
            terms = event.terms or (before.terms if before else None)
            self.known[event.agent.id] = Known(event.agent, terms)
        elif isinstance(event, MessageFinished) and event.id.startswith("agent:"):
            self.notes.append(event.id)


def restore(crew: Crew, past: PastAgents, takes_up: bool) -> None:
    """Put them back, parents before children. Each that goes on says so, and so does each that cannot."""
    host = crew.main.host
    for path in sorted(past.known, key=lambda one: one.count("/")):
        known = past.known[path]
        if known.row.phase not in LIVING:
            member = _ended(crew, known)
            crew.keep(member)
            if known.row.background and known.row.phase != "cancelled" and not _was_told(past.notes, path):
                crew.notes.add(member)
            continue
        if not takes_up and known.row.background:
            # Whoever opened the session only looks; the next one takes it up.
            shown = replace(known.row, phase="cancelled", doing="", report=ENDED_WITH)
            crew.keep(_ended(crew, Known(shown, known.terms)))
            continue
        try:
            _queue_again(crew, known)
        except CockpitError as error:
            row = replace(known.row, phase="cancelled", doing="", report=f"{ENDED_WITH}; {error}")
            crew.keep(_ended(crew, Known(row, known.terms)))
            host.log.emit(AgentChanged(row), path)
            if known.row.background:
                host.log.emit(Warned(f"{path} is not taken up: {error}", "give its task again"))
    if crew.members:
        crew.panel.draw()


def _was_told(notes: Iterable[str], path: str) -> bool:
    return any(was_noted(path, one) for one in notes)


def _ended(crew: Crew, known: Known) -> Member:
    output = known.terms.output if known.terms is not None and known.terms.output else OUTPUT
    parent = _parent(crew, known.row.id)
    member = Member(crew.main.host, parent, known.row, None, output, crew.changed)
    member.reviving = lambda: _life(crew, known)
    return member


def _queue_again(crew: Crew, known: Known) -> None:
    """Raises `CockpitError` where it cannot go on."""
    if not known.row.background:
        raise CockpitError("who waited for it has ended too", "give its task again")
    life = _life(crew, known)
    row = replace(known.row, phase="queued", recovered=True, doing="", started=0.0)
    output = known.terms.output if known.terms is not None and known.terms.output else OUTPUT
    member = Member(crew.main.host, _parent(crew, row.id), row, life, output, crew.changed)
    if has_begun(life.agent):
        member.takes_up()
    crew.main.host.log.emit(Warned(f"the subagent {row.id} was at work when cockpit ended; it goes on"))
    crew.enlist(member, None)


def _parent(crew: Crew, path: str) -> Agent:
    """Its opener; one of a session before that is not revived is spoken for by the main agent."""
    above = crew.members.get(path.rpartition("/")[0])
    return above.agent or crew.main if above is not None else crew.main


def _life(crew: Crew, known: Known) -> InProcess:
    """The agent as it was opened, with its conversation. Raises `CockpitError`."""
    row, terms = known.row, known.terms
    if terms is None or not terms.by_name:
        raise CockpitError("its role was made for that one task", "give its task again")
    if terms.runner not in ("", IN_PROCESS):
        raise CockpitError(f"its runner {terms.runner} ended with cockpit", "give its task again")
    parent = _parent(crew, row.id)
    above = row.id.rpartition("/")[0]
    if above != "main" and parent is crew.main:
        # Its rights were bounded by an agent that is no more: nobody could say by how much.
        raise CockpitError(f"{above}, which opened it, is no more", "give its task again")
    agent = child_of(
        parent,
        row.id,
        find_role(crew.main.host.catalog, row.role),
        background=row.background,
        quota=Quota(terms.steps, terms.tokens, terms.seconds, terms.output),
        budget=crew.fresh(),
        mode=terms.mode,
        planning=terms.planning,
    )
    agent.agents = Opening(agent, crew)
    agent.history = History(row.id)
    for envelope in crew.main.host.log.durable():
        agent.history.see(envelope)
    return InProcess(agent, parent, terms.isolation == "worktree", crew.fresh)
