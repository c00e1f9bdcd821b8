"""What judging a command line needs to know, and what it brings back."""

from dataclasses import dataclass
from typing import Literal

from cockpit.plugin.safety import Verdict

Shell = Literal["bash", "powershell"]
Platform = Literal["posix", "windows"]


@dataclass(frozen=True, slots=True)
class ExecutionContext:
    """Where a command line would run. All folders are real and absolute.

    `cwd` is where it starts ("" for the root). `own` are cockpit's own folders besides `<root>/.cockpit`
    (settings, state, keys). `git_is_plain` is False where the repository names filter, textconv or diff
    drivers or includes other configuration: then even a hardened git reader asks. `sandbox` says that a
    SAFE line will run in the full read profile: only then are programs SAFE that are harmless because
    they are held in.
    """

    root: str
    home: str
    cwd: str = ""
    own: tuple[str, ...] = ()
    git_is_plain: bool = True
    sandbox: bool = False
    platform: Platform = "posix"


@dataclass(frozen=True, slots=True)
class JudgedLine:
    """A command line, judged. `script` is the form that was judged and is to be run (git readers
    hardened, otherwise as it came), `environment` what that form needs besides."""

    verdict: Verdict
    script: str
    environment: tuple[tuple[str, str], ...] = ()
