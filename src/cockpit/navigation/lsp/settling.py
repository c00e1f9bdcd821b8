"""Whether a server has seen the whole project: several answer references before, silently incomplete
(FACTS.md, 5 and 11). Pure bookkeeping; time comes as an argument."""

from cockpit.navigation.lsp.incoming import Incoming
from cockpit.navigation.lsp.limits import Limits


class Settling:
    """Settled when no progress is open and either one has ended, or two equal answers came far enough apart,
    or the server was quiet for long enough after its first answer. Once settled it stays so."""

    def __init__(self, limits: Limits, ready: float) -> None:
        self._limits = limits
        self._quiet_since = ready
        self._answers: dict[object, tuple[int, float]] = {}
        self._answered = False
        self._equal = False
        self._settled = False

    def answered(self, key: object, answer: int, now: float) -> None:
        """A references answer for `key`: `answer` is its digest."""
        self._answered = True
        known = self._answers.get(key)
        if known is None or known[0] != answer:
            self._answers[key] = (answer, now)
        elif now - known[1] >= self._limits.apart:
            self._equal = True
        if len(self._answers) > 200:
            self._answers.pop(next(iter(self._answers)))

    def is_settled(self, incoming: Incoming, now: float) -> bool:
        if incoming.working:
            # A server that answers whole and then reports progress again works on a change, not from nothing.
            return self._settled
        quiet = now - max(self._quiet_since, incoming.stirred_at) >= self._limits.quiet
        self._settled = self._settled or incoming.finished > 0 or self._equal or (quiet and self._answered)
        return self._settled
