"""The errors a person reads. Each says what happened and what to do next."""


class CockpitError(Exception):
    """A fault with a message for its reader.

    `hint` is the next thing to do, one sentence, or empty when the message already says it.
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
    """Bytes from a wire or a transcript that are no value of the protocol."""


class SessionUnknown(CockpitError):
    """No session of that id lies under the state folder."""


class SessionBusy(CockpitError):
    """Another live process is the writer of that session."""
