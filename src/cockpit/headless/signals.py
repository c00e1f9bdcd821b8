"""Handles the signals that interrupt or end a headless run: Ctrl+C, SIGTERM, and SIGHUP when the terminal is
closed.
"""

import asyncio
import signal
import sys
from collections.abc import Callable

INTERRUPTED_EXIT_CODE = 130


def watch_signals(on_signal: Callable[[signal.Signals], bool]) -> Callable[[], None]:
    """Call `on_signal` in the loop for each signal, until it returns True because the run is ending.

    After that, another Ctrl+C or SIGTERM ends the process as usual. Returns a function that removes the
    handlers.
    """
    loop = asyncio.get_running_loop()
    watched = [signal.SIGINT, signal.SIGTERM]
    # `nohup` ignores SIGHUP, so that a run survives the end of the terminal.
    if sys.platform != "win32" and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        watched.append(signal.SIGHUP)
    ending = False

    def remove_handlers(*signals: signal.Signals) -> None:
        for watched_signal in signals:
            loop.remove_signal_handler(watched_signal)

    def receive(received: signal.Signals) -> None:
        nonlocal ending
        # A closing terminal sends SIGHUP twice, from the kernel and from the shell. The second signal must
        # not interrupt the shutdown that the first has started.
        if not ending and on_signal(received):
            ending = True
            remove_handlers(signal.SIGINT, signal.SIGTERM)

    try:
        for watched_signal in watched:
            loop.add_signal_handler(watched_signal, receive, watched_signal)
    except (NotImplementedError, RuntimeError):
        # On Windows and outside the main thread, Ctrl+C ends the process by itself.
        return lambda: None
    return lambda: remove_handlers(*watched)
