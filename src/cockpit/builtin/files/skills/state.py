"""Per-session state of skills: the tools each restricts until the end of a turn, and pending prompts.

Restrictions are also stored on disk, so that a session resumed in the middle of a turn keeps them.
"""

import json
from collections import OrderedDict
from dataclasses import asdict, dataclass, field
from pathlib import Path

from cockpit import paths
from cockpit.plugin.values import Skill
from cockpit.settings.file_io import write_atomically

MAX_SESSIONS = 256
MAX_PENDING = 20


@dataclass(frozen=True, slots=True)
class SkillRestriction:
    """The tools that an active skill allows (None: all) and denies."""

    skill: str
    allowed: tuple[str, ...] | None
    denied: tuple[str, ...]


@dataclass(slots=True)
class SkillSession:
    """The skills of one session.

    `active` maps an agent's path to its restrictions. `pending` holds expected prompts with the
    restriction each brings. `notes` go to the model with the user's next prompt. `path_skills` are the
    skills whose files were touched.
    """

    active: dict[str, tuple[SkillRestriction, ...]] = field(default_factory=dict)
    pending: list[tuple[str, SkillRestriction]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    path_skills: frozenset[str] = frozenset()


def restriction_of(skill: Skill) -> SkillRestriction | None:
    """Return the restriction a skill brings, or None."""
    if skill.allowed_tools is None and not skill.denied_tools:
        return None
    return SkillRestriction(skill.name, skill.allowed_tools, skill.denied_tools)


class SkillSessions:
    """The skill state of all sessions in this process."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, SkillSession] = OrderedDict()

    def activate(self, session: str, agent: str, skill: Skill) -> None:
        """Apply the skill's restriction from now on, besides those already active. Writes a file."""
        if (restriction := restriction_of(skill)) is None:
            return
        active = self._session(session).active
        others = (other for other in active.get(agent, ()) if other != restriction)
        active[agent] = (*others, restriction)
        self._save(session)

    def expect_prompt(self, session: str, prompt: str, skill: Skill) -> None:
        """Apply the skill's restriction to the turn that will begin with `prompt`."""
        if (restriction := restriction_of(skill)) is not None:
            pending = self._session(session).pending
            pending.append((prompt, restriction))
            del pending[:-MAX_PENDING]

    def begin_turn(self, session: str, agent: str, prompt: str) -> None:
        """End the restrictions of the agent's last turn and apply that of `prompt`. May write a file."""
        state = self._session(session)
        expected = next((entry for entry in state.pending if prompt.startswith(entry[0])), None)
        previous = state.active.pop(agent, ())
        if expected is not None:
            state.pending.remove(expected)
            state.active[agent] = (expected[1],)
        if previous or expected:
            self._save(session)

    def restrictions(self, session: str, agent: str) -> tuple[SkillRestriction, ...]:
        """Return the restrictions on `agent` and on the agents it works for."""
        active = self._session(session).active
        parts = agent.split("/")
        ancestry = ["/".join(parts[:end]) for end in range(len(parts), 0, -1)]
        return tuple(restriction for path in ancestry for restriction in active.get(path, ()))

    def add_note(self, session: str, text: str) -> None:
        """Give `text` to the model with the user's next prompt."""
        self._session(session).notes.append(text)

    def take_notes(self, session: str) -> tuple[str, ...]:
        """Return the notes and clear them."""
        state = self._session(session)
        notes, state.notes = tuple(state.notes), []
        return notes

    def add_path_skills(self, session: str, names: set[str]) -> None:
        self._session(session).path_skills |= names

    def path_skills(self, session: str) -> frozenset[str]:
        return self._session(session).path_skills

    def _session(self, id: str) -> SkillSession:
        if id not in self._sessions:
            self._sessions[id] = SkillSession(_load_restrictions(id))
            while len(self._sessions) > MAX_SESSIONS:
                self._sessions.popitem(last=False)
        self._sessions.move_to_end(id)
        return self._sessions[id]

    def _save(self, session: str) -> None:
        path = _state_file(session)
        active = {
            agent: [asdict(restriction) for restriction in restrictions]
            for agent, restrictions in self._session(session).active.items()
        }
        if active:
            write_atomically(path, json.dumps(active).encode(), private=True)
        else:
            path.unlink(missing_ok=True)


def _state_file(session: str) -> Path:
    return paths.state() / "plugins" / "skills" / f"{Path(session).name}.json"


def _load_restrictions(session: str) -> dict[str, tuple[SkillRestriction, ...]]:
    try:
        stored = json.loads(_state_file(session).read_bytes())
        return {agent: tuple(map(_parse_restriction, rows)) for agent, rows in stored.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _parse_restriction(row: dict[str, object]) -> SkillRestriction:
    allowed, denied = row["allowed"], row["denied"]
    if not isinstance(denied, list) or not isinstance(allowed, list | None):
        raise TypeError("`allowed` and `denied` must be lists of tools")
    names = None if allowed is None else tuple(map(str, allowed))
    return SkillRestriction(str(row["skill"]), names, tuple(map(str, denied)))


SKILL_SESSIONS = SkillSessions()
