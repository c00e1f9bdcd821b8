"""What a sandbox is told, and what it hands back. Plain values."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from cockpit.errors import SettingsInvalid

if TYPE_CHECKING:
    from cockpit.workspace.sandbox.proxy import Proxy

SandboxUse = Literal["auto", "required", "off"]


@dataclass(frozen=True, slots=True)
class SandboxSettings:
    """`[sandbox] use` of the settings: `required` runs nothing without a full one, `off` wants none. The
    hosts that may be reached are part of each launch, where they are sealed."""

    use: SandboxUse = "auto"


def parse_sandbox_settings(use: str) -> SandboxSettings:
    """What a settings file says. Raises `SettingsInvalid` for another word than the three."""
    match use:
        case "auto" | "required" | "off":
            return SandboxSettings(use)
        case _:
            raise SettingsInvalid(
                f"`sandbox.use` is {use!r}", 'write "auto", "required" or "off"; docs/sandbox.md'
            )


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The folders a sandbox has to know. All are real and absolute.

    `own` are cockpit's own (settings, state, cache), which no program sees. `state` is where records of
    stubs are kept, `scratch` the one folder besides the workspace that a program may write to on disk.
    `linked` are folders elsewhere that links of the workspace lead to: they are shown, read-only.
    """

    root: str
    home: str
    own: tuple[str, ...] = ()
    state: str = ""
    scratch: str = ""
    linked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SandboxedLaunch:
    """A launch as it is started: `argv` under `environment`, with `fds` open in the child. `label` is what
    the record says of it; `token` counts it among those that need stubs, -1 for none. `before` is what is
    looked at again afterwards, `proxy` the one way to its hosts, `obeyed` what steered programs already."""

    argv: tuple[str, ...]
    environment: dict[str, str]
    label: str
    fds: tuple[int, ...] = ()
    token: int = -1
    before: tuple[tuple[str, str], ...] = ()
    proxy: "Proxy | None" = None
    obeyed: frozenset[str] | None = None
