"""Errors that users read. Each says what happened and what to do next."""


class CockpitError(Exception):
    """An error with a message for the user.

    `hint` is the next thing to do, one sentence; empty if the message already says it.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message


class SettingsInvalid(CockpitError):
    """A settings file that cannot be used; the message names the file and the key."""


class DecodeFailed(CockpitError):
    """Bytes from a wire or a transcript that do not decode to a value of the protocol."""


class SessionUnknown(CockpitError):
    """The state folder has no session with that id."""


class SessionBusy(CockpitError):
    """Another live process is writing that session."""
