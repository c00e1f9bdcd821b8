"""One subagent that a person looks into: its events folded into a state of its own, as a session's are."""

from collections.abc import Iterable
from dataclasses import replace

from cockpit.protocol.events import Envelope
from cockpit.tui.state import State, reduce


class Followed:
    """The past of the subagent `agent`, then what comes, each event once."""

    def __init__(self, agent: str, root: str) -> None:
        self.agent = agent
        self.state = State(root=root)
        self._seq = 0

    def take(self, envelope: Envelope) -> bool:
        """Fold an event of it, or of one below it; whether it was one."""
        path = envelope.agent
        if path != self.agent and not path.startswith(f"{self.agent}/"):
            return False
        if envelope.seq <= self._seq:
            return False
        self._seq = envelope.seq
        reduce(self.state, replace(envelope, agent="main" if path == self.agent else path))
        return True


class Looking:
    """Into which subagent a person looks, if any. What comes while its past is fetched waits for that."""

    def __init__(self) -> None:
        self._followed: Followed | None = None
        self._held: list[Envelope] | None = None

    def into(self, agent: str, root: str) -> Followed:
        """Into `agent` from now on; its past is given to `fold`."""
        self._followed, self._held = Followed(agent, root), []
        return self._followed

    def away(self) -> None:
        """Into none."""
        self._followed = self._held = None

    def fold(self, past: Iterable[Envelope]) -> None:
        """The past of the subagent; what came meanwhile goes behind it."""
        held, self._held = self._held or [], None
        for envelope in (*past, *held):
            self.hear(envelope)

    def hear(self, envelope: Envelope) -> None:
        """An event of the session."""
        if self._held is not None:
            self._held.append(envelope)
        elif self._followed is not None:
            self._followed.take(envelope)
