"""What goes wrong with a server. Inside of this room only: callers get `Silent`."""


class ServerFault(Exception):
    """A server did not do what it was asked."""


class Refused(ServerFault):
    """The server answered with an error: its `code` (LSP 3.17, ErrorCodes) and message."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Gone(ServerFault):
    """The server's process has ended, or no longer listens."""


class Unable(ServerFault):
    """The server never offered this, or what it offers cannot be used; the message says why."""


METHOD_NOT_FOUND = -32601
CONTENT_MODIFIED = -32801
SERVER_CANCELLED = -32802
AGAIN = (CONTENT_MODIFIED, SERVER_CANCELLED)
