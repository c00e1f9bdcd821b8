"""How an opener hears of the end of what it opened in the background: once, at its next step."""

from collections import deque
from collections.abc import Callable, Mapping

from cockpit.core.agent import Agent
from cockpit.core.subagents.member import Member

TOLD_WORDS = 2_000


class Notes:
    """What `members` have to tell. `begin` begins a turn of the main agent."""

    def __init__(self, main: Agent, members: Mapping[str, Member], begin: Callable[[str], None]) -> None:
        self._main = main
        self._members = members
        self._begin = begin
        self.closed = False

    def ended(self, member: Member) -> None:
        """A member is over: who does not wait for it is told."""
        if self.closed or not member.row.background or member.row.phase == "cancelled":
            return
        self.add(member)
        # While a turn runs it is heard there; what comes too late for it is looked at when it has settled.
        if not self._main.host.log.turn:
            self.wake()

    def add(self, member: Member) -> None:
        """Tell its opener, at its next step, how it ended."""
        report = member.result()
        words = report.text if len(report.text) <= TOLD_WORDS else f"{report.text[:TOLD_WORDS]}\n[...]"
        text = (
            f"[The subagent {member.id} ({member.row.role}), which ran in the background, is "
            f"{member.row.phase}. It reports (agents(action='result', id='{member.id}') has all of it):]\n"
            f"{words}"
        )
        self._listener(member).notes.append((f"{_note(member.id)}{self._main.host.new_id()}", text))

    def forget(self, member: Member) -> None:
        """Its opener has read its report and is not told of it again."""
        opener = self._listener(member)
        kept = [note for note in opener.notes if not note[0].startswith(_note(member.id))]
        opener.notes = deque(kept)

    def wake(self) -> None:
        """No turn runs: what was not heard in one may begin the next, where settings want that."""
        host = self._main.host
        if self.closed or not self._main.notes or host.settings.text("agents.follow_up") != "idle":
            return
        text = "\n\n".join(text for _, text in self._main.notes)
        self._main.notes.clear()
        self._begin(text)

    def _listener(self, member: Member) -> Agent:
        """Who hears of its end: its opener, or the nearest above that is still there."""
        opener = self._members.get(member.parent.path)
        while opener is not None and opener.is_over:
            member = opener
            opener = self._members.get(member.parent.path)
        return self._main if opener is None else opener.agent or self._main


def _note(id: str) -> str:
    """How the messages begin that tell of the end of `id`, so that a resumed session knows them."""
    return f"agent:{id}:"


def was_noted(id: str, message: str) -> bool:
    """Whether `message` is the id of one that told of the end of `id`."""
    return message.startswith(_note(id))
