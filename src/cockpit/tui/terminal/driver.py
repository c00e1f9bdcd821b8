"""Textual's driver with a faster Esc and safe pastes, and signals that end the app and restore the screen.

Textual polls its input every 100 ms, so a lone ESC byte waits that long before it counts as a key; here the
poll is short while a sequence may be unfinished. Textual's parser also takes an ESC inside a bracketed paste
for a key and the rest for typed keys, where a line end would send the prompt; so pastes are cleaned first.
POSIX only; elsewhere Textual's own driver is used.
"""

import os
import re
import selectors
import sys
from codecs import getincrementaldecoder
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from textual import events
from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver

if TYPE_CHECKING:
    from textual.app import App

ESCAPE_SECONDS = 0.02
_IDLE_SECONDS = 0.1
PASTE_START, PASTE_END = "\x1b[200~", "\x1b[201~"
# Escape sequences, then every other control character except tab and line ends.
_CONTROL_SEQUENCES = re.compile(
    r"""
    \x1b\[[0-?]*[ -/]*[@-~] | \x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?
    | [\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]
    """,
    re.VERBOSE,
)


class PasteFilter:
    """Removes escape sequences from pastes, and passes a paste on when it is complete."""

    def __init__(self) -> None:
        self._tail = ""  # of the typed text: the start of a paste may arrive in two reads
        self._pasted: str | None = None

    def clean(self, text: str) -> str:
        out: list[str] = []
        while text:
            if self._pasted is None:
                text = self._typed(text, out)
                continue
            checked = max(0, len(self._pasted) - len(PASTE_END))
            self._pasted += text
            if (end := self._pasted.find(PASTE_END, checked)) < 0:
                break
            out += (_CONTROL_SEQUENCES.sub("", self._pasted[:end]), PASTE_END)
            text, self._pasted, self._tail = self._pasted[end + len(PASTE_END) :], None, ""
        return "".join(out)

    def _typed(self, text: str, out: list[str]) -> str:
        known = len(self._tail)
        begin = (self._tail + text).find(PASTE_START)
        if begin < 0:
            out.append(text)
            self._tail = (self._tail + text)[1 - len(PASTE_START) :]
            return ""
        begin += len(PASTE_START) - known
        out.append(text[:begin])
        self._pasted = ""
        return text[begin:]


class KeyParser(XTermParser):
    """Reads ESC and a digit as Alt and the digit. Textual takes it for the letter that Option and the
    digit type on a Mac, but a terminal that sends Option as letters sends the letter itself."""

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterable[events.Key]:
        if len(sequence) == 2 and sequence[0] == "\x1b" and sequence[1] in "0123456789":
            return (events.Key(f"alt+{sequence[1]}", None),)
        return super()._sequence_to_key_events(sequence, alt)


class TerminalDriver(LinuxDriver):
    """Textual's driver for a real terminal, with the changes above."""

    def __init__(
        self, app: "App[Any]", *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        # Textual draws on stderr: `cockpit 2>err.log` must not send the screen into the file.
        if sys.__stdout__ is not None and not (sys.__stderr__ and sys.__stderr__.isatty()):
            self._file = sys.__stdout__

    def run_input_thread(self) -> None:
        selector = selectors.SelectSelector()
        selector.register(self.fileno, selectors.EVENT_READ)
        parser, pastes = KeyParser(self._debug), PasteFilter()
        decode = getincrementaldecoder("utf-8")("replace").decode
        unfinished = False
        try:
            while not self.exit_event.is_set():
                ready = selector.select(ESCAPE_SECONDS if unfinished else _IDLE_SECONDS)
                if ready:
                    text = decode(os.read(self.fileno, 16_384))
                    if not text:
                        break
                    # The parser would take an empty text for the end of the input; here a paste continues.
                    if typed := pastes.clean(text):
                        for event in parser.feed(typed):
                            self.process_message(event)
                    unfinished = text.endswith("\x1b")
                for event in parser.tick():
                    self.process_message(event)
                    unfinished = False
        finally:
            selector.close()


def driver_class() -> "type[LinuxDriver] | None":
    """The driver to use, or None for Textual's own."""
    return TerminalDriver if sys.platform != "win32" and sys.__stdin__ is not None else None


def exit_on_signals(app: "App[int]") -> None:
    """Exit `app` properly on SIGTERM and SIGHUP, so that the screen is restored."""
    if sys.platform == "win32":
        return
    import asyncio
    import signal

    loop = asyncio.get_running_loop()
    for number, code in ((signal.SIGTERM, 143), (signal.SIGHUP, 129)):
        loop.add_signal_handler(number, partial(app.exit, code, code))
