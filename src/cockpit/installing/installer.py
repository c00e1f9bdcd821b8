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
from cockpit.installing.environment import StagedEnvironment, find_own_distributions
from cockpit.installing.sources import PluginSource

InstallerName = Literal["pip", "uv"]
INSTALL_SECONDS = 1800
MAX_ERROR_LINES = 12
# How the lines begin that say why.
ERROR_PREFIXES = ("ERROR", "error", "  cause", "  ╰", "  ×", "  Because", "hint")
SECRET_SUFFIXES = ("_API_KEY", "_SECRET", "_SECRET_KEY")


@dataclass(frozen=True, slots=True)
class InstallOptions:
    """How to install. `installer` empty takes pip where it is there, else uv. Without `index` nothing is
    fetched; without `isolation` a folder is built with the build tools that are installed."""

    installer: InstallerName | Literal[""] = ""
    index: bool = True
    isolation: bool = True
    upgrade: bool = False


class InstallFailed(CockpitError):
    """The installer could not; nothing is changed."""


def install_packages(
    staged: StagedEnvironment, sources: Sequence[PluginSource], wishes: InstallOptions
) -> InstallerName:
    """Put `sources` and what they need into `staged`; who did it. Raises `InstallFailed`."""
    name, program = _find_program(staged, wishes.installer)
    with tempfile.TemporaryDirectory(prefix="cockpit-") as folder:
        held = Path(folder) / "own.txt"
        given = _build_arguments(name, staged, held, wishes)
        held.write_text(_build_constraints(name), encoding="utf-8")
        for source in sources:
            given += ["--editable", source.place] if source.kind == "editable" else [source.place]
        _run_installer(name, [*program, *given], folder)
    return name


def _find_program(staged: StagedEnvironment, wanted: str) -> tuple[InstallerName, list[str]]:
    finders: dict[InstallerName, Callable[[StagedEnvironment], list[str]]] = {
        "pip": _find_pip,
        "uv": _find_uv,
    }
    for name, find in finders.items():
        if wanted in ("", name) and (program := find(staged)):
            return name, program
    missing = wanted or "neither pip nor uv"
    raise InstallFailed(f"{missing} is not there" if wanted else f"{missing} is there", "install pip or uv")


def _find_pip(staged: StagedEnvironment) -> list[str]:
    """pip of cockpit's environment, or the one that Python carries with it."""
    if find_spec("pip") is not None:
        return [staged.python, "-m", "pip"]
    carried = find_spec("ensurepip")
    folder = Path(carried.origin).parent / "_bundled" if carried is not None and carried.origin else None
    wheels = sorted(folder.glob("pip-*.whl")) if folder is not None and folder.is_dir() else []
    # A wheel is a zip that can be imported from.
    return [staged.python, str(wheels[-1] / "pip")] if wheels else []


def _find_uv(staged: StagedEnvironment) -> list[str]:
    beside = Path(sys.executable).with_name("uv.exe" if os.name == "nt" else "uv")
    found = str(beside) if beside.is_file() else shutil.which("uv")
    return [found] if found else []


def _build_arguments(
    name: InstallerName, staged: StagedEnvironment, held: Path, wishes: InstallOptions
) -> list[str]:
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


def _build_constraints(name: InstallerName) -> str:
    """What holds an installer to cockpit's own distributions: pip (which sees them) to their versions; uv
    (which does not) leaves them out, and `needs.conflicts` looks at the versions afterwards."""
    own = find_own_distributions()
    match name:
        case "pip":
            return "".join(f"{value}=={dist.version}\n" for value, dist in own.items())
        case "uv":
            return "".join(f'{item} ; python_version < "0"\n' for item in own)


def _run_installer(name: InstallerName, command: list[str], folder: str) -> None:
    try:
        ended = subprocess.run(
            command,
            cwd=folder,
            env=_build_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=INSTALL_SECONDS,
            check=False,
        )
    except OSError as error:
        raise InstallFailed(f"{name} cannot be started: {error.strerror}", "install pip or uv") from error
    except subprocess.TimeoutExpired as error:
        raise InstallFailed(f"{name} did not end within {INSTALL_SECONDS} s", "try again") from error
    if ended.returncode != 0:
        raise InstallFailed(_format_failure(name, ended.stdout), _suggest_remedy(ended.stdout))


def _build_environment() -> Mapping[str, str]:
    """The person's environment, with their index and proxy, and without keys: a build runs code."""
    dropped = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "CONDA_PREFIX")
    return {
        key: value
        for key, value in os.environ.items()
        if key not in dropped and not key.startswith("COCKPIT_") and not key.endswith(SECRET_SUFFIXES)
    }


def _format_failure(name: InstallerName, output: str) -> str:
    lines = [line.rstrip() for line in output.splitlines() if line.strip()]
    told = [
        line
        for line in lines
        if line.startswith(ERROR_PREFIXES) or "depends on" in line or "constraint" in line
    ]
    told = told or lines
    return (
        f"{name} could not install it:\n  " + "\n  ".join(told[-MAX_ERROR_LINES:]) + "\nNothing was changed"
    )


def _suggest_remedy(output: str) -> str:
    if "ResolutionImpossible" in output or "constraint" in output.lower():
        return "it wants another version than cockpit's own of a library; ask its author for a wider range"
    if "No module named" in output or "BackendUnavailable" in output:
        return "its build tools are not installed; leave --no-build-isolation out"
    if "No matching distribution" in output or "connection" in output.lower() or "not found in the" in output:
        return "check the name and the network; a folder or a wheel installs without one: --no-index"
    return "the message above is the installer's"
