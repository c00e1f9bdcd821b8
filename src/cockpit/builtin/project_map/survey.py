"""Walks a project once, within bounds of files and time, and counts what is there."""

import re
import time
from collections import Counter
from dataclasses import dataclass, field

from cockpit.builtin.project_map.languages import language_of
from cockpit.builtin.project_map.manifests import Facts, facts_of, is_manifest
from cockpit.plugin.context import FileEntry, Files, PathRefused

MOST_FILES = 50_000
SECONDS = 4.0
COUNTED = 4_000
LARGEST = 1_000_000
BYTES_A_LINE = 35
MANIFESTS = 16
READMES = ("README.md", "README.rst", "README.txt", "README", "readme.md")
KNOWN_FOLDERS = {
    "tests": "tests",
    "test": "tests",
    "spec": "tests",
    "docs": "documentation",
    "doc": "documentation",
    "examples": "examples",
    "scripts": "scripts",
    "bin": "programs",
    "cmd": "programs",
    "assets": "assets",
    "static": "static files",
    "public": "static files",
    "migrations": "database migrations",
    "bench": "benchmarks",
    "benches": "benchmarks",
    "vendor": "other people's code",
    "third_party": "other people's code",
}


@dataclass
class Survey:
    """What was found. `whole` is False when a bound was met; `estimated` lines were not counted."""

    files: int = 0
    bytes: int = 0
    whole: bool = True
    estimated: bool = False
    by_language: Counter[str] = field(default_factory=Counter)
    lines: Counter[str] = field(default_factory=Counter)
    folders: Counter[str] = field(default_factory=Counter)
    largest: list[tuple[int, str]] = field(default_factory=list)
    manifests: list[tuple[str, Facts]] = field(default_factory=list)
    purposes: dict[str, str] = field(default_factory=dict)
    readme: str = ""


async def survey(start: str, depth: int, files: Files, seconds: float = SECONDS) -> Survey:
    """Raises `PathRefused` and `OSError` when `start` cannot be read."""
    found, deadline = Survey(), time.monotonic() + seconds
    prefix = "" if start in ("", ".") else start.rstrip("/") + "/"
    heads: dict[str, list[str]] = {}
    async for entry in files.walk(start or "."):
        if found.files >= MOST_FILES or time.monotonic() > deadline:
            found.whole = False
            break
        if entry.kind == "file":
            await _count(found, entry, files, time.monotonic() < deadline - seconds / 3)
            _place(found, heads, entry.path.removeprefix(prefix), depth)
            if is_manifest(entry.path.rsplit("/", 1)[-1]) and len(found.manifests) < MANIFESTS:
                await _manifest(found, entry, files)
    found.largest = sorted(found.largest, reverse=True)[:8]
    found.manifests.sort(key=lambda one: (one[0].count("/"), one[0]))
    found.readme = await _first_of(files, [prefix + name for name in READMES])
    await _purposes(found, prefix, heads, files)
    return found


async def _count(found: Survey, entry: FileEntry, files: Files, may_read: bool) -> None:
    found.files += 1
    found.bytes += entry.size
    language = language_of(entry.path)
    if not language:
        return
    found.by_language[language] += 1
    found.largest.append((entry.size, entry.path))
    if len(found.largest) > 2_000:
        found.largest = sorted(found.largest, reverse=True)[:50]
    if may_read and found.files <= COUNTED and entry.size <= LARGEST:
        text = await _text(entry.path, files)
        found.lines[language] += text.count("\n") + (not text.endswith("\n") and bool(text))
    else:
        found.estimated = True
        found.lines[language] += entry.size // BYTES_A_LINE


def _place(found: Survey, heads: dict[str, list[str]], path: str, depth: int) -> None:
    """Count the file for each folder above it, down to `depth`; note the files that describe one."""
    *parts, name = path.split("/")
    for at in range(1, min(len(parts), depth) + 1):
        found.folders["/".join(parts[:at])] += 1
    if 0 < len(parts) <= depth and (name in READMES or name in ("__init__.py", "doc.go", "mod.rs", "lib.rs")):
        heads.setdefault("/".join(parts), []).append(name)


async def _manifest(found: Survey, entry: FileEntry, files: Files) -> None:
    facts = facts_of(entry.path.rsplit("/", 1)[-1], await _text(entry.path, files))
    if facts is not None:
        found.manifests.append((entry.path, facts))


async def _purposes(found: Survey, prefix: str, heads: dict[str, list[str]], files: Files) -> None:
    for folder in sorted(found.folders)[:60]:
        names = sorted(heads.get(folder, ()), key=lambda name: name not in READMES)
        said = await _first_of(files, [f"{prefix}{folder}/{name}" for name in names])
        said = said or KNOWN_FOLDERS.get(folder.rsplit("/", 1)[-1].lower(), "")
        if said:
            found.purposes[folder] = said


async def _first_of(files: Files, paths: list[str]) -> str:
    for path in paths:
        if said := first_sentence(path, await _text(path, files)):
            return said
    return ""


async def _text(path: str, files: Files) -> str:
    try:
        return (await files.read(path)).decode("utf-8", "replace")
    except (OSError, PathRefused):
        return ""


def first_sentence(path: str, text: str) -> str:
    """The first line of prose in a README, or of a module's docstring or comment."""
    if path.endswith(".py"):
        found = re.match(r'\s*[rR]?("""|\'\'\')(.*?)\1', text, re.S)
        text = found[2] if found else ""
    elif path.endswith(".go"):
        text = "\n".join(line[2:] for line in text.splitlines() if line.startswith("//"))
    elif path.endswith(".rs"):
        text = "\n".join(line[3:] for line in text.splitlines() if line.startswith("//!"))
    paragraphs = re.split(r"\n\s*\n", re.sub(r"<!--.*?-->|```.*?```", "", text, flags=re.S))
    for paragraph in paragraphs:
        lines = [line.strip() for line in paragraph.splitlines()]
        prose = " ".join(
            line for line in lines if line and not line.startswith(("#", "=", "-", "[!", "![", "<", "|", ">"))
        )
        prose = re.sub(r"\[([^\]]*)\]\([^)]*\)|[*_`]{1,2}", r"\1", prose).strip()
        if prose:
            sentence = re.split(r"(?<=[.!?])\s|(?<=[。！？])", prose)[0]
            return sentence if len(sentence) <= 160 else sentence[:159] + "…"
    return ""
