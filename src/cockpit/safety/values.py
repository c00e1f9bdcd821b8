"""Input and result of judging a command line: `ExecutionContext` and `JudgedLine`."""

from dataclasses import dataclass
from typing import Literal

from cockpit.plugin.safety import CommandPart, Verdict

Shell = Literal["bash", "powershell"]
Platform = Literal["posix", "windows"]


@dataclass(frozen=True, slots=True)
class ExecutionContext:
    """Where and how a command line would run. All folders are real and absolute.

    `cwd` is the folder it starts in ("" for the root). `own` are cockpit's own folders besides
    `<root>/.cockpit` (settings, state, keys). `git_is_plain` is False where the repository configures
    filters, textconv or diff drivers or includes other configuration: then even a hardened git reader asks.
    `sandbox`: an allowed line will run in the full read profile, so that programs are allowed which are
    harmless only in a sandbox.
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
    """A command line with its verdict. `script` is the form that was judged and must be run (git readers
    hardened, otherwise unchanged), `environment` the variables that this form needs."""

    verdict: Verdict
    script: str
    environment: tuple[tuple[str, str], ...] = ()


def ask_unreadable(text: str, error: Exception) -> JudgedLine:
    """A line that could not be judged: an ask that only the user can answer."""
    reason = f"cockpit could not read it ({type(error).__name__}): check it yourself"
    part = CommandPart(text, (), "ask", 60, frozenset({"shell.opaque"}), ("unread",), reason)
    verdict = Verdict(
        "ask", reason, 60, part.capabilities, part.rules, sandbox="build",
        may_remember=False, user_only=True, parts=(part,),
    )  # fmt: skip
    return JudgedLine(verdict, text)
