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
from dataclasses import asdict, dataclass
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
    """The result of a check. `fix` is the command that fixes it, empty if nothing is wrong."""

    area: str
    name: str
    state: CheckState
    found: str
    fix: str = ""


def check_language_servers(root: str, catalog: PluginCatalog) -> Iterator[DoctorCheck]:
    """One result for each language server: the first of a language that is installed, or could be."""
    languages = catalog.all(Language)
    reported: set[str] = set()
    for candidate in language_servers.find_candidates(root, languages, trust.is_trusted(root) is True):
        name = candidate.server.name
        if name in reported:
            continue
        reported.add(name)
        files = f", {candidate.files} files here" if candidate.files else ""
        if candidate.state == "absent":
            fix = candidate.server.install or f"install {candidate.server.command[0]} in a folder of PATH"
            yield DoctorCheck(AREA, name, "optional", f"not found; for {candidate.language}{files}", fix)
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
            name, fix = (
                f"grammar {language.name}",
                f"pip install --force-reinstall {module.replace('_', '-')}",
            )
            yield DoctorCheck(AREA, name, "optional", f"{module} does not load: {error}", fix)
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
    yield DoctorCheck("cockpit", "cockpit", "ok", f"{__version__} in {Path(sys.prefix)}")
    version = f"{platform.python_version()} on {platform.system()}"
    is_new = sys.version_info >= (3, 11)
    fix = "" if is_new else "install Python 3.11 or newer"
    yield DoctorCheck("cockpit", "python", "ok" if is_new else "missing", version, fix)


def _check_terminal(environment: Mapping[str, str]) -> Iterator[DoctorCheck]:
    columns, lines = shutil.get_terminal_size()
    colours = detect_colour_depth(environment)
    fix = "" if columns >= 60 and lines >= 16 else "make it 60 x 16 or larger"
    yield DoctorCheck("terminal", "size", "optional" if fix else "ok", f"{columns} x {lines}", fix)
    fix = "" if colours == "true colour" else "export COLORTERM=truecolor, if your terminal supports it"
    yield DoctorCheck("terminal", "colours", "optional" if fix else "ok", colours, fix)
    terminal = environment.get("TERM_PROGRAM", environment.get("TERM", "?"))
    keys = f"{terminal}; where Shift+Enter does not break the line, Ctrl+J does"
    yield DoctorCheck("terminal", "keys", "ok", keys)
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
    yield _check_program("git", "missing", "required to show changes and to work safely")
    yield _check_program("rg", "optional", "without it, cockpit searches in Python, which is slower")


def _check_program(name: str, absent: CheckState, why: str) -> DoctorCheck:
    if shutil.which(name) is None:
        return DoctorCheck("programs", name, absent, f"not found; {why}", find_install_command(name))
    return DoctorCheck("programs", name, "ok", _read_version(name))


def _read_version(name: str) -> str:
    try:
        completed = subprocess.run(
            (name, "--version"), capture_output=True, text=True, timeout=5, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"installed, but does not respond: {error}"
    return (completed.stdout or completed.stderr).strip().split("\n")[0][:60]


def _check_sandbox() -> Iterator[DoctorCheck]:
    """The sandbox level that works here, probed in the same way as a session does."""
    from cockpit.workspace.sandbox.probe import probe_sandbox

    probed = probe_sandbox()
    if probed.features is not None:
        yield DoctorCheck("sandbox", "isolation", "ok", f"full: {_read_version(probed.features.program)}")
        return
    reason = probed.isolation.reason
    command = re.search(r"`([^`]+)`", reason)
    level = (
        "partial: Landlock restricts only files and TCP" if probed.isolation.level == "partial" else "none"
    )
    yield DoctorCheck("sandbox", "isolation", "optional", f"{level}; {reason}", command[1] if command else "")


def _check_folder() -> Iterator[DoctorCheck]:
    root = str(Path.cwd())
    answer = trust.is_trusted(root)
    words = {True: "trusted", False: "not trusted: its settings are ignored", None: "not decided yet"}
    fix = "" if answer else "cockpit --trust"
    yield DoctorCheck("this folder", "trust", "optional" if fix else "ok", words[answer], fix)
    for name, folder in (("settings", paths.config()), ("sessions", paths.state())):
        fix = "" if _is_writable(folder) else f"mkdir -p '{folder}' && chmod u+rwx '{folder}'"
        yield DoctorCheck("this folder", name, "missing" if fix else "ok", str(folder), fix)


def _is_writable(folder: Path) -> bool:
    while not folder.exists():
        folder = folder.parent
    return os.access(folder, os.W_OK)


def _check_plugins_and_keys(catalog: PluginCatalog) -> Iterator[DoctorCheck]:
    remote = [model for model in catalog.all(Model) if not model.local]
    ready = [
        model.name for model in remote if model.name not in ("offline", "scripted") and not model.ready()
    ]
    if ready:
        yield DoctorCheck("models", "keys", "ok", ", ".join(ready))
    else:
        yield DoctorCheck("models", "keys", "optional", "none; the offline model is used", "cockpit connect")
    total = len(catalog.plugins)
    broken = [entry.found for entry in catalog.plugins if entry.found.state == "failed"]
    yield DoctorCheck("plugins", "loaded", "ok", f"{total - len(broken)} of {total}")
    for plugin in broken:
        ours = "pip install --force-reinstall cockpit-agent"
        fix = ours if plugin.is_ours else f"cockpit plugins doctor {plugin.name}"
        yield DoctorCheck("plugins", plugin.name, "missing", plugin.reason, fix)


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
        print_json([asdict(check) for check in checks])
    else:
        _print_checks(checks)
    return 1 if any(check.state == "missing" for check in checks) else 0


def _print_checks(checks: tuple[DoctorCheck, ...]) -> None:
    area = ""
    for check in checks:
        if check.area != area:
            area = check.area
            print(f"\n{area}")
        fix = f"   -> {check.fix}" if check.fix else ""
        print(f"  {STATE_LABELS[check.state]} {check.name:22} {check.found}{fix}")
