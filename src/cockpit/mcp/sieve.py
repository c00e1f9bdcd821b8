"""Keeps a flood out: of what a server tells unasked only so much a second goes on. Imports the SDK."""

import time

from mcp.types import JSONRPCMessage, JSONRPCNotification, JSONRPCRequest

from cockpit.workspace.logs import Log

PER_SECOND = 200


class Sieve:
    """Counts one connection's messages. Answers to our own requests always pass."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._second = 0
        self._count = 0

    def lets(self, message: JSONRPCMessage) -> bool:
        """Whether `message` goes on."""
        if not isinstance(message, JSONRPCNotification | JSONRPCRequest):
            return True
        now = int(time.monotonic())
        if now != self._second:
            if self._count > PER_SECOND:
                self._log.say(
                    "cockpit", f"{self._count - PER_SECOND} messages came too fast and were left out"
                )
            self._second, self._count = now, 0
        self._count += 1
        return self._count <= PER_SECOND
