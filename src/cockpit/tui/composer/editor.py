"""What a person said before: kept in one file of theirs alone (0600), the newest last, bounded.

The editor of the Composer: Textual's text area with the keys that people of terminal agents expect.

It posts what was meant; `Cockpit` carries it out.
"""

import json
import os
from pathlib import Path
from typing import ClassVar, Literal

from textual import events
from textual.message import Message
from textual.widgets import TextArea

from cockpit.tui.clean import clean
from cockpit.tui.render.widgets import paint_now

MAX_HISTORY = 1_000


class PromptHistory:
    """Walks back and forth; the draft that was left stands at the end."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.said: list[str] = _read_history(path) if path else []
        self._at = len(self.said)
        self._draft = ""

    def step(self, by: int, current: str) -> str | None:
        """The text `by` steps from here, or None at an end."""
        wanted = self._at + by
        if not 0 <= wanted <= len(self.said):
            return None
        if self._at == len(self.said):
            self._draft = current
        self._at = wanted
        return self._draft if wanted == len(self.said) else self.said[wanted]

    def add(self, text: str) -> None:
        """Remember `text`, unless it was just said."""
        if text.strip() and (not self.said or self.said[-1] != text):
            self.said.append(text)
            self._write(text)
        self._at, self._draft = len(self.said), ""

    def _write(self, text: str) -> None:
        if self._path is None:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            if len(self.said) > 2 * MAX_HISTORY:
                del self.said[:-MAX_HISTORY]
                _rewrite_history(self._path, self.said)
                return
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(descriptor, "a", encoding="utf-8", errors="replace") as file:
                file.write(json.dumps(text, ensure_ascii=False) + "\n")
        except OSError:
            self._path = None  # a full or read-only disk: history lives on in memory


def _read_history(path: Path) -> list[str]:
    """One JSON string a line; a line that is not one (a torn write) is left out."""
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
    found: list[str] = []
    for line in lines[-MAX_HISTORY:]:
        try:
            text = json.loads(line)
        except ValueError:
            continue
        if isinstance(text, str):
            found.append(text)
    return found


def _rewrite_history(path: Path, said: list[str]) -> None:
    fresh = path.with_suffix(".new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
        file.writelines(json.dumps(text, ensure_ascii=False) + "\n" for text in said)
    fresh.replace(path)


ComposerPurpose = Literal["prompt", "note", "answer"]
SendMode = Literal["send", "queue"]
PopupKey = Literal["up", "down", "accept", "run", "dismiss"]

_PLACEHOLDER = "Ask anything   / commands   @ files   ! shell"


class PromptEditor(TextArea, inherit_css=False):
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

        def __init__(self, text: str, how: SendMode, purpose: ComposerPurpose) -> None:
            super().__init__()
            self.text, self.how, self.purpose = text, how, purpose

    class Meant(Message):
        """A key that stands for an action of the table."""

        def __init__(self, action: str) -> None:
            super().__init__()
            self.action = action

    class Chose(Message):
        """A key for the open list of completions; `run`: accept, and send what is a whole command."""

        def __init__(self, what: PopupKey) -> None:
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
        self.purpose: ComposerPurpose = "prompt"
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

    def ask(self, purpose: ComposerPurpose, placeholder: str = "") -> None:
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
        what: dict[str, PopupKey] = {
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

    def _submit(self, how: SendMode) -> None:
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
