"""Finds the folder whose tests a target belongs to, and reads what it says of itself."""

import re
from pathlib import PurePosixPath

from cockpit.builtin.run_tests.runners import MANIFESTS, Project
from cockpit.plugin.context import Files, PathRefused
from cockpit.plugin.tools import ToolFailed

TEST_FOLDERS = (".", "tests", "test")
SAMPLE = re.compile(r"(test_.*|.*_test)\.py$")


async def find_project(target: str, files: Files) -> Project:
    """The nearest folder above `target` with a manifest; the root when none has one.

    A root without manifests but with exactly one child that has some stands for that child.
    Raises `ToolFailed` when several children could be meant.
    """
    for folder in _upwards(target):
        found = await _read(folder, files)
        if found is not None and found.manifests:
            return found
    root = await _read(".", files) or Project(".", {}, frozenset())
    if target:
        return root
    below = [name for name in sorted(root.names) if not name.startswith(".")]
    projects = [one for name in below if (one := await _read(name, files)) and one.manifests]
    if len(projects) == 1 and not root.sample:
        return projects[0]
    if projects and not root.sample:
        named = ", ".join(one.folder for one in projects[:8])
        raise ToolFailed(f"several projects lie here; say which as `target`: {named}")
    return root


def _upwards(target: str) -> list[str]:
    path = PurePosixPath(target.split("::")[0]) if "/" in target or "." in target else PurePosixPath()
    if path.is_absolute() or ".." in path.parts:
        return ["."]
    return [str(folder) for folder in (path, *path.parents)] if target else ["."]


async def _read(folder: str, files: Files) -> Project | None:
    try:
        names = frozenset(entry.path.rsplit("/", 1)[-1] for entry in await files.entries(folder, True))
        kinds = {entry.path.rsplit("/", 1)[-1]: entry.kind for entry in await files.entries(folder, True)}
        names |= await _environments(folder, files)
    except (OSError, PathRefused):
        return None
    manifests = {
        name: await _text(_join(folder, name), files)
        for name in MANIFESTS
        if name in names and kinds.get(name) == "file"
    }
    return Project(folder, manifests, names, await _sample(folder, files))


async def _environments(folder: str, files: Files) -> frozenset[str]:
    # A virtual environment is nearly always ignored, so that no listing shows it.
    found = set()
    for name in (".venv", "venv", "env"):
        try:
            await files.stat(_join(folder, f"{name}/pyvenv.cfg"))
        except (OSError, PathRefused):
            continue
        found.add(name)
    return frozenset(found)


async def _sample(folder: str, files: Files) -> str:
    for name in TEST_FOLDERS:
        try:
            entries = await files.entries(_join(folder, name))
        except (OSError, PathRefused):
            continue
        for entry in entries:
            if entry.kind == "file" and SAMPLE.search(entry.path):
                return await _text(entry.path, files)
    return ""


async def _text(path: str, files: Files) -> str:
    try:
        return (await files.read(path)).decode("utf-8", "replace")
    except (OSError, PathRefused):
        return ""


def _join(folder: str, name: str) -> str:
    parts = [part for part in (folder, name) if part != "."]
    return "/".join(parts) or "."
