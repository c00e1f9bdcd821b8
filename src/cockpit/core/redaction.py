"""Keys and tokens by their exact value, taken out of whatever a tool brings back.

The values are those of the environment's secret variables (and a trusted folder's `.env`). It sees
no secret it was not told of; a later part adds patterns.
"""

from collections.abc import Mapping
from dataclasses import replace

from cockpit.plugin.tools import Done
from cockpit.protocol.content import Block, Code, Diff, Markdown, Table, Text
from cockpit.workspace.environment import is_secret

# A shorter value is a word like `true`: taking it out would garble everything.
SHORTEST = 8


class Redactor:
    """Replaces each known value by `[redacted NAME]`."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        found = {value.strip(): name for name, value in environment.items() if is_secret(name)}
        values = [value for value in found if len(value) >= SHORTEST]
        # The longest first: one value may hold another.
        self._values = [(value, found[value]) for value in sorted(values, key=len, reverse=True)]

    def text(self, text: str) -> str:
        for value, name in self._values:
            if value in text:
                text = text.replace(value, f"[redacted {name}]")
        return text

    def done(self, done: Done) -> Done:
        """A tool's result without the values, in its text and its blocks."""
        if not self._values:
            return done
        return replace(done, text=self.text(done.text), blocks=tuple(self._block(one) for one in done.blocks))

    def _block(self, block: Block) -> Block:
        match block:
            case Text(text) | Markdown(text) | Code(text):
                return replace(block, text=self.text(text))
            case Table(rows=rows):
                return replace(block, rows=tuple(tuple(self.text(cell) for cell in row) for row in rows))
            case Diff(hunks=hunks):
                clean = tuple(
                    replace(hunk, lines=tuple(self.text(line) for line in hunk.lines)) for hunk in hunks
                )
                return replace(block, hunks=clean)
            case _:
                return block
