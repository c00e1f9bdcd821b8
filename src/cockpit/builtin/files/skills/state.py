"""What skills hold in each session: the tools they allow to the end of a turn, and whose files were touched.

What is held is kept on disk as well: a session that ends in the middle of a turn goes on with it.
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
    """A skill in force: `allowed` None leaves all tools, `denied` are taken out."""

    skill: str
    allowed: tuple[str, ...] | None
    denied: tuple[str, ...]


@dataclass(slots=True)
class SkillSession:
    """`held` by the agent's path; `waiting` are prompts to come, each with the skill that it is; `untold`
    is what the model will be told with the next one."""

    held: dict[str, tuple[SkillRestriction, ...]] = field(default_factory=dict)
    waiting: list[tuple[str, SkillRestriction]] = field(default_factory=list)
    untold: list[str] = field(default_factory=list)
    awake: frozenset[str] = frozenset()


def restriction_of(skill: Skill) -> SkillRestriction | None:
    """What the skill holds to, None for nothing."""
    if skill.allowed_tools is None and not skill.denied_tools:
        return None
    return SkillRestriction(skill.name, skill.allowed_tools, skill.denied_tools)


class SkillSessions:
    """The sessions of this process. Its methods that write a file say so."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, SkillSession] = OrderedDict()

    def take(self, session: str, agent: str, skill: Skill) -> None:
        """`skill` is in force from now on, beside those that are. Writes."""
        if (force := restriction_of(skill)) is None:
            return
        held = self._of(session).held
        held[agent] = (*(one for one in held.get(agent, ()) if one != force), force)
        self._save(session)

    def expect(self, session: str, prompt: str, skill: Skill) -> None:
        """The turn that begins with `prompt` is one of `skill`."""
        if (force := restriction_of(skill)) is not None:
            waiting = self._of(session).waiting
            waiting.append((prompt, force))
            del waiting[:-MAX_PENDING]

    def begin(self, session: str, agent: str, prompt: str) -> None:
        """A turn begins: what was in force is over. Writes where something was, or is."""
        state = self._of(session)
        meant = next((one for one in state.waiting if prompt.startswith(one[0])), None)
        before = state.held.pop(agent, ())
        if meant is not None:
            state.waiting.remove(meant)
            state.held[agent] = (meant[1],)
        if before or meant:
            self._save(session)

    def over(self, session: str, agent: str) -> tuple[SkillRestriction, ...]:
        """What holds `agent`: its own skills, and those of the agents it works for."""
        held = self._of(session).held
        parts = agent.split("/")
        above = ["/".join(parts[:end]) for end in range(len(parts), 0, -1)]
        return tuple(force for path in above for force in held.get(path, ()))

    def tell(self, session: str, text: str) -> None:
        """The model is told `text` with the person's next prompt."""
        self._of(session).untold.append(text)

    def told(self, session: str) -> tuple[str, ...]:
        """What it is told now, once."""
        untold = self._of(session).untold
        told = tuple(untold)
        untold.clear()
        return told

    def wake(self, session: str, names: set[str]) -> None:
        state = self._of(session)
        state.awake |= names

    def awake(self, session: str) -> frozenset[str]:
        return self._of(session).awake

    def _of(self, session: str) -> SkillSession:
        if session not in self._sessions:
            self._sessions[session] = SkillSession(_load_restrictions(session))
            while len(self._sessions) > MAX_SESSIONS:
                self._sessions.popitem(last=False)
        self._sessions.move_to_end(session)
        return self._sessions[session]

    def _save(self, session: str) -> None:
        path = _state_file(session)
        held = {agent: [asdict(one) for one in forces] for agent, forces in self._of(session).held.items()}
        if held:
            write_atomically(path, json.dumps(held).encode(), private=True)
        else:
            path.unlink(missing_ok=True)


def _state_file(session: str) -> Path:
    return paths.state() / "plugins" / "skills" / f"{Path(session).name}.json"


def _load_restrictions(session: str) -> dict[str, tuple[SkillRestriction, ...]]:
    try:
        found = json.loads(_state_file(session).read_bytes())
        return {agent: tuple(_parse_restriction(one) for one in forces) for agent, forces in found.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _parse_restriction(raw: dict[str, object]) -> SkillRestriction:
    allowed, denied = raw["allowed"], raw["denied"]
    if not isinstance(denied, list) or not isinstance(allowed, list | None):
        raise TypeError("no list of tools")
    listed = None if allowed is None else tuple(str(one) for one in allowed)
    return SkillRestriction(str(raw["skill"]), listed, tuple(str(one) for one in denied))


SKILL_SESSIONS = SkillSessions()
