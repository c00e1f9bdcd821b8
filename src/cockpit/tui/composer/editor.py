"""The editor of the Composer: Textual's text area with the keys that people of terminal agents expect.

It posts what was meant; `Cockpit` carries it out.
"""

from typing import ClassVar, Literal

from textual import events
from textual.message import Message
from textual.widgets import TextArea

from cockpit.tui.clean import clean
from cockpit.tui.painting import paint_now

Purpose = Literal["prompt", "note", "answer"]
How = Literal["send", "queue"]
Choosing = Literal["up", "down", "accept", "run", "dismiss"]

_PLACEHOLDER = "Ask anything   / commands   @ files   ! shell"


class Editor(TextArea, inherit_css=False):
    """`busy` and `answers` are set from outside: what Tab means, and which keys answer an approval.

    Textual's own style sheet of the area is not inherited: parsing it costs more than the rest of us.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = TextArea.COMPONENT_CLASSES
    DEFAULT_CSS = """
    Editor {
        width: 1fr; height: auto; max-height: 33vh; min-height: 1; padding: 0 1;
        color: $foreground; background: $panel; border-left: outer $primary;
        overflow-x: auto; overflow-y: auto; scrollbar-size: 1 1; scrollbar-background: $panel;
    }
    Editor.-shell { border-left: outer $secondary; }
    Editor.-note { border-left: outer $error; }
    Editor.-answer { border-left: outer $accent; }
    Editor .text-area--cursor { color: $input-cursor-foreground; background: $input-cursor-background; }
    Editor .text-area--selection { background: $input-selection-background; }
    Editor .text-area--placeholder { color: $foreground 45%; }
    Editor .text-area--suggestion { color: $foreground 45%; }
    """

    class Submitted(Message):
        """A person sent the text."""

        def __init__(self, text: str, how: How, purpose: Purpose) -> None:
            super().__init__()
            self.text, self.how, self.purpose = text, how, purpose

    class Meant(Message):
        """A key that stands for an action of the table."""

        def __init__(self, action: str) -> None:
            super().__init__()
            self.action = action

    class Chose(Message):
        """A key for the open list of completions; `run`: accept, and send what is a whole command."""

        def __init__(self, what: Choosing) -> None:
            super().__init__()
            self.what = what

    class Recalled(Message):
        """A wish for what was said before (-1) or after (1) what stands here."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    def __init__(self) -> None:
        super().__init__(
            soft_wrap=True,
            show_line_numbers=False,
            highlight_cursor_line=False,
            placeholder=_PLACEHOLDER,
            id="composer",
        )
        self.cursor_blink = False  # a blinking one wakes the program twice a second for ever
        self.purpose: Purpose = "prompt"
        self.busy = False
        self.popup_open = False
        self._height = 1  # lines of the draft when it was last painted
        self._walked = False  # whether the open list was walked through
        self.answers: dict[str, str] = {}  # key: action, while an approval waits
        self.tries: tuple[str, ...] = ()
        self.bound: dict[str, str] = {}  # key: action, from the table and the person's keymap

    def load_text(self, text: str) -> None:
        """Text from a completion, the history or a turn before: nothing in it acts on the terminal."""
        super().load_text(clean(text))

    def ask(self, purpose: Purpose, placeholder: str = "") -> None:
        """Write for another purpose; the draft of a prompt is the App's to keep."""
        self.purpose = purpose
        self.placeholder = placeholder or _PLACEHOLDER
        self.set_class(purpose == "note", "-note")
        self.set_class(purpose == "answer", "-answer")

    def put(self, text: str) -> None:
        """Replace everything, the cursor at the end."""
        self.load_text(text)
        self.move_cursor(self.document.end)

    def on_text_area_changed(self) -> None:
        height, self._height = self._height, self.wrapped_document.height
        if height == self._height:  # else the screen is laid out first, and painted with the new height
            paint_now(self)

    def on_text_area_selection_changed(self) -> None:
        if self.wrapped_document.height == self._height:
            paint_now(self)

    async def _on_key(self, event: events.Key) -> None:
        if self._take(event.key, event.character):
            event.stop()
            event.prevent_default()

    def _take(self, key: str, character: str | None) -> bool:
        """Whether `key` means something else here than to a text area."""
        if not self.popup_open:
            self._walked = False
        if self.popup_open and key in ("up", "down", "tab", "escape", "enter", "ctrl+n"):
            return self._choose(key)
        if not self.text and self._take_when_empty(key, character):
            return True
        action = self.bound.get(key)
        if action == "send":
            return self._enter()
        if action == "newline":
            self.insert("\n")
            return True
        if action == "queue":
            return self._tab()
        if action in ("interrupt", "clear_or_quit", "history") or (action == "leave" and not self.text):
            self.post_message(self.Meant(action))
            return True
        if key in ("up", "down"):
            return self._recall(key)
        if key in ("pageup", "pagedown"):
            self.post_message(self.Meant(f"trace_{key}"))
            return True
        return False

    def _take_when_empty(self, key: str, character: str | None) -> bool:
        if key in self.answers:
            self.post_message(self.Meant(self.answers[key]))
            return True
        meant = {"?": "help", ">": "palette"}.get(character or "")
        if meant is None or self.purpose != "prompt":
            return False
        self.post_message(self.Meant(meant))
        return True

    def _choose(self, key: str) -> bool:
        if key in ("up", "down", "ctrl+n"):
            self._walked = True
        if key == "enter" and not self._walked and self.text.startswith("/") and " " in self.text.strip():
            self.post_message(self.Chose("dismiss"))
            return self._enter()  # a command's words are sent as typed, whatever the list offers
        what: dict[str, Choosing] = {
            "up": "up",
            "down": "down",
            "ctrl+n": "down",
            "enter": "run",
            "escape": "dismiss",
        }
        self.post_message(self.Chose(what.get(key, "accept")))
        return True

    def _enter(self) -> bool:
        row, column = self.cursor_location
        before = self.document.get_line(row)[:column]
        if before.endswith("\\"):
            self.replace("\n", (row, column - 1), (row, column))
            return True
        self._submit("send")
        return True

    def _tab(self) -> bool:
        if self.purpose != "prompt":
            return True
        if self.text.strip():
            if self.busy:
                self._submit("queue")
            return True
        if self.tries and not self.busy:
            self.put(self.tries[0])
            self.tries = (*self.tries[1:], self.tries[0])
            return True
        return False

    def send(self) -> None:
        """As Enter does."""
        self._submit("send")

    def _submit(self, how: How) -> None:
        text = self.text.strip("\n")
        if text.strip() or self.purpose == "note":
            # Emptied at once: a key that follows Enter belongs to the next draft.
            self.put("")
            self.post_message(self.Submitted(text, how, self.purpose))

    def _recall(self, key: str) -> bool:
        at_edge = self.cursor_at_first_line if key == "up" else self.cursor_at_last_line
        if not at_edge or self.purpose != "prompt":
            return False
        self.post_message(self.Recalled(-1 if key == "up" else 1))
        return True
