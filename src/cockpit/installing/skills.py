"""Installs skills from a folder, an archive or a git address: fetch, inspect, copy. Runs no part of them.

Archives are unpacked with limits: plain files below a single folder, refused as a whole if they hold
anything else.
"""

import json
import lzma
import os
import re
import shutil
import stat
import tarfile
import tempfile
import time
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from cockpit.errors import CockpitError
from cockpit.formats.frontmatter import FrontmatterCache
from cockpit.formats.skills import (
    NOT_SKILLS,
    find_skill_folder,
    is_skill_file,
    normalize_skill_name,
    read_skill,
)
from cockpit.formats.substitution import TemplateValues, expand_template
from cockpit.installing.sources import clone_repository
from cockpit.plugin.origin import Unloaded
from cockpit.plugin.values import Skill
from cockpit.settings.file_io import write_atomically
from cockpit.workspace.word_set import word_set

ARCHIVE_SUFFIXES = (".zip", ".skill", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
MAX_SKILL_BYTES = 100_000_000
MAX_SKILL_FILES = 5_000
CHUNK_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class ArchiveEntry:
    """A plain file in an archive."""

    name: str
    runs: bool
    content: IO[bytes]


def unpack(archive: Path, into: Path, largest: int = MAX_SKILL_BYTES, most: int = MAX_SKILL_FILES) -> None:
    """Write the files of `archive` below `into`. Raises `CockpitError` for links, devices, paths that lead
    out, more than `most` files or `largest` bytes, and anything that is not an archive."""
    remaining = largest
    read = _read_zip if archive.name.lower().endswith((".zip", ".skill")) else _read_tar
    try:
        for count, entry in enumerate(read(archive), 1):
            if count > most:
                raise _refuse_archive(archive, f"it contains more than {most:,} files")
            remaining -= _write_entry(entry, _find_target(archive, entry.name, into), remaining, archive)
    except (tarfile.TarError, zipfile.BadZipFile, lzma.LZMAError, zlib.error, EOFError) as error:
        raise CockpitError(f"{archive} cannot be unpacked: {error}", "download it again") from error
    except (NotImplementedError, RuntimeError) as error:
        reason = f"{archive} cannot be unpacked: {error}"
        raise CockpitError(reason, "unpack it yourself and pass the folder") from error


def _read_zip(archive: Path) -> Iterator[ArchiveEntry]:
    with zipfile.ZipFile(archive) as opened:
        for item in opened.infolist():
            mode = item.external_attr >> 16
            if item.is_dir():
                continue
            if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
                raise _refuse_archive(archive, f"{item.filename} is a link or a device")
            with opened.open(item) as content:
                yield ArchiveEntry(item.filename, bool(mode & stat.S_IXUSR), content)


def _read_tar(archive: Path) -> Iterator[ArchiveEntry]:
    with tarfile.open(archive) as opened:
        for item in opened:
            if item.isdir():
                continue
            content = opened.extractfile(item) if item.isreg() else None
            if content is None:
                raise _refuse_archive(archive, f"{item.name} is a link or a device")
            with content:
                yield ArchiveEntry(item.name, bool(item.mode & stat.S_IXUSR), content)


def _find_target(archive: Path, name: str, into: Path) -> Path:
    parts = PurePosixPath(name.replace("\\", "/")).parts
    is_unsafe = any(part == ".." or ":" in part or "\0" in part for part in parts)
    if not parts or name.startswith(("/", "\\")) or is_unsafe:
        raise _refuse_archive(archive, f"{name!r} leads out of the archive")
    return into.joinpath(*parts)


def _write_entry(entry: ArchiveEntry, target: Path, most: int, archive: Path) -> int:
    """Write a file of at most `most` bytes and return its size."""
    target.parent.mkdir(parents=True, exist_ok=True)
    size = 0
    with target.open("xb") as out:
        # Counted while reading: the sizes in the headers cannot be trusted.
        while piece := entry.content.read(CHUNK_BYTES):
            size += len(piece)
            if size > most:
                raise _refuse_archive(archive, "it is larger than the limit for a skill")
            out.write(piece)
    if entry.runs:
        target.chmod(target.stat().st_mode | stat.S_IXUSR)
    return size


def _refuse_archive(archive: Path, reason: str) -> CockpitError:
    return CockpitError(
        f"{archive.name} is not unpacked: {reason}", "ask its author for an archive of plain files"
    )


# Folders where agents keep skills in a repository; other hidden folders are skipped.
AGENT_FOLDERS = frozenset({".claude", ".cockpit", ".agents", ".opencode", ".gemini", ".codex"})
IGNORED_NAMES = frozenset({".git", "node_modules", "__pycache__", "drafts", ".DS_Store"})
PROGRAM_SUFFIXES = word_set(
    ".sh .bash .zsh .py .js .mjs .cjs .ts .rb .pl .php .ps1 .bat .cmd .exe .go .lua .r .jar .so .dll .dylib"
)
SOURCE_NOTE = ".cockpit-source.json"
MAX_DEPTH = 6


@dataclass(frozen=True, slots=True)
class OfferedSkill:
    """A skill that can be installed. `runs` lists what it may run, `faults` the parts that are ignored."""

    skill: Skill
    files: tuple[str, ...]
    runs: tuple[str, ...]
    faults: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FetchedSkills:
    """The skills of a source. `broken` lists the files that gave no skill, each with the reason."""

    source: str
    revision: str
    offered: tuple[OfferedSkill, ...]
    broken: tuple[str, ...]


@contextmanager
def fetch_skills(named: str) -> Iterator[FetchedSkills]:
    """The skills of a folder, an archive or a git address, available while the context lasts.

    Raises `CockpitError` if the source is none of these or contains no skill.
    """
    with tempfile.TemporaryDirectory(prefix="cockpit-skills-") as scratch:
        folder, source, revision = _open_source(named, Path(scratch) / _find_default_name(named))
        results = [
            read_skill(path, "user", heads=FrontmatterCache(Path(scratch) / "heads"))
            for path in _find_skill_files(folder)
        ]
        broken = tuple(
            str(fault) for entry in results if isinstance(entry, Unloaded) for fault in entry.origin.refused
        )
        skills = [item for item in results if isinstance(item, Skill)]
        if not skills:
            reason = f": {broken[0]}" if broken else ""
            raise CockpitError(f"{named} contains no skill{reason}", "a skill is a folder with a SKILL.md")
        yield FetchedSkills(source, revision, tuple(_build_offer(skill) for skill in skills), broken)


def install_skill(
    offered: OfferedSkill, source: str, revision: str, home: Path, replace: bool = False
) -> Path:
    """Copy the skill into `home` and return its new folder. Raises `CockpitError` if the name is in use
    (unless `replace`) and for files a skill must not have."""
    target = home / offered.skill.name
    if (target.exists() or target.with_suffix(".md").exists()) and not replace:
        reason = f"{target} exists already"
        raise CockpitError(reason, f"add --replace, or run cockpit skills remove {offered.skill.name}")
    home.mkdir(parents=True, exist_ok=True)
    staged = Path(tempfile.mkdtemp(prefix=".new-", dir=home))
    try:
        _copy_skill(offered.skill, staged)
        note = {"source": source, "revision": revision, "time": time.time()}
        write_atomically(staged / SOURCE_NOTE, json.dumps(note).encode())
        staged.chmod(0o755)
        _replace_target(staged, target)
    finally:
        shutil.rmtree(staged, ignore_errors=True)
    return target


def remove_skill(skill: Skill) -> Path:
    """Delete the files of an installed skill and return what was deleted."""
    target = find_skill_folder(skill) or Path(skill.path)
    if target.is_symlink() or target.is_file():
        target.unlink()
    else:
        trash = Path(tempfile.mkdtemp(prefix=".gone-", dir=target.parent))
        target.rename(trash / target.name)
        shutil.rmtree(trash, ignore_errors=True)
    return target


def read_source_note(skill: Skill) -> str:
    """Where an installed skill came from, or an empty string."""
    folder = find_skill_folder(skill)
    try:
        raw = json.loads((folder / SOURCE_NOTE).read_text(encoding="utf-8")) if folder is not None else {}
    except (OSError, ValueError):
        return ""
    source, revision = (raw.get("source", ""), raw.get("revision", "")) if isinstance(raw, dict) else ("", "")
    return f"{source} at {revision[:12]}" if revision else str(source)


def list_programs(files: tuple[str, ...], folder: Path) -> tuple[str, ...]:
    """Those of `files` that are programs, by suffix or because they are executable."""
    return tuple(
        file
        for file in files
        if Path(file).suffix.lower() in PROGRAM_SUFFIXES or os.access(folder / file, os.X_OK)
    )


def _open_source(named: str, scratch: Path) -> tuple[Path, str, str]:
    """The folder of a source, its permanent name, and its commit."""
    address = _parse_git_address(named)
    if address:
        folder, revision = clone_repository(address, scratch)
        return folder, address, revision
    path = Path(named).expanduser()
    if path.is_dir():
        return path.resolve(), str(path.resolve()), ""
    if not path.is_file():
        raise CockpitError(f"{named} does not exist", "pass a folder, an archive or a git address")
    if path.name.lower().endswith(ARCHIVE_SUFFIXES):
        scratch.mkdir()
        unpack(path.resolve(), scratch)
        return scratch, str(path.resolve()), ""
    if path.suffix.lower() == ".md":
        return path.resolve(), str(path.resolve()), ""
    raise CockpitError(f"{path.name} is not an archive", "pass a folder, a .zip, a .tar.gz or a git address")


def _find_default_name(named: str) -> str:
    """The name for a skill that does not state one: that of the repository or archive."""
    last = re.split(r"[/\\:]", named.partition("#")[0].rstrip("/"))[-1].partition("@")[0]
    return normalize_skill_name(re.sub(r"\.(git|zip|skill|tgz|tbz2|txz|tar(\.\w+)?)$", "", last)) or "skill"


def _parse_git_address(named: str) -> str:
    """`named` in the form `git+URL@reference#subdirectory=folder`, or an empty string if it is not an
    address.

    The browser page of a folder (`https://host/owner/repository/tree/main/skills/x`) is accepted too.
    """
    text = named.removeprefix("git+")
    if re.match(r"[\w.-]+@[\w.-]+:", text) and "://" not in text:
        user, _, path = text.partition(":")
        text = f"ssh://{user}/{path}"
    if not re.match(r"(https?|ssh|file)://", text):
        if "://" in text:
            raise CockpitError(f"{named} is not a git address", "use https, ssh or file")
        return f"git+{Path(text).expanduser().resolve().as_uri()}" if named.startswith("git+") else ""
    page = re.fullmatch(r"(https?://[^#]+?)(?:/-)?/tree/([^/#]+)(?:/([^#]*))?", text)
    if page:
        folder = f"#subdirectory={page[3].strip('/')}" if page[3] else ""
        return f"git+{page[1]}@{page[2]}{folder}"
    return f"git+{text}"


def _find_skill_files(folder: Path) -> Iterator[Path]:
    """The skill files of a source: its own `SKILL.md`, or those below it; flat files if there are none."""
    if folder.is_file():
        yield folder
        return
    nested = list(_find_nested(folder, 0))
    if nested:
        yield from nested
        return
    for path in sorted(folder.glob("*.md")):
        if path.stem.lower() not in NOT_SKILLS:
            yield path


def _find_nested(folder: Path, depth: int) -> Iterator[Path]:
    entries = sorted(folder.iterdir())
    own = next((entry for entry in entries if is_skill_file(entry) and entry.is_file()), None)
    if own is not None:
        yield own
        return
    for item in entries if depth < MAX_DEPTH else ():
        is_hidden = item.name.startswith(".") and item.name not in AGENT_FOLDERS
        if item.is_dir() and not item.is_symlink() and not is_hidden and item.name not in IGNORED_NAMES:
            yield from _find_nested(item, depth + 1)


def _build_offer(skill: Skill) -> OfferedSkill:
    folder = find_skill_folder(skill)
    files = (
        tuple(file.relative_to(folder).as_posix() for file, _ in _walk_files(folder))
        if folder is not None
        else ()
    )
    faults = (
        tuple(f"{fault.reason}; {fault.remedy}" for fault in skill.origin.refused) if skill.origin else ()
    )
    return OfferedSkill(skill, files, tuple(_describe_runs(skill, files, folder)), faults)


def _describe_runs(skill: Skill, files: tuple[str, ...], folder: Path | None) -> Iterator[str]:
    try:
        template = expand_template(skill.body(), TemplateValues(names=skill.arguments, dialect=skill.dialect))
    except OSError as error:
        reason = f"{skill.path} cannot be read: {error.strerror or error}"
        raise CockpitError(reason, "check the file") from error
    for command in template.commands:
        yield f"runs when used: {command}"
    if folder is not None:
        for program in list_programs(files, folder):
            yield f"program: {program}"
    if skill.allowed_tools is not None:
        yield f"uses only these tools: {', '.join(skill.allowed_tools) or 'none'}"
    if skill.fork:
        model = f" with the model {skill.model}" if skill.model else ""
        yield f"runs in a subagent: {skill.role or 'general'}{model}"


def _walk_files(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """The plain files of a skill. Raises `CockpitError` for links and devices, and if there is too much."""
    size = 0
    waiting = [folder]
    count = 0
    while waiting:
        here = waiting.pop(0)
        for path in sorted(here.iterdir()):
            if path.name in IGNORED_NAMES or path.name == SOURCE_NOTE:
                continue
            facts = path.lstat()
            if stat.S_ISDIR(facts.st_mode):
                waiting.append(path)
                continue
            if not stat.S_ISREG(facts.st_mode):
                raise CockpitError(f"{path} is a link or a device", "a skill may only contain plain files")
            size, count = size + facts.st_size, count + 1
            if size > MAX_SKILL_BYTES or count > MAX_SKILL_FILES:
                reason = f"{folder} is larger than the limit for a skill"
                raise CockpitError(reason, "pass the folder of the skill itself")
            yield path, facts


def _copy_skill(skill: Skill, staged: Path) -> None:
    folder = find_skill_folder(skill)
    if folder is None:
        shutil.copyfile(skill.path, staged / "SKILL.md")
        return
    for path, facts in _walk_files(folder):
        target = staged / path.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target, follow_symlinks=False)
        target.chmod(0o755 if facts.st_mode & stat.S_IXUSR else 0o644)


def _replace_target(staged: Path, target: Path) -> None:
    old = target.with_name(f".old-{staged.name}")
    flat = target.with_suffix(".md")
    if target.is_symlink():
        target.unlink()
    elif target.exists():
        target.rename(old)
    staged.rename(target)
    flat.unlink(missing_ok=True)
    shutil.rmtree(old, ignore_errors=True)
