"""The checks of `cockpit doctor`. Each looks at one thing and changes nothing."""

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from cockpit import __version__, paths
from cockpit.cli.catalogs import catalog_of
from cockpit.cli.checks_of_code import Check, State, checks_of_code
from cockpit.core.catalog import Catalog
from cockpit.errors import SettingsInvalid
from cockpit.plugin.models import Model
from cockpit.settings import trust

# What installs a program, by the package tool that is there.
INSTALL: Mapping[str, Mapping[str, str]] = {
    "apt-get": {"rg": "ripgrep", "bwrap": "bubblewrap", "git": "git", "clangd": "clangd", "xclip": "xclip"},
    "brew": {"rg": "ripgrep", "git": "git", "clangd": "llvm"},
    "dnf": {"rg": "ripgrep", "bwrap": "bubblewrap", "git": "git", "clangd": "clang-tools-extra"},
    "pacman": {"rg": "ripgrep", "bwrap": "bubblewrap", "git": "git", "clangd": "clang"},
    "winget": {"rg": "BurntSushi.ripgrep.MSVC", "git": "Git.Git", "clangd": "LLVM.LLVM"},
}
VERBS = {
    "apt-get": "sudo apt-get install -y",
    "brew": "brew install",
    "dnf": "sudo dnf install -y",
    "pacman": "sudo pacman -S --noconfirm",
    "winget": "winget install",
}


def checks() -> tuple[Check, ...]:
    """Everything, in the order it is shown."""
    root = str(Path.cwd())
    catalog: Catalog | None = None
    broken: tuple[Check, ...] = ()
    try:
        catalog = catalog_of(root)
    except SettingsInvalid as error:
        broken = (Check("this folder", "settings file", "missing", error.message, error.hint),)
    return (
        *_python(),
        *_terminal(os.environ),
        *_programs(),
        *_sandbox(),
        *(checks_of_code(root, catalog) if catalog is not None else ()),
        *_folder(),
        *broken,
        *(_plugins_and_keys(catalog) if catalog is not None else ()),
    )


def install(program: str, which: Callable[[str], str | None] = shutil.which) -> str:
    """The command that installs `program` here, or empty where no package tool is known."""
    for tool, names in INSTALL.items():
        if program in names and which(tool):
            return f"{VERBS[tool]} {names[program]}"
    return ""


def _python() -> Iterator[Check]:
    version = platform.python_version()
    is_new = sys.version_info >= (3, 11)
    mend = "" if is_new else "install Python 3.11 or newer"
    yield Check("cockpit", "cockpit", "ok", f"{__version__} in {Path(sys.prefix)}")
    yield Check("cockpit", "python", "ok" if is_new else "missing", f"{version} on {platform.system()}", mend)


def _terminal(environment: Mapping[str, str]) -> Iterator[Check]:
    columns, lines = shutil.get_terminal_size()
    colours = colour_depth(environment)
    wide: State = "ok" if columns >= 60 and lines >= 16 else "optional"
    yield Check(
        "terminal", "size", wide, f"{columns} x {lines}", "" if wide == "ok" else "make it 60 x 16 or larger"
    )
    mend = "" if colours == "true colour" else "export COLORTERM=truecolor, where your terminal can"
    yield Check("terminal", "colours", "ok" if not mend else "optional", colours, mend)
    kitty = environment.get("TERM_PROGRAM", environment.get("TERM", "?"))
    yield Check("terminal", "keys", "ok", f"{kitty}; Ctrl+J breaks a line where Shift+Enter cannot")
    yield _clipboard(environment)


def colour_depth(environment: Mapping[str, str]) -> str:
    if environment.get("NO_COLOR"):
        return "off (NO_COLOR)"
    if environment.get("COLORTERM", "") in ("truecolor", "24bit") or environment.get("WT_SESSION"):
        return "true colour"
    return "256 colours" if "256" in environment.get("TERM", "") else "16 colours"


def _clipboard(environment: Mapping[str, str]) -> Check:
    tools = ("pbcopy", "wl-copy", "xclip", "xsel", "clip.exe", "clip")
    found = next((tool for tool in tools if shutil.which(tool)), "")
    if found:
        return Check("terminal", "clipboard", "ok", found)
    text = "OSC 52 only (the terminal must allow it)"
    if environment.get("TMUX"):
        return Check("terminal", "clipboard", "optional", text, "tmux set -g set-clipboard on")
    return Check("terminal", "clipboard", "optional", text, install("xclip"))


def _programs() -> Iterator[Check]:
    yield _program("programs", "git", "missing", "needed for what changed and for safe work")
    yield _program("programs", "rg", "optional", "search uses Python without it")


def _program(area: str, name: str, absent: State, why: str) -> Check:
    if shutil.which(name) is None:
        return Check(area, name, absent, f"not found; {why}", install(name))
    return Check(area, name, "ok", _version(name))


def _version(name: str) -> str:
    try:
        ended = subprocess.run((name, "--version"), capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"found, but it does not answer: {error}"
    return (ended.stdout or ended.stderr).strip().split("\n")[0][:60]


def _sandbox() -> Iterator[Check]:
    """What really holds: tried, as a session tries it."""
    from cockpit.workspace.sandbox.probing import probe

    probed = probe()
    held = probed.isolation
    if probed.features is not None:
        yield Check("sandbox", "isolation", "ok", f"full: {_version(probed.features.program)}")
        return
    mend = next(iter(re.findall(r"`([^`]+)`", held.reason)), "")
    said = "partial: Landlock holds files and TCP only" if held.level == "partial" else "none"
    yield Check("sandbox", "isolation", "optional", f"{said}; {held.reason}", mend)


def _folder() -> Iterator[Check]:
    root = str(Path.cwd())
    answer = trust.is_trusted(root)
    words = {True: "trusted", False: "not trusted: its settings are ignored", None: "nobody was asked yet"}
    yield Check(
        "this folder",
        "trust",
        "ok" if answer else "optional",
        words[answer],
        "" if answer else "cockpit --trust",
    )
    for name, folder in (("settings", paths.config()), ("sessions", paths.state())):
        good = _is_writable(folder)
        mend = "" if good else f"mkdir -p '{folder}' && chmod u+rwx '{folder}'"
        yield Check("this folder", name, "ok" if good else "missing", str(folder), mend)


def _is_writable(folder: Path) -> bool:
    while not folder.exists():
        folder = folder.parent
    return os.access(folder, os.W_OK)


def _plugins_and_keys(catalog: Catalog) -> Iterator[Check]:
    remote = [
        model for model in catalog.all(Model) if not model.local and model.name not in ("offline", "scripted")
    ]
    ready = [model.name for model in remote if not model.ready()]
    if ready:
        yield Check("models", "keys", "ok", ", ".join(ready))
    else:
        yield Check("models", "keys", "optional", "none; the offline model answers", "cockpit connect")
    broken = [one.found for one in catalog.plugins if one.found.state == "failed"]
    yield Check("plugins", "loaded", "ok", f"{len(catalog.plugins) - len(broken)} of {len(catalog.plugins)}")
    for plugin in broken:
        mend = f"cockpit plugins doctor {plugin.name}"
        if plugin.is_ours:
            mend = "pip install --force-reinstall cockpit-agent"
        yield Check("plugins", plugin.name, "missing", plugin.reason, mend)
