"""`cockpit doctor [--json]`: what is installed, what is missing, and the command that fixes each gap.

Each check looks at one thing and changes nothing.
"""

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cockpit import __version__, paths
from cockpit.cli.command import add_options, load_catalog, print_json
from cockpit.cli.nav import language_servers
from cockpit.core.plugins.catalog import PluginCatalog
from cockpit.errors import SettingsInvalid
from cockpit.plugin.languages import Language
from cockpit.plugin.models import Model
from cockpit.settings import trust

CheckState = Literal["ok", "optional", "missing"]
AREA = "language servers"


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """A finding. `mend` is the command that fixes it, empty if nothing is wrong."""

    area: str
    name: str
    state: CheckState
    found: str
    mend: str = ""


def check_language_servers(root: str, catalog: PluginCatalog) -> Iterator[DoctorCheck]:
    """Each language server once: the first of a language that is installed, or the one that could be."""
    languages = catalog.all(Language)
    reported: set[str] = set()
    for candidate in language_servers.find_candidates(root, languages, trust.is_trusted(root) is True):
        name = candidate.server.name
        if name in reported:
            continue
        reported.add(name)
        files = f", {candidate.files} files here" if candidate.files else ""
        if candidate.state == "absent":
            mend = (
                candidate.server.install or f"install {candidate.server.command[0]} and have it on the PATH"
            )
            yield DoctorCheck(AREA, name, "optional", f"not found; for {candidate.language}{files}", mend)
        else:
            why = f"; {candidate.why}" if candidate.why else ""
            yield DoctorCheck(AREA, name, "ok", f"{candidate.program}; for {candidate.language}{files}{why}")
    yield from _check_grammars(languages)


def _check_grammars(languages: tuple[Language, ...]) -> Iterator[DoctorCheck]:
    from cockpit.navigation.index.grammars import LanguageParser

    with_grammar = [entry for entry in languages if entry.grammar]
    broken = 0
    for language in with_grammar:
        module = language.grammar.partition(":")[0]
        try:
            LanguageParser(language).grammar()
        except (ImportError, AttributeError, OSError, TypeError, ValueError) as error:
            broken += 1
            mend = f"pip install --force-reinstall {module.replace('_', '-')}"
            yield DoctorCheck(
                AREA, f"grammar {language.name}", "optional", f"{module} does not load: {error}", mend
            )
    if with_grammar:
        yield DoctorCheck(AREA, "grammars", "ok", f"{len(with_grammar) - broken} of {len(with_grammar)} load")


# Package names by package manager.
PACKAGES: Mapping[str, Mapping[str, str]] = {
    "apt-get": {"rg": "ripgrep", "bwrap": "bubblewrap", "git": "git", "clangd": "clangd", "xclip": "xclip"},
    "brew": {"rg": "ripgrep", "git": "git", "clangd": "llvm"},
    "dnf": {"rg": "ripgrep", "bwrap": "bubblewrap", "git": "git", "clangd": "clang-tools-extra"},
    "pacman": {"rg": "ripgrep", "bwrap": "bubblewrap", "git": "git", "clangd": "clang"},
    "winget": {"rg": "BurntSushi.ripgrep.MSVC", "git": "Git.Git", "clangd": "LLVM.LLVM"},
}
INSTALL_COMMANDS = {
    "apt-get": "sudo apt-get install -y",
    "brew": "brew install",
    "dnf": "sudo dnf install -y",
    "pacman": "sudo pacman -S --noconfirm",
    "winget": "winget install",
}


def run_checks() -> tuple[DoctorCheck, ...]:
    """All checks, in the order they are printed."""
    root = str(Path.cwd())
    catalog: PluginCatalog | None = None
    broken: tuple[DoctorCheck, ...] = ()
    try:
        catalog = load_catalog(root)
    except SettingsInvalid as error:
        broken = (DoctorCheck("this folder", "settings file", "missing", error.message, error.hint),)
    return (
        *_check_python(),
        *_check_terminal(os.environ),
        *_check_programs(),
        *_check_sandbox(),
        *(check_language_servers(root, catalog) if catalog is not None else ()),
        *_check_folder(),
        *broken,
        *(_check_plugins_and_keys(catalog) if catalog is not None else ()),
    )


def find_install_command(program: str, which: Callable[[str], str | None] = shutil.which) -> str:
    """The command that installs `program` here, or an empty string if no package manager is known."""
    for tool, names in PACKAGES.items():
        if program in names and which(tool):
            return f"{INSTALL_COMMANDS[tool]} {names[program]}"
    return ""


def _check_python() -> Iterator[DoctorCheck]:
    version = platform.python_version()
    is_new = sys.version_info >= (3, 11)
    mend = "" if is_new else "install Python 3.11 or newer"
    yield DoctorCheck("cockpit", "cockpit", "ok", f"{__version__} in {Path(sys.prefix)}")
    yield DoctorCheck(
        "cockpit", "python", "ok" if is_new else "missing", f"{version} on {platform.system()}", mend
    )


def _check_terminal(environment: Mapping[str, str]) -> Iterator[DoctorCheck]:
    columns, lines = shutil.get_terminal_size()
    colours = detect_colour_depth(environment)
    wide: CheckState = "ok" if columns >= 60 and lines >= 16 else "optional"
    yield DoctorCheck(
        "terminal", "size", wide, f"{columns} x {lines}", "" if wide == "ok" else "make it 60 x 16 or larger"
    )
    mend = "" if colours == "true colour" else "export COLORTERM=truecolor, if your terminal supports it"
    yield DoctorCheck("terminal", "colours", "ok" if not mend else "optional", colours, mend)
    kitty = environment.get("TERM_PROGRAM", environment.get("TERM", "?"))
    yield DoctorCheck("terminal", "keys", "ok", f"{kitty}; Ctrl+J breaks a line where Shift+Enter cannot")
    yield _check_clipboard(environment)


