"""Installs distributions into a staged generation: with uv if it is present, else with `pip install
--target`.

Both resolve against the distributions cockpit itself consists of, so that a plugin can neither replace nor
duplicate them. The result is not inspected here.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from cockpit.errors import CockpitError
from cockpit.installing.environment import (
    StagedEnvironment,
    find_own_distributions,
    normalize_name,
    remove_distributions,
)
from cockpit.installing.sources import PluginSource

InstallerName = Literal["uv", "pip"]
INSTALL_SECONDS = 1800
MAX_ERROR_LINES = 12
# Prefixes of the output lines that say why an installation failed.
ERROR_PREFIXES = ("ERROR", "error", "  cause", "  ╰", "  ×", "  Because", "hint")
SECRET_SUFFIXES = ("_API_KEY", "_SECRET", "_SECRET_KEY")


@dataclass(frozen=True, slots=True)
class InstallOptions:
    """How to install. An empty `installer` means uv if present, else pip. Without `index` nothing is fetched;
    without `isolation` a folder is built with the build tools that are installed."""

    installer: InstallerName | Literal[""] = ""
    index: bool = True
    isolation: bool = True
    upgrade: bool = False


class InstallFailed(CockpitError):
    """The installer failed; nothing was changed."""


def install_packages(
    staged: StagedEnvironment, sources: Sequence[PluginSource], options: InstallOptions
) -> InstallerName:
    """Install `sources` and what they need into `staged` and return the installer used.

    Raises `InstallFailed`.
    """
    name, program = _find_program(options.installer)
    if name == "uv":
        _install_with_uv(program, staged, sources, options)
    else:
        _install_with_pip(program, staged, sources, options)
    return name


def _find_program(requested: str) -> tuple[InstallerName, list[str]]:
    if requested != "pip" and (program := _find_uv()):
        return "uv", program
    if requested != "uv" and (program := _find_pip()):
        return "pip", program
    raise InstallFailed(f"{requested or 'neither uv nor pip'} is not installed", "install uv or pip")


def _find_uv() -> list[str]:
    beside = Path(sys.executable).with_name("uv.exe" if os.name == "nt" else "uv")
    program = str(beside) if beside.is_file() else shutil.which("uv")
    return [program] if program else []


def _find_pip() -> list[str]:
    """pip of cockpit's environment, or the wheel bundled with Python's `ensurepip`."""
    if find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    bundled = find_spec("ensurepip")
    folder = Path(bundled.origin).parent / "_bundled" if bundled is not None and bundled.origin else None
    wheels = sorted(folder.glob("pip-*.whl")) if folder is not None and folder.is_dir() else []
    # A wheel is a zip archive that Python can run from.
    return [sys.executable, str(wheels[-1] / "pip")] if wheels else []


def _install_with_uv(
    program: list[str], staged: StagedEnvironment, sources: Sequence[PluginSource], options: InstallOptions
) -> None:
    """Install with uv, which does not see cockpit's own distributions when it has a target folder: overrides
    make it leave them out, and `environment.find_conflicts` compares their versions afterwards."""
    with tempfile.TemporaryDirectory(prefix="cockpit-") as folder:
        overrides = Path(folder) / "own.txt"
        own = "".join(f'{name} ; python_version < "0"\n' for name in find_own_distributions())
        overrides.write_text(own, encoding="utf-8")
        command = [*program, "pip", "install", "--quiet", "--python", sys.executable]
        command += ["--target", str(staged.site), "--override", str(overrides), *_common_arguments(options)]
        command += ["--upgrade"] if options.upgrade else []
        _run_installer("uv", [*command, *_source_arguments(sources)], folder)


def _install_with_pip(
    program: list[str], staged: StagedEnvironment, sources: Sequence[PluginSource], options: InstallOptions
) -> None:
    """Install with pip. `--target` makes pip ignore what is installed, so it runs twice: it first resolves
    against cockpit's own distributions and the staged ones, then installs exactly that selection."""
    with tempfile.TemporaryDirectory(prefix="cockpit-") as folder:
        constraints, report = Path(folder) / "own.txt", Path(folder) / "report.json"
        own = "".join(f"{name}=={dist.version}\n" for name, dist in find_own_distributions().items())
        constraints.write_text(own, encoding="utf-8")
        command = [*program, "--disable-pip-version-check", "--no-input", "install", "--progress-bar=off"]
        command += ["--no-warn-script-location", *_common_arguments(options)]
        resolve = [*command, "--dry-run", "--report", str(report)]
        resolve += ["--constraint", str(constraints), *(["--upgrade"] if options.upgrade else [])]
        path = {"PYTHONPATH": str(staged.site)}
        _run_installer("pip", [*resolve, *_source_arguments(sources)], folder, path)
        selected = json.loads(report.read_bytes())["install"]
        if not selected:
            return
        names = {normalize_name(item["metadata"]["name"]) for item in selected}
        remove_distributions(staged, names)
        direct = [source for source in sources if source.kind != "index"]
        pinned = [
            f"{item['metadata']['name']}=={item['metadata']['version']}"
            for item in selected
            if not item["is_direct"]
        ]
        command += ["--no-deps", "--target", str(staged.site), *_source_arguments(direct), *pinned]
        _run_installer("pip", command, folder)


def _common_arguments(options: InstallOptions) -> list[str]:
    index = [] if options.index else ["--no-index"]
    return index + ([] if options.isolation else ["--no-build-isolation"])


def _source_arguments(sources: Sequence[PluginSource]) -> list[str]:
    arguments: list[str] = []
    for source in sources:
        arguments += ["--editable", source.place] if source.kind == "editable" else [source.place]
    return arguments


def _run_installer(
    name: InstallerName, command: list[str], folder: str, variables: Mapping[str, str] | None = None
) -> None:
    try:
        process = subprocess.run(
            command,
            cwd=folder,
            env={**_build_environment(), **(variables or {})},
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
        raise InstallFailed(f"{name} did not finish within {INSTALL_SECONDS} s", "try again") from error
    if process.returncode != 0:
        raise InstallFailed(_format_failure(name, process.stdout), _suggest_remedy(process.stdout))


def _build_environment() -> Mapping[str, str]:
    """The user's environment with their index and proxy settings, but without API keys: a build runs code."""
    removed = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "CONDA_PREFIX")
    return {
        key: value
        for key, value in os.environ.items()
        if key not in removed and not key.startswith("COCKPIT_") and not key.endswith(SECRET_SUFFIXES)
    }


def _format_failure(name: InstallerName, output: str) -> str:
    lines = [line.rstrip() for line in output.splitlines() if line.strip()]
    reasons = [
        line
        for line in lines
        if line.startswith(ERROR_PREFIXES) or "depends on" in line or "constraint" in line
    ]
    reasons = reasons or lines
    return (
        f"{name} could not install it:\n  "
        + "\n  ".join(reasons[-MAX_ERROR_LINES:])
        + "\nNothing was changed"
    )


def _suggest_remedy(output: str) -> str:
    if "ResolutionImpossible" in output or "constraint" in output.lower():
        return "it needs another version of a library than cockpit's own; ask its author for a wider range"
    if "No module named" in output or "BackendUnavailable" in output:
        return "its build tools are not installed; omit --no-build-isolation"
    if "No matching distribution" in output or "connection" in output.lower() or "not found in the" in output:
        return "check the name and the network; a folder or a wheel installs offline with --no-index"
    return "the message above comes from the installer"
