"""Values of the sandbox: its setting, the folders it must know, and a prepared launch."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from cockpit.errors import SettingsInvalid

if TYPE_CHECKING:
    from cockpit.workspace.sandbox.proxy import Proxy

SandboxUse = Literal["auto", "required", "off"]
"""`[sandbox] use` of the settings: `required` runs nothing without a full sandbox, `off` uses none."""


def parse_sandbox_use(use: str) -> SandboxUse:
    """The value in a settings file. Raises `SettingsInvalid` for an unknown word."""
    match use:
        case "auto" | "required" | "off":
            return use
        case _:
            raise SettingsInvalid(f"unknown value {use!r} of `sandbox.use`", "choose auto, required or off")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The folders a sandbox must know. All are real and absolute.

    `own` are cockpit's folders (settings, state, cache), which no program sees. `state` holds the records of
    stubs. `scratch` is the only folder besides the workspace that a program may write. `linked` are targets
    of links in the workspace; they are shown read-only.
    """

    root: str
    home: str
    own: tuple[str, ...] = ()
    state: str = ""
    scratch: str = ""
    linked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SandboxedLaunch:
    """A launch ready to start: `argv` with `environment`, and `fds` open in the child.

    `label` names its isolation in records; `token` identifies it among those that need stubs, -1 for none.
    `before` are links to check afterwards, `proxy` is the only way to its hosts, `obeyed` are the paths that
    controlled programs before it ran.
    """

    argv: tuple[str, ...]
    environment: dict[str, str]
    label: str
    fds: tuple[int, ...] = ()
    token: int = -1
    before: tuple[tuple[str, str], ...] = ()
    proxy: "Proxy | None" = None
    obeyed: frozenset[str] | None = None
