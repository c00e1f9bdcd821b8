"""Notices a model that runs in circles: the same call three times, or looking without doing.

Says so in a result; decides nothing about permission.
"""

import json
from dataclasses import dataclass

from cockpit.core.carrying import TOOL
from cockpit.plugin.tools import Arguments, Tool

SAME = 3
LOOKING = 10
GIVE_UP = 3
REPAIRS = 2
WRITING = frozenset({"edit", "delete", "move", "execute"})


@dataclass(slots=True)
class LoopGuard:
    """Counts one turn's calls. `nudges_progress` is off for read-only roles and plan mode."""

    nudges_progress: bool = True
    _last: str = ""
    _running: int = 0
    _looked: int = 0
    _nudged: bool = False
    refused: int = 0
    misfits: int = 0
    misfit: str = ""

    def repeats(self, tool: Tool, arguments: Arguments) -> str:
        """Why this call must not run, or empty. Counts the call."""
        if tool.polling:
            return ""
        key = f"{tool.name} {json.dumps(dict(arguments), sort_keys=True, ensure_ascii=False)}"
        self._running = self._running + 1 if key == self._last else 1
        self._last = key
        if self._running < SAME:
            self.refused = 0
            return ""
        self.refused += 1
        return (
            f"not run: this is the {self._running}th time running that {tool.name} is called with the same "
            "arguments, and its result will not change. Use what it returned, or do something else."
        )

    def misread(self, tool: str, fault: str) -> None:
        """A call's arguments could not be read: counted for plans, which a model must get right."""
        if tool == TOOL:
            self.misfits, self.misfit = self.misfits + 1, fault

    def stalls(self) -> str:
        """Why the turn ends here: a plan that came unreadable again after two repairs. Or empty."""
        if self.misfits <= REPAIRS:
            return ""
        return f"the plan could not be read {self.misfits} times, nothing was run; at last: {self.misfit}"

    def gives_up(self) -> bool:
        """Whether the model keeps repeating itself although it was told."""
        return self.refused >= GIVE_UP

    def nudge(self, tool: Tool) -> str:
        """Text to append to the result of `tool`, once per turn, or empty."""
        if tool.kind in WRITING:
            self._looked, self._nudged = 0, False
            return ""
        self._looked += 1
        if not self.nudges_progress or self._nudged or self._looked < LOOKING:
            return ""
        self._nudged = True
        return (
            f"\n\n[{self._looked} calls have only looked. If you know enough, change something or run it; "
            "if not, say what is missing.]"
        )
