"""One subagent that a person looks into: its events folded into a state of its own, as a session's are."""

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
