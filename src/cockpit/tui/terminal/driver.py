"""Textual's driver with a bare Esc that is felt at once, and signals that end the app and restore the screen.

Textual polls its input every 100 ms, so a lone ESC byte waits that long before it is a key; here the
poll is short exactly while a sequence may be unfinished. And its parser takes an ESC inside a bracketed
paste for a key and what follows for typed keys, where a line's end sends the prompt: what is pasted is
cleaned before it. POSIX only; elsewhere Textual's own is used.
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
PASTE, PASTED = "\x1b[200~", "\x1b[201~"
# Colours and titles of what was copied, then every other control character but tab and line ends.
_CONTROL_SEQUENCES = re.compile(
    r"""
    \x1b\[[0-?]*[ -/]*[@-~] | \x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?
    | [\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]
    """,
    re.VERBOSE,
)


class PasteFilter:
    """Takes the escape sequences out of what is pasted, and hands a paste on when it is whole."""

    def __init__(self) -> None:
        self._tail = ""  # of what was typed: a mark may come in two reads
        self._pasted: str | None = None

    def clean(self, text: str) -> str:
        out: list[str] = []
        while text:
            if self._pasted is None:
                text = self._typed(text, out)
                continue
            seen = max(0, len(self._pasted) - len(PASTED))
            self._pasted += text
            if (end := self._pasted.find(PASTED, seen)) < 0:
                break
            out += (_CONTROL_SEQUENCES.sub("", self._pasted[:end]), PASTED)
            text, self._pasted, self._tail = self._pasted[end + len(PASTED) :], None, ""
        return "".join(out)

    def _typed(self, text: str, out: list[str]) -> str:
        """Pass on what was typed. Returns what comes after the beginning of a paste."""
        known = len(self._tail)
        begin = (self._tail + text).find(PASTE)
        if begin < 0:
            out.append(text)
            self._tail = (self._tail + text)[1 - len(PASTE) :]
            return ""
        begin += len(PASTE) - known
        out.append(text[:begin])
        self._pasted = ""
        return text[begin:]


class KeyParser(XTermParser):
    """Textual takes ESC and a digit for the letter that Option and the digit type on a Mac. A terminal that
    sends Option as letters sends the letter itself: ESC and a digit is Alt everywhere."""

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterable[events.Key]:
        if len(sequence) == 2 and sequence[0] == "\x1b" and sequence[1] in "0123456789":
            return (events.Key(f"alt+{sequence[1]}", None),)
        return super()._sequence_to_key_events(sequence, alt)


class TerminalDriver(LinuxDriver):
    """The driver of a real terminal."""

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
                    # Nothing, to the parser, is the end of the input; to us, a paste that goes on.
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
    """The driver to use, or None for Textual's choice."""
    return TerminalDriver if sys.platform != "win32" and sys.__stdin__ is not None else None


def exit_on_signals(app: "App[int]") -> None:
    """End `app` in order on SIGTERM and SIGHUP, so that the screen is restored."""
    if sys.platform == "win32":
        return
    import asyncio
    import signal

    loop = asyncio.get_running_loop()
    for number, code in ((signal.SIGTERM, 143), (signal.SIGHUP, 129)):
        loop.add_signal_handler(number, partial(app.exit, code, code))
