"""The signals that interrupt or end a headless run. Says when they come; what they do is the run's part."""

import asyncio
import signal
import sys
from collections.abc import Callable

INTERRUPTED_EXIT_CODE = 130


def watch_signals(come: Callable[[signal.Signals], bool]) -> Callable[[], None]:
    """Call `come` in the loop at Ctrl+C, SIGTERM and the end of the terminal, until it says with True
    that the run is ending: a further Ctrl+C or SIGTERM ends the process as usual. What is returned
    takes the signals back."""
    loop = asyncio.get_running_loop()
    awaited = [signal.SIGINT, signal.SIGTERM]
    # Under `nohup` the end of the terminal is to be survived.
    if sys.platform != "win32" and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        awaited.append(signal.SIGHUP)
    ending = False

    def forget(*signals: signal.Signals) -> None:
        for one in signals:
            loop.remove_signal_handler(one)

    def came(one: signal.Signals) -> None:
        nonlocal ending
        # A terminal that closes sends SIGHUP twice, from the kernel and from the shell: the second must
        # not cut short how the first one ends the run.
        if not ending and come(one):
            ending = True
            forget(signal.SIGINT, signal.SIGTERM)

    try:
        for one in awaited:
            loop.add_signal_handler(one, came, one)
    except (NotImplementedError, RuntimeError):
        # Windows, or not the main thread: Ctrl+C ends the process by itself there.
        return lambda: None
    return lambda: forget(*awaited)
