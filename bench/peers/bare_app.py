"""A minimal Textual program: one text area."""

from textual.app import App, ComposeResult
from textual.widgets import TextArea


class Bare(App[None]):
    def compose(self) -> ComposeResult:
        yield TextArea(id="composer")

    def on_mount(self) -> None:
        self.query_one(TextArea).focus()


if __name__ == "__main__":
    Bare().run()
