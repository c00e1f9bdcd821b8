"""A session's hold on the checkpoints of its root: begun and ended around each call that can write.
Knows no agent; what is restored, and the conversation, are `core/rewinding`'s."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from cockpit.errors import CockpitError
from cockpit.workspace.checkpoints.shadow import Shadow
from cockpit.workspace.checkpoints.values import Call, Kept, Why

Say = Callable[[str, str], None]
NAMED = 3
SAID: dict[Why, str] = {"large": "too large", "total": "over the limit in all", "unreadable": "not readable"}


@dataclass(slots=True)
class Checkpointing:
    """`told` is what was said already: each thing once a session."""

    shadow: Shadow
    told: set[str] = field(default_factory=set)
    _warming: "asyncio.Task[None] | None" = None

    def warm(self) -> None:
        """Look the root over beside whatever goes on, once."""
        if self._warming is None:
            self._warming = asyncio.create_task(self._warm())

    async def begin(self, call: Call, paths: tuple[str, ...] | None, jobs: bool, say: Say) -> None:
        """Look before `call` writes `paths` (None: anything). That there can be no checkpoint stops no
        call: it is said, once."""
        problem = await asyncio.to_thread(self.shadow.begin, call, paths, jobs)
        if problem:
            self._say(say, f"no checkpoint of {call.title}: {problem}", "rewind cannot take this call back")
        elif paths is None:
            self._tell_left_out(say)

    async def finish(self, call: str, say: Say) -> None:
        """Look after it. Goes on to its end when it is cancelled meanwhile."""
        try:
            await asyncio.shield(asyncio.ensure_future(asyncio.to_thread(self.shadow.finish, call)))
        except CockpitError as error:
            self._say(say, error.message, error.hint)

    async def _warm(self) -> None:
        # What is in the way is said with the first call that needs it.
        with suppress(OSError, CockpitError):
            await asyncio.to_thread(self.shadow.warm)
            await asyncio.to_thread(self.shadow.tidy)

    def _tell_left_out(self, say: Say) -> None:
        if "left out" in self.told:
            return
        self.told.add("left out")
        if text := left_out(self.shadow.left_out()):
            say(text, "rewind leaves them as they are")

    def _say(self, say: Say, text: str, hint: str) -> None:
        reason = text.rpartition(": ")[2]
        if reason not in self.told:
            self.told.add(reason)
            say(text, hint)


def left_out(files: tuple[tuple[str, Kept], ...]) -> str:
    """A sentence about the files whose bytes are not kept; secrets go without saying."""
    said = [(path, SAID[kept.why]) for path, kept in files if kept.why in SAID]
    if not said:
        return ""
    named = ", ".join(f"{path} ({why})" for path, why in said[:NAMED])
    more = f" and {len(said) - NAMED} more" if len(said) > NAMED else ""
    return f"checkpoints do not hold {named}{more}"
