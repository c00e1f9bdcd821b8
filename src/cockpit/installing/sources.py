"""Parses what the user asks to install: a name in the index, a folder, an archive or a git address.

Installs nothing: text becomes a `PluginSource`, and a git address becomes a cloned folder.
"""

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, replace
from importlib.metadata import Distribution
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit
from urllib.request import url2pathname

from cockpit.errors import CockpitError
from cockpit.workspace.safe_git import config_options

SourceKind = Literal["index", "folder", "editable", "archive", "git"]
ARCHIVE_SUFFIXES = (".whl", ".tar.gz", ".zip")
FETCH_SECONDS = 300
# A repository must not run anything while it is cloned.
SAFE_GIT_SETTINGS = {"core.hooksPath": "/dev/null", "protocol.ext.allow": "never", "core.fsmonitor": "false"}


@dataclass(frozen=True, slots=True)
class PluginSource:
    """What to install. `named` is the user's text made absolute, so that it can be installed again from any
    folder; `place` is what an installer gets (a requirement, file or folder); `revision` is a git commit."""

    kind: SourceKind
    named: str
    place: str
    revision: str = ""


def parse_source(text: str, editable: bool = False) -> PluginSource:
    """The source that `text` describes. Raises `CockpitError` if it is not something installable."""
    text = text.strip()
    if not text or text.startswith("-"):
        raise CockpitError(f"{text!r} is not a plugin source", "pass a name, a path or git+URL")
    if text.startswith(("git+", "git@")) or re.match(r"(https?|ssh)://.*\.git(@|#|$)", text):
        return PluginSource("git", text if text.startswith("git+") else _normalize_git_address(text), "")
    if re.match(r"[a-z][a-z0-9+.-]*://", text):
        if not text.partition("#")[0].endswith(ARCHIVE_SUFFIXES):
            raise CockpitError(f"{text} is not an archive", f"for a repository write git+{text}")
        return PluginSource("archive", text, text)
    path = Path(text).expanduser()
    if " @ " in text:
        return _parse_requirement(text)
    if path.name != text or text in (".", "..") or text.endswith(ARCHIVE_SUFFIXES) or editable:
        return _parse_local(path, editable)
    return _parse_requirement(text)


def is_bundle(folder: str | Path) -> bool:
    """Whether a folder is a Claude Code plugin: definition files, no Python."""
    return (Path(folder) / ".claude-plugin" / "plugin.json").is_file()


def is_project(folder: str | Path) -> bool:
    """Whether a folder holds a Python distribution."""
    return any((Path(folder) / name).is_file() for name in ("pyproject.toml", "setup.py"))


def fetch_source(source: PluginSource, into: Path) -> PluginSource:
    """`source` with a place that an installer accepts; a git address is cloned. Raises `CockpitError`."""
    if source.kind != "git":
        return source
    folder, revision = clone_repository(source.named, into)
    if not (is_project(folder) or is_bundle(folder)):
        reason = f"{source.named} holds neither a Python distribution nor a plugin bundle"
        raise CockpitError(reason, "name the plugin's folder with git+URL#subdirectory=FOLDER")
    return replace(source, place=str(folder), revision=revision)


def clone_repository(named: str, into: Path) -> tuple[Path, str]:
    """Clone a git address into `into`; return the folder it means and its commit. Raises `CockpitError`."""
    git = shutil.which("git")
    if git is None:
        reason = "git is not installed"
        raise CockpitError(reason, "install git, or download the repository and pass its folder")
    url, reference, subfolder = split_git_address(named)
    if url.startswith("-") or reference.startswith("-"):
        raise CockpitError(f"{named} is not a git address", "write git+https://host/owner/repository")
    shallow = () if reference else ("--depth", "1")
    _run_git(
        git, "clone", "--quiet", "--no-recurse-submodules", "--template=", *shallow, "--", url, str(into)
    )
    if reference:
        _run_git(git, "-C", str(into), "checkout", "--quiet", "--detach", reference)
    revision = _run_git(git, "-C", str(into), "rev-parse", "HEAD").strip()
    folder = (into / subfolder).resolve()
    if not folder.is_relative_to(into.resolve()) or not folder.is_dir():
        raise CockpitError(f"{named} has no folder {subfolder}", "fix the path after #subdirectory=")
    return folder, revision


def is_built_from(distribution: Distribution, source: PluginSource) -> bool:
    """Whether an installed distribution came from `source`, according to its `direct_url.json`."""
    try:
        note = json.loads(distribution.read_text("direct_url.json") or "{}")
    except ValueError:
        return False
    url = note.get("url", "") if isinstance(note, dict) else ""
    if not url.startswith("file:"):
        return bool(url) and url == source.place.partition("#")[0]
    return Path(url2pathname(urlsplit(url).path)).resolve() == Path(source.place).resolve()


def split_git_address(named: str) -> tuple[str, str, str]:
    """Split `git+URL@reference#subdirectory=folder` into URL, reference and folder."""
    address, _, fragment = named.removeprefix("git+").partition("#")
    subdirectory = re.search(r"(?:^|&)subdirectory=([^&]*)", fragment)
    head, slash, last = address.rpartition("/")
    last, _, reference = last.partition("@")
    return f"{head}{slash}{last}", reference, subdirectory[1] if subdirectory else ""


def _normalize_git_address(text: str) -> str:
    if text.startswith("git@") and "://" not in text:
        host, _, path = text.removeprefix("git@").partition(":")
        return f"git+ssh://git@{host}/{path}"
    return f"git+{text}"


def _parse_local(path: Path, editable: bool) -> PluginSource:
    real = path.resolve()
    if real.is_dir():
        if not (is_project(real) or is_bundle(real)):
            raise CockpitError(
                f"{real} contains no plugin",
                "a plugin has a pyproject.toml (`cockpit plugins new` creates one), "
                "a bundle has .claude-plugin/plugin.json",
            )
        return PluginSource("editable" if editable else "folder", str(real), str(real))
    if editable:
        raise CockpitError(f"{path} is not a folder", "--editable takes the folder of a plugin")
    if not real.is_file():
        raise CockpitError(f"{path} does not exist", "for a name in the index omit the slashes")
    if not real.name.endswith(ARCHIVE_SUFFIXES):
        raise CockpitError(
            f"{real.name} is not an archive",
            f"a plugin is a folder or a file ending with {', '.join(ARCHIVE_SUFFIXES)}",
        )
    return PluginSource("archive", str(real), str(real))


def _parse_requirement(text: str) -> PluginSource:
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        requirement = Requirement(text)
    except InvalidRequirement as error:
        reason = f"{text!r} is not a distribution name"
        raise CockpitError(reason, "write NAME, NAME==1.2 or a path") from error
    if requirement.url is not None:
        raise CockpitError(f"{text!r} contains an address", "pass the address alone")
    return PluginSource("index", text, text)


def _run_git(git: str, *arguments: str) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_DIR")}
    try:
        process = subprocess.run(
            (git, *config_options(SAFE_GIT_SETTINGS), *arguments),
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=FETCH_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        reason = f"git did not finish within {FETCH_SECONDS} s"
        raise CockpitError(reason, "try again, or clone it yourself") from error
    if process.returncode != 0:
        lines = process.stderr.strip().splitlines()
        reason = f"git {arguments[0]}: {lines[-1] if lines else process.returncode}"
        raise CockpitError(reason, "check the address")
    return process.stdout
