"""A process before it starts: what will run, bound by a digest to what was judged and approved, and
what will hold it in."""

import hashlib
import json
from dataclasses import dataclass
from typing import Literal

from cockpit.errors import CockpitError

Profile = Literal["none", "read", "build", "net"]


@dataclass(frozen=True, slots=True)
class Launch:
    """A process that is about to start.

    `argv` is exec'd as it stands; `cwd` is a real, absolute folder. `environment` is what is added to
    the scrubbed environment, sorted by name. `profile` is what it may touch: `read` (the workspace
    read-only, no network), `build` (the workspace writable, no network), `net` (as build, with the
    network: only `hosts` where there are any), `none` (held by nothing). `hosts` are exact names.
    """

    argv: tuple[str, ...]
    cwd: str
    environment: tuple[tuple[str, str], ...] = ()
    profile: Profile = "none"
    hosts: tuple[str, ...] = ()

    def seal(self) -> str:
        """The sha256 (hex) of all of it. Whoever approves keeps it; whoever starts the process works it
        out again and refuses another (G5 of the safety guarantees)."""
        fields = [self.argv, self.cwd, self.environment, self.profile, self.hosts]
        return hashlib.sha256(json.dumps(fields, ensure_ascii=True).encode()).hexdigest()


class SealBroken(CockpitError):
    """What would start is not what was approved."""


@dataclass(frozen=True, slots=True)
class Isolation:
    """What really holds a launched process on this machine, as it was probed.

    `level` is `full` (bubblewrap: files, network, processes, system calls), `partial` (Landlock: files
    and TCP only) or `none`. `reason` says why it is not more and what would mend it; "" when full.
    """

    level: Literal["full", "partial", "none"]
    runner: Literal["bwrap", "landlock", "none"]
    reason: str = ""

    def label(self, profile: Profile) -> str:
        """What a record says of a process that ran with `profile`: `bwrap read`, `landlock build`, `none`."""
        return "none" if self.runner == "none" or profile == "none" else f"{self.runner} {profile}"


NO_ISOLATION = Isolation("none", "none", "nothing was probed")
