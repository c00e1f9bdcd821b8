"""The peer for streams: finished blocks in a RichLog, the growing one below it updated 20 times a second.

`rich_log.py SCRIPT`: Enter plays the pieces of a `scripted` model's script as fast as they come (or with its
`delay_ms` between them).
"""

import asyncio
import json
import sys
from pathlib import Path

from rich.markdown import Markdown
from textual import events
from textual.app import App, ComposeResult
from textual.widgets import RichLog, Static, TextArea


class Draft(TextArea):
    async def _on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            event.prevent_default()
            event.stop()
            self.text = ""
            self.app.run_worker(self.app.play())
            return
        await super()._on_key(event)


class Log(App[None]):
    CSS = "RichLog { height: 1fr; } #tail { height: auto; max-height: 20; } TextArea { height: 5; }"

    def __init__(self, script: Path) -> None:
        super().__init__()
        step = json.loads(script.read_text(encoding="utf-8"))["steps"][0]
        self.pieces: list[str] = step["chunks"]
        self.delay = step.get("delay_ms", 0) / 1000
        self.live = ""
        self.shown = ""

    def compose(self) -> ComposeResult:
        yield RichLog(wrap=True)
        yield Static(id="tail")
        yield Draft()

    def on_mount(self) -> None:
        self.query_one(Draft).focus()
        self.set_interval(1 / 20, self.draw)

    async def play(self) -> None:
        log = self.query_one(RichLog)
        for piece in self.pieces:
            self.live += piece
            if "\n\n" in self.live:
                block, self.live = self.live.split("\n\n", 1)
                log.write(Markdown(block))
            await asyncio.sleep(self.delay)
        log.write(Markdown(self.live))
        self.live = ""

    def draw(self) -> None:
        if self.live != self.shown:
            self.shown = self.live
            self.query_one("#tail", Static).update(Markdown(self.live))


if __name__ == "__main__":
    Log(Path(sys.argv[1])).run()
