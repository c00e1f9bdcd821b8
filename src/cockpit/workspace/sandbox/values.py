"""What a sandbox is told, and what it hands back. Plain values."""

from dataclasses import dataclass
from typing import Literal

Use = Literal["auto", "required", "off"]


@dataclass(frozen=True, slots=True)
class SandboxSettings:
    """The table `[sandbox]`: `required` refuses to run without a full one, `off` wants none. `hosts` are
    what the profile `net` may reach; the core puts them into each launch, where they are sealed."""

    use: Use = "auto"
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The folders a sandbox has to know. All are real and absolute.

    `own` are cockpit's own (settings, state, cache), which no program sees. `state` is where records of
    stubs are kept, `scratch` the one folder besides the workspace that a program may write to on disk.
    """

    root: str
    home: str
    own: tuple[str, ...] = ()
    state: str = ""
    scratch: str = ""


@dataclass(frozen=True, slots=True)
class Held:
    """A launch as it is started: `argv` under `environment`, with `fds` open in the child. `label` is what
    the record says of it; `token` counts it among those that need stubs, -1 for none."""

    argv: tuple[str, ...]
    environment: dict[str, str]
    label: str
    fds: tuple[int, ...] = ()
    token: int = -1
    before: tuple[tuple[str, str], ...] = ()
