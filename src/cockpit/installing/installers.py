"""pip and uv: whichever is there puts distributions into a staged generation.

Both are held to what cockpit is made of: pip sees cockpit's distributions as installed and is constrained
to their versions, uv is told that they are there. Refuses to look at what was installed.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from cockpit.errors import CockpitError
from cockpit.installing.environment import Staged, own_distributions
from cockpit.installing.sources import Source

Name = Literal["pip", "uv"]
SECONDS = 1800
TAIL = 12
# How the lines begin that say why.
TELLING = ("ERROR", "error", "  cause", "  ╰", "  ×", "  Because", "hint")
SECRETS = ("_API_KEY", "_SECRET", "_SECRET_KEY")


@dataclass(frozen=True, slots=True)
class Wishes:
    """How to install. `installer` empty takes pip where it is there, else uv. Without `index` nothing is
    fetched; without `isolation` a folder is built with the build tools that are installed."""

    installer: Name | Literal[""] = ""
    index: bool = True
    isolation: bool = True
    upgrade: bool = False


class InstallFailed(CockpitError):
    """The installer could not; nothing is changed."""


def install(staged: Staged, sources: Sequence[Source], wishes: Wishes) -> Name:
    """Put `sources` and what they need into `staged`; who did it. Raises `InstallFailed`."""
    name, program = _program(staged, wishes.installer)
    with tempfile.TemporaryDirectory(prefix="cockpit-") as folder:
        held = Path(folder) / "own.txt"
        given = _arguments(name, staged, held, wishes)
        held.write_text(_held(name), encoding="utf-8")
        for source in sources:
            given += ["--editable", source.place] if source.kind == "editable" else [source.place]
        _run(name, [*program, *given], folder)
    return name


def _program(staged: Staged, wanted: str) -> tuple[Name, list[str]]:
    finders: dict[Name, Callable[[Staged], list[str]]] = {"pip": _pip, "uv": _uv}
    for name, find in finders.items():
        if wanted in ("", name) and (program := find(staged)):
            return name, program
    missing = wanted or "neither pip nor uv"
    raise InstallFailed(f"{missing} is not there" if wanted else f"{missing} is there", "install pip or uv")


def _pip(staged: Staged) -> list[str]:
    """pip of cockpit's environment, or the one that Python carries with it."""
    if find_spec("pip") is not None:
        return [staged.python, "-m", "pip"]
    carried = find_spec("ensurepip")
    folder = Path(carried.origin).parent / "_bundled" if carried is not None and carried.origin else None
    wheels = sorted(folder.glob("pip-*.whl")) if folder is not None and folder.is_dir() else []
    # A wheel is a zip that can be imported from.
    return [staged.python, str(wheels[-1] / "pip")] if wheels else []


def _uv(staged: Staged) -> list[str]:
    beside = Path(sys.executable).with_name("uv.exe" if os.name == "nt" else "uv")
    found = str(beside) if beside.is_file() else shutil.which("uv")
    return [found] if found else []


def _arguments(name: Name, staged: Staged, held: Path, wishes: Wishes) -> list[str]:
    match name:
        case "pip":
            given = [
                "--disable-pip-version-check",
                "--no-input",
                "install",
                "--progress-bar=off",
                "--no-warn-script-location",
            ]
            given += ["--constraint", str(held)]
        case "uv":
            given = ["pip", "install", "--quiet", "--python", staged.python, "--override", str(held)]
    given += [] if wishes.index else ["--no-index"]
    given += [] if wishes.isolation else ["--no-build-isolation"]
    return given + (["--upgrade"] if wishes.upgrade else [])


def _held(name: Name) -> str:
    """What holds an installer to cockpit's own distributions: pip (which sees them) to their versions; uv
    (which does not) leaves them out, and `needs.conflicts` looks at the versions afterwards."""
    own = own_distributions()
    match name:
        case "pip":
            return "".join(f"{one}=={dist.version}\n" for one, dist in own.items())
        case "uv":
            return "".join(f'{one} ; python_version < "0"\n' for one in own)


def _run(name: Name, command: list[str], folder: str) -> None:
    try:
        ended = subprocess.run(
            command,
            cwd=folder,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=SECONDS,
            check=False,
        )
    except OSError as error:
        raise InstallFailed(f"{name} cannot be started: {error.strerror}", "install pip or uv") from error
    except subprocess.TimeoutExpired as error:
        raise InstallFailed(f"{name} did not end within {SECONDS} s", "try again") from error
    if ended.returncode != 0:
        raise InstallFailed(_failure(name, ended.stdout), _remedy(ended.stdout))


def _environment() -> Mapping[str, str]:
    """The person's environment, with their index and proxy, and without keys: a build runs code."""
    dropped = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "CONDA_PREFIX")
    return {
        key: one
        for key, one in os.environ.items()
        if key not in dropped and not key.startswith("COCKPIT_") and not key.endswith(SECRETS)
    }


def _failure(name: Name, output: str) -> str:
    lines = [line.rstrip() for line in output.splitlines() if line.strip()]
    told = [
        line for line in lines if line.startswith(TELLING) or "depends on" in line or "constraint" in line
    ]
    told = told or lines
    return f"{name} could not install it:\n  " + "\n  ".join(told[-TAIL:]) + "\nNothing was changed"


def _remedy(output: str) -> str:
    if "ResolutionImpossible" in output or "constraint" in output.lower():
        return "it wants another version than cockpit's own of a library; ask its author for a wider range"
    if "No module named" in output or "BackendUnavailable" in output:
        return "its build tools are not installed; leave --no-build-isolation out"
    if "No matching distribution" in output or "connection" in output.lower() or "not found in the" in output:
        return "check the name and the network; a folder or a wheel installs without one: --no-index"
    return "the message above is the installer's"
