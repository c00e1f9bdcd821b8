"""Skills of others: fetched, looked at, copied beside the person's own. Runs nothing of them."""

import json
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cockpit.errors import CockpitError
from cockpit.formats.heads import Heads
from cockpit.formats.skill_places import NONE
from cockpit.formats.skills import folder_of, is_folder, mended, read_skill
from cockpit.formats.substitution import Values, expand
from cockpit.installing.archives import is_archive, unpack
from cockpit.installing.sources import cloned
from cockpit.plugin.origin import Unloaded
from cockpit.plugin.values import Skill
from cockpit.settings.atomic import write_atomically

# Where other agents keep theirs in a repository; other hidden folders are not looked into.
AGENTS = frozenset({".claude", ".cockpit", ".agents", ".opencode", ".gemini", ".codex"})
LEFT_OUT = frozenset({".git", "node_modules", "__pycache__", "drafts", ".DS_Store"})
PROGRAMS = frozenset(
    {
        ".sh",
        ".bash",
        ".zsh",
        ".py",
        ".js",
        ".mjs",
        ".cjs",
        ".ts",
        ".rb",
        ".pl",
        ".php",
        ".ps1",
        ".bat",
        ".cmd",
    }
    | {".exe", ".go", ".lua", ".r", ".jar", ".so", ".dll", ".dylib"}
)
NOTE = ".cockpit-source.json"
DEEPEST = 6
LARGEST = 100_000_000
MOST = 5_000