def detect_colour_depth(environment: Mapping[str, str]) -> str:
    if environment.get("NO_COLOR"):
        return "off (NO_COLOR)"
    if environment.get("COLORTERM", "") in ("truecolor", "24bit") or environment.get("WT_SESSION"):
        return "true colour"
    return "256 colours" if "256" in environment.get("TERM", "") else "16 colours"


def _check_clipboard(environment: Mapping[str, str]) -> DoctorCheck:
    tools = ("pbcopy", "wl-copy", "xclip", "xsel", "clip.exe", "clip")
    program = next((tool for tool in tools if shutil.which(tool)), "")
    if program:
        return DoctorCheck("terminal", "clipboard", "ok", program)
    text = "OSC 52 only (the terminal must allow it)"
    if environment.get("TMUX"):
        return DoctorCheck("terminal", "clipboard", "optional", text, "tmux set -g set-clipboard on")
    return DoctorCheck("terminal", "clipboard", "optional", text, find_install_command("xclip"))


def _check_programs() -> Iterator[DoctorCheck]:
    yield _check_program("programs", "git", "missing", "required to show changes and to work safely")
    yield _check_program("programs", "rg", "optional", "without it search is done in Python")


def _check_program(area: str, name: str, absent: CheckState, why: str) -> DoctorCheck:
    if shutil.which(name) is None:
        return DoctorCheck(area, name, absent, f"not found; {why}", find_install_command(name))
    return DoctorCheck(area, name, "ok", _read_version(name))


def _read_version(name: str) -> str:
    try:
        ended = subprocess.run((name, "--version"), capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"found, but it does not respond: {error}"
    return (ended.stdout or ended.stderr).strip().split("\n")[0][:60]


def _check_sandbox() -> Iterator[DoctorCheck]:
    """The sandbox level that really works: tried in the same way as a session tries it."""
    from cockpit.workspace.sandbox.probe import probe_sandbox

    probed = probe_sandbox()
    isolation = probed.isolation
    if probed.features is not None:
        yield DoctorCheck("sandbox", "isolation", "ok", f"full: {_read_version(probed.features.program)}")
        return
    mend = next(iter(re.findall(r"`([^`]+)`", isolation.reason)), "")
    level = "partial: Landlock restricts only files and TCP" if isolation.level == "partial" else "none"
    yield DoctorCheck("sandbox", "isolation", "optional", f"{level}; {isolation.reason}", mend)


def _check_folder() -> Iterator[DoctorCheck]:
    root = str(Path.cwd())
    answer = trust.is_trusted(root)
    words = {True: "trusted", False: "not trusted: its settings are ignored", None: "not decided yet"}
    yield DoctorCheck(
        "this folder",
        "trust",
        "ok" if answer else "optional",
        words[answer],
        "" if answer else "cockpit --trust",
    )
    for name, folder in (("settings", paths.config()), ("sessions", paths.state())):
        good = _is_writable(folder)
        mend = "" if good else f"mkdir -p '{folder}' && chmod u+rwx '{folder}'"
        yield DoctorCheck("this folder", name, "ok" if good else "missing", str(folder), mend)


def _is_writable(folder: Path) -> bool:
    while not folder.exists():
        folder = folder.parent
    return os.access(folder, os.W_OK)


def _check_plugins_and_keys(catalog: PluginCatalog) -> Iterator[DoctorCheck]:
    remote = [
        model for model in catalog.all(Model) if not model.local and model.name not in ("offline", "scripted")
    ]
    ready = [model.name for model in remote if not model.ready()]
    if ready:
        yield DoctorCheck("models", "keys", "ok", ", ".join(ready))
    else:
        yield DoctorCheck("models", "keys", "optional", "none; the offline model is used", "cockpit connect")
    broken = [entry.found for entry in catalog.plugins if entry.found.state == "failed"]
    yield DoctorCheck(
        "plugins", "loaded", "ok", f"{len(catalog.plugins) - len(broken)} of {len(catalog.plugins)}"
    )
    for plugin in broken:
        mend = f"cockpit plugins doctor {plugin.name}"
        if plugin.is_ours:
            mend = "pip install --force-reinstall cockpit-agent"
        yield DoctorCheck("plugins", plugin.name, "missing", plugin.reason, mend)


STATE_LABELS = {"ok": "ok  ", "optional": "-   ", "missing": "MISS"}


def main(argv: Sequence[str]) -> int:
    """Exit code 0 if nothing required is missing, else 1."""
    parser = argparse.ArgumentParser(
        prog="cockpit doctor", description="Check the installation and show how to fix what is missing."
    )
    add_options(parser, "json")
    args = parser.parse_args(list(argv))
    checks = run_checks()
    if args.json:
        print_json([_encode_check(entry) for entry in checks])
    else:
        _print_checks(checks)
    return 1 if any(item.state == "missing" for item in checks) else 0


def _encode_check(check: DoctorCheck) -> dict[str, str]:
    return {
        "area": check.area,
        "name": check.name,
        "state": check.state,
        "found": check.found,
        "mend": check.mend,
    }


def _print_checks(checks: tuple[DoctorCheck, ...]) -> None:
    area = ""
    for check in checks:
        if check.area != area:
            area = check.area
            print(f"\n{area}")
        mend = f"   -> {check.mend}" if check.mend else ""
        print(f"  {STATE_LABELS[check.state]} {check.name:22} {check.found}{mend}")
