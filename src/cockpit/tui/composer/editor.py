"""The Composer: a text area with the keys of terminal agents, and the history of prompts.

It posts messages for keys and texts; the session controller acts on them.
"""

import json
import os
import time
from pathlib import Path
from typing import ClassVar, Literal

from textual import events
from textual.message import Message
from textual.widgets import TextArea

from cockpit.protocol.safe_text import clean
from cockpit.tui.render.widgets import paint_now

ComposerPurpose = Literal["prompt", "note", "answer"]
SendMode = Literal["send", "queue"]
PopupKey = Literal["up", "down", "accept", "run", "dismiss"]

MAX_HISTORY = 1_000
_PLACEHOLDER = "Ask anything   / commands   @ files   ! shell"
_POPUP_KEYS: dict[str, PopupKey] = {
    "up": "up",
    "down": "down",
    "ctrl+n": "down",
    "tab": "accept",
    "enter": "run",
    "escape": "dismiss",
}


class PromptHistory:
    """Earlier prompts, the newest last, in a private file (0600) of limited length; without a path only in
    memory. Walking back keeps the draft that was left."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self.texts: list[str] = _read_history(path) if path else []
        self._at = len(self.texts)
        self._draft = ""

    def step(self, by: int, current: str) -> str | None:
        """The text `by` steps from here, or None at an end."""
        target = self._at + by
        if not 0 <= target <= len(self.texts):
            return None
        if self._at == len(self.texts):
            self._draft = current
        self._at = target
        return self._draft if target == len(self.texts) else self.texts[target]

    def add(self, text: str) -> None:
        """Store `text`, unless it is the same as the one before."""
        if text.strip() and (not self.texts or self.texts[-1] != text):
            self.texts.append(text)
            self._write(text)
        self._at, self._draft = len(self.texts), ""

    def _write(self, text: str) -> None:
        if self._path is None:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            if len(self.texts) > 2 * MAX_HISTORY:
                del self.texts[:-MAX_HISTORY]
                temporary = self._path.with_suffix(".new")
                _write_lines(temporary, os.O_TRUNC, self.texts)
                temporary.replace(self._path)
            else:
                _write_lines(self._path, os.O_APPEND, [text])
        except OSError:
            self._path = None  # a full or read-only disk: from now on the history is in memory only


def _read_history(path: Path) -> list[str]:
    """Read one JSON string per line, without incomplete lines of an interrupted write."""
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
    texts: list[str] = []
    for line in lines[-MAX_HISTORY:]:
        try:
            text = json.loads(line)
        except ValueError:
            continue
        if isinstance(text, str):
            texts.append(text)
    return texts


def _write_lines(path: Path, flag: int, texts: list[str]) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | flag, 0o600)
    with os.fdopen(descriptor, "a", encoding="utf-8", errors="replace") as file:
        file.writelines(json.dumps(text, ensure_ascii=False) + "\n" for text in texts)


class PromptEditor(TextArea, inherit_css=False):
    """The text area of the Composer. The controller sets `busy`, `answers` (keys of an approval), `tries`
    (suggested prompts) and `bound` (keys of actions). Textual's style sheet of the text area is not
    inherited, because parsing it takes longer than all of ours."""

    COMPONENT_CLASSES: ClassVar[set[str]] = TextArea.COMPONENT_CLASSES
    DEFAULT_CSS = """
    PromptEditor {
        width: 1fr; height: auto; max-height: 33vh; min-height: 1; padding: 0 1;
        color: $foreground; background: $panel; border-left: outer $primary;
        overflow-x: auto; overflow-y: auto; scrollbar-size: 1 1; scrollbar-background: $panel;
    }
    PromptEditor.-shell { border-left: outer $secondary; }
    PromptEditor.-note { border-left: outer $error; }
    PromptEditor.-answer { border-left: outer $accent; }
    PromptEditor .text-area--cursor { color: $input-cursor-foreground; background: $input-cursor-background; }
    PromptEditor .text-area--selection { background: $input-selection-background; }
    PromptEditor .text-area--placeholder { color: $foreground 45%; }
    PromptEditor .text-area--suggestion { color: $foreground 45%; }
    """

    class Submitted(Message):
        """The user sent the text."""

        def __init__(self, text: str, mode: SendMode, purpose: ComposerPurpose) -> None:
            super().__init__()
            self.text, self.mode, self.purpose = text, mode, purpose

    class ActionKey(Message):
        """A key bound to an action of the table."""

        def __init__(self, action: str) -> None:
            super().__init__()
            self.action = action

    class ListKey(Message):
        """A key for the open list of completions. `run`: accept, and send what is then a complete command."""

        def __init__(self, key: PopupKey) -> None:
            super().__init__()
            self.key = key

    def __init__(self) -> None:
        super().__init__(
            soft_wrap=True,
            show_line_numbers=False,
            highlight_cursor_line=False,
            placeholder=_PLACEHOLDER,
            id="composer",
        )
        self.cursor_blink = False  # a blinking cursor would wake the program twice a second
        self.purpose: ComposerPurpose = "prompt"
        self.busy = False
        self.popup_open = False
        self.answers: dict[str, str] = {}  # key: action, while an approval waits
        self.tries: tuple[str, ...] = ()
        self.bound: dict[str, str] = {}  # key: action
        self.prompts = PromptHistory()
        self._parked_draft = ""  # the prompt that is set aside while the Composer serves another purpose
        self._height = 1  # lines of the draft when it was last painted
        self._list_walked = False  # whether the user has moved in the open list
        self._typed_at = 0.0

    @property
    def idle_seconds(self) -> float:
        """Seconds since the last change of a draft."""
        return time.monotonic() - self._typed_at

    def note_key(self) -> None:
        """The user is typing, here or in another text area."""
        self._typed_at = time.monotonic()

    def load_text(self, text: str) -> None:
        """Load text from a completion, the history or an earlier turn, cleaned for the terminal."""
        super().load_text(clean(text))

    def put(self, text: str) -> None:
        """Replace everything, with the cursor at the end."""
        self.load_text(text)
        self.move_cursor(self.document.end)

    def use_for(self, purpose: ComposerPurpose, placeholder: str) -> None:
        """Write a note or an answer; the draft of a prompt is set aside."""
        if self.purpose == "prompt":
            self._parked_draft = self.text
            self.put("")
        self._set_purpose(purpose, placeholder)

    def return_to_prompt(self) -> None:
        """Write prompts again, with the draft that was set aside."""
        if self.purpose != "prompt":
            self._set_purpose("prompt", "")
            self.put(self._parked_draft)
            self._parked_draft = ""

    def discard_drafts(self) -> None:
        self._parked_draft = ""
        self.put("")

    def set_placeholder(self, text: str) -> None:
        """Show `text` while the draft is empty; the usual help for ""."""
        self.placeholder = text or _PLACEHOLDER

    def _set_purpose(self, purpose: ComposerPurpose, placeholder: str) -> None:
        self.purpose = purpose
        self.set_placeholder(placeholder)
        self.set_class(purpose == "note", "-note")
        self.set_class(purpose == "answer", "-answer")

    def send(self) -> None:
        """Send the text, as Enter does."""
        self._submit("send")

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
        """Handle `key` if it has a meaning here. Returns whether it has; otherwise the text area gets it."""
        if not self.popup_open:
            self._list_walked = False
        elif key in _POPUP_KEYS:
            return self._take_list_key(key)
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
            self.post_message(self.ActionKey(action))
            return True
        if key in ("up", "down"):
            return self._recall(key)
        if key in ("pageup", "pagedown"):
            self.post_message(self.ActionKey(f"trace_{key}"))
            return True
        return False

    def _take_when_empty(self, key: str, character: str | None) -> bool:
        action = self.answers.get(key)
        if action is None and self.purpose == "prompt":
            action = {"?": "help", ">": "palette"}.get(character or "")
        if action is None:
            return False
        self.post_message(self.ActionKey(action))
        return True

    def _take_list_key(self, key: str) -> bool:
        if key in ("up", "down", "ctrl+n"):
            self._list_walked = True
        has_words = self.text.startswith("/") and " " in self.text.strip()
        if key == "enter" and has_words and not self._list_walked:
            self.post_message(self.ListKey("dismiss"))
            return self._enter()  # arguments are sent as typed, whatever the list offers
        self.post_message(self.ListKey(_POPUP_KEYS[key]))
        return True

    def _enter(self) -> bool:
        row, column = self.cursor_location
        before = self.document.get_line(row)[:column]
        if before.endswith("\\"):
            self.replace("\n", (row, column - 1), (row, column))
        else:
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

    def _submit(self, mode: SendMode) -> None:
        text = self.text.strip("\n")
        if text.strip() or self.purpose == "note":
            # Emptied at once: a key that follows Enter belongs to the next draft.
            self.put("")
            self.post_message(self.Submitted(text, mode, self.purpose))

    def _recall(self, key: str) -> bool:
        at_edge = self.cursor_at_first_line if key == "up" else self.cursor_at_last_line
        if not at_edge or self.purpose != "prompt":
            return False
        text = self.prompts.step(-1 if key == "up" else 1, self.text)
        if text is not None:
            self.put(text)
        return True
