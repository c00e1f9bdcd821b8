"""Textual's driver with a bare Esc that is felt at once, and signals that end the app and restore the screen.

Textual polls its input every 100 ms, so a lone ESC byte waits that long before it is a key; here the
poll is short exactly while a sequence may be unfinished. POSIX only; elsewhere Textual's own is used.
"""

import os
import selectors
import sys
from codecs import getincrementaldecoder
from functools import partial
from typing import TYPE_CHECKING

from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver

if TYPE_CHECKING:
    from textual.app import App

ESCAPE_SECONDS = 0.02
_IDLE_SECONDS = 0.1


class Terminal(LinuxDriver):
    """The driver of a real terminal."""

    def run_input_thread(self) -> None:
        selector = selectors.SelectSelector()
        selector.register(self.fileno, selectors.EVENT_READ)
        parser = XTermParser(self._debug)
        decode = getincrementaldecoder("utf-8")("replace").decode
        unfinished = False
        try:
            while not self.exit_event.is_set():
                ready = selector.select(ESCAPE_SECONDS if unfinished else _IDLE_SECONDS)
                if ready:
                    text = decode(os.read(self.fileno, 16_384))
                    if not text:
                        break
                    for event in parser.feed(text):
                        self.process_message(event)
                    unfinished = text.endswith("\x1b")
                for event in parser.tick():
                    self.process_message(event)
                    unfinished = False
        finally:
            selector.close()


def driver() -> "type[LinuxDriver] | None":
    """The driver to use, or None for Textual's choice."""
    return Terminal if sys.platform != "win32" and sys.__stdin__ is not None else None


def on_signals(app: "App[int]") -> None:
    """End `app` in order on SIGTERM and SIGHUP, so that the screen is restored."""
    if sys.platform == "win32":
        return
    import asyncio
    import signal

    loop = asyncio.get_running_loop()
    for number, code in ((signal.SIGTERM, 143), (signal.SIGHUP, 129)):
        loop.add_signal_handler(number, partial(app.exit, code, code))