@dataclass(frozen=True, slots=True)
class Offered:
    """A skill that could be installed. `runs` says, a line each, what it may run; `faults` what of it will
    not be taken over."""

    skill: Skill
    files: tuple[str, ...]
    runs: tuple[str, ...]
    faults: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a source holds. `broken` are the files that give no skill, each with the reason."""

    source: str
    revision: str
    offered: tuple[Offered, ...]
    broken: tuple[str, ...]


@contextmanager
def fetched(named: str) -> Iterator[Fetched]:
    """The skills of a folder, an archive or a git address, as long as the context lasts.

    Raises `CockpitError` for what is none of these, or holds no skill.
    """
    with tempfile.TemporaryDirectory(prefix="cockpit-skills-") as scratch:
        folder, source, revision = _opened(named, Path(scratch) / _called(named))
        found = [read_skill(path, "user", heads=Heads(Path(scratch) / "heads")) for path in _files(folder)]
        broken = tuple(
            str(fault) for one in found if isinstance(one, Unloaded) for fault in one.origin.refused
        )
        skills = [one for one in found if isinstance(one, Skill)]
        if not skills:
            said = f": {broken[0]}" if broken else ""
            raise CockpitError(f"{named} holds no skill{said}", "a skill is a folder with a SKILL.md")
        yield Fetched(source, revision, tuple(_offered(one) for one in skills), broken)


def install(offered: Offered, source: str, revision: str, home: Path, replace: bool = False) -> Path:
    """Copy the skill into the folder `home`; its new folder. Raises `CockpitError` where one of its name is
    already, unless it is to be replaced, and for files that a skill does not have."""
    target = home / offered.skill.name
    if (target.exists() or target.with_suffix(".md").exists()) and not replace:
        raise CockpitError(
            f"{target} is there already", f"--replace, or cockpit skills remove {offered.skill.name}"
        )
    home.mkdir(parents=True, exist_ok=True)
    staged = Path(tempfile.mkdtemp(prefix=".new-", dir=home))
    try:
        _copy(offered.skill, staged)
        note = {"source": source, "revision": revision, "time": time.time()}
        write_atomically(staged / NOTE, json.dumps(note).encode())
        staged.chmod(0o755)
        _put(staged, target)
    finally:
        shutil.rmtree(staged, ignore_errors=True)
    return target


def remove(skill: Skill) -> Path:
    """Take the files of an installed skill away; what was removed."""
    target = folder_of(skill) or Path(skill.path)
    if target.is_symlink() or target.is_file():
        target.unlink()
    else:
        gone = Path(tempfile.mkdtemp(prefix=".gone-", dir=target.parent))
        target.rename(gone / target.name)
        shutil.rmtree(gone, ignore_errors=True)
    return target


def note_of(skill: Skill) -> str:
    """Where an installed skill came from, empty where nobody noted it."""
    folder = folder_of(skill)
    try:
        raw = json.loads((folder / NOTE).read_text(encoding="utf-8")) if folder is not None else {}
    except (OSError, ValueError):
        return ""
    source, revision = (raw.get("source", ""), raw.get("revision", "")) if isinstance(raw, dict) else ("", "")
    return f"{source} at {revision[:12]}" if revision else str(source)


def programs(files: tuple[str, ...], folder: Path) -> tuple[str, ...]:
    """Those of `files` that are programs: by their ending, or because they may be run."""
    return tuple(
        one for one in files if Path(one).suffix.lower() in PROGRAMS or os.access(folder / one, os.X_OK)
    )


def _opened(named: str, scratch: Path) -> tuple[Path, str, str]:
    """The folder of a source, what it is called for ever after, and its commit."""
    address = _address(named)
    if address:
        folder, revision = cloned(address, scratch)
        return folder, address, revision
    path = Path(named).expanduser()
    if path.is_dir():
        return path.resolve(), str(path.resolve()), ""
    if not path.is_file():
        raise CockpitError(f"{named} does not exist", "name a folder, an archive or a git address")
    if is_archive(path):
        scratch.mkdir()
        unpack(path.resolve(), scratch)
        return scratch, str(path.resolve()), ""
    if path.suffix.lower() == ".md":
        return path.resolve(), str(path.resolve()), ""
    raise CockpitError(f"{path.name} is no archive", "a folder, a .zip, a .tar.gz, or a git address")


def _called(named: str) -> str:
    """What a skill is called that does not say it itself: as the repository or the archive is."""
    last = re.split(r"[/\\:]", named.partition("#")[0].rstrip("/"))[-1].partition("@")[0]
    return mended(re.sub(r"\.(git|zip|skill|tgz|tbz2|txz|tar(\.\w+)?)$", "", last)) or "skill"


def _address(named: str) -> str:
    """`named` in the form `git+URL@reference#subdirectory=folder`, empty where it is no address.

    The page of a folder in a browser (`https://host/owner/repository/tree/main/skills/x`) is one too.
    """
    text = named.removeprefix("git+")
    if re.match(r"[\w.-]+@[\w.-]+:", text) and "://" not in text:
        user, _, path = text.partition(":")
        text = f"ssh://{user}/{path}"
    if not re.match(r"(https?|ssh|file)://", text):
        if "://" in text:
            raise CockpitError(f"{named} is no address for git", "https, ssh or file")
        return f"git+{Path(text).expanduser().resolve().as_uri()}" if named.startswith("git+") else ""
    page = re.fullmatch(r"(https?://[^#]+?)(?:/-)?/tree/([^/#]+)(?:/([^#]*))?", text)
    if page:
        folder = f"#subdirectory={page[3].strip('/')}" if page[3] else ""
        return f"git+{page[1]}@{page[2]}{folder}"
    return f"git+{text}"


def _files(folder: Path) -> Iterator[Path]:
    """The skill files of a source: its own `SKILL.md`, or those below; flat files where there are none."""
    if folder.is_file():
        yield folder
        return
    found = list(_below(folder, 0))
    if found:
        yield from found
        return
    for path in sorted(folder.glob("*.md")):
        if path.stem.lower() not in NONE:
            yield path


def _below(folder: Path, depth: int) -> Iterator[Path]:
    entries = sorted(folder.iterdir())
    own = next((one for one in entries if is_folder(one) and one.is_file()), None)
    if own is not None:
        yield own
        return
    for one in entries if depth < DEEPEST else ():
        is_hidden = one.name.startswith(".") and one.name not in AGENTS
        if one.is_dir() and not one.is_symlink() and not is_hidden and one.name not in LEFT_OUT:
            yield from _below(one, depth + 1)


def _offered(skill: Skill) -> Offered:
    folder = folder_of(skill)
    files = (
        tuple(one.relative_to(folder).as_posix() for one, _ in _walk(folder)) if folder is not None else ()
    )
    faults = tuple(f"{one.reason}; {one.remedy}" for one in skill.origin.refused) if skill.origin else ()
    return Offered(skill, files, tuple(_runs(skill, files, folder)), faults)


def _runs(skill: Skill, files: tuple[str, ...], folder: Path | None) -> Iterator[str]:
    """What the skill may run, a line each."""
    try:
        expanded = expand(skill.body(), Values(names=skill.arguments, dialect=skill.dialect))
    except OSError as error:
        raise CockpitError(f"{skill.path} cannot be read: {error.strerror or error}", "look at it") from error
    for command in expanded.commands:
        yield f"runs when it is used: {command}"
    if folder is not None:
        for one in programs(files, folder):
            yield f"program: {one}"
    if skill.allowed_tools is not None:
        yield f"uses these tools only: {', '.join(skill.allowed_tools) or 'none'}"
    if skill.fork:
        model = f" with the model {skill.model}" if skill.model else ""
        yield f"runs in a subagent: {skill.role or 'general'}{model}"


def _walk(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """The plain files of a skill. Raises `CockpitError` for links, devices, and more than a skill has."""
    size = 0
    waiting = [folder]
    count = 0
    while waiting:
        here = waiting.pop(0)
        for path in sorted(here.iterdir()):
            if path.name in LEFT_OUT or path.name == NOTE:
                continue
            facts = path.lstat()
            if stat.S_ISDIR(facts.st_mode):
                waiting.append(path)
                continue
            if not stat.S_ISREG(facts.st_mode):
                raise CockpitError(f"{path} is a link or a device", "a skill is made of plain files")
            size, count = size + facts.st_size, count + 1
            if size > LARGEST or count > MOST:
                raise CockpitError(
                    f"{folder} is larger than a skill can be", "name the folder of the skill itself"
                )
            yield path, facts


def _copy(skill: Skill, staged: Path) -> None:
    folder = folder_of(skill)
    if folder is None:
        shutil.copyfile(skill.path, staged / "SKILL.md")
        return
    for path, facts in _walk(folder):
        target = staged / path.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target, follow_symlinks=False)
        target.chmod(0o755 if facts.st_mode & stat.S_IXUSR else 0o644)


def _put(staged: Path, target: Path) -> None:
    """`staged` in the place of `target`, whatever stands there."""
    old = target.with_name(f".old-{staged.name}")
    flat = target.with_suffix(".md")
    if target.is_symlink():
        target.unlink()
    elif target.exists():
        target.rename(old)
    staged.rename(target)
    flat.unlink(missing_ok=True)
    shutil.rmtree(old, ignore_errors=True)
