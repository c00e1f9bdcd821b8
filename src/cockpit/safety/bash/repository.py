"""Whether a repository names programs that git would run: filters, textconv and diff drivers, includes.
Reads its configuration in process and starts nothing. Who is unsure says no."""

import os
import re
from functools import lru_cache
from pathlib import Path

from cockpit.safety.values import Ground
from cockpit.settings import plain

# Sections and keys of which git runs the value, or which bring in other configuration.
RUNS = re.compile(
    r"^\s*\[\s*(filter|include|includeif|diff|merge|mergetool|difftool|gpg|alias|pager|credential|"
    r"extensions|trailer)\b"
    r"|^\s*(textconv|clean|smudge|process|command|external|driver|cachetextconv|worktree|"
    r"attributesfile|worktreeconfig)\s*=",
    re.I | re.M,
)
HARMLESS = re.compile(
    r"^\s*\[\s*(diff|merge|extensions|alias|pager|credential)\s*\]\s*$\n(?:^(?!\s*\[)(?!\s*(external|command|textconv|driver|tool|worktreeconfig|guitool|orderfile)\b).*$\n?)*",
    re.I | re.M,
)
ATTRIBUTES = re.compile(r"\b(filter|diff|merge)\s*=\s*(?!lfs\b|unset\b)", re.I)
KNOWN_DRIVERS = re.compile(
    r"\bdiff\s*=\s*(ada|bash|bibtex|cpp|csharp|css|dts|elixir|fortran|fountain|golang|html|java|"
    r"kotlin|markdown|matlab|objc|"
    r"pascal|perl|php|python|ruby|rust|scheme|tex)\b|\bmerge\s*=\s*(union|ours|text|binary)\b",
    re.I,
)
LONGEST = 1_000_000


def git_is_plain(root: str) -> bool:
    """Whether git, as a hardened reader, runs nothing that the repository at `root` names."""
    return _plain(root, _stamp(root))


def is_plain(cwd: str | None, ground: Ground) -> bool:
    """The same for the folder a command runs in: a repository inside the workspace is another one."""
    if cwd is None:
        return False
    if cwd in (ground.root, ground.cwd):
        return True
    folder = Path(cwd)
    if _is_bare(folder):
        return False
    while str(folder) != ground.root and folder != folder.parent:
        if (folder / ".git").exists() or _is_bare(folder):
            return git_is_plain(str(folder))
        folder = folder.parent
    return True


def _is_bare(folder: Path) -> bool:
    return (folder / "HEAD").is_file() and (folder / "objects").is_dir() and folder.name != ".git"


def _stamp(root: str) -> tuple[tuple[str, int, int], ...]:
    found = []
    for path in _files(root):
        try:
            status = path.stat()
        except OSError:
            continue
        found.append((str(path), status.st_mtime_ns, status.st_size))
    return tuple(found)


def _files(root: str) -> list[Path]:
    """The configuration and attribute files of the repository at `root`."""
    folder = _git_folder(Path(root))
    if folder is None:
        return []
    common = folder
    if (pointer := _text(folder / "commondir")) is not None:
        common = Path(os.path.normpath(folder / pointer.strip()))
    files = [folder / "config", folder / "config.worktree", common / "config", common / "config.worktree"]
    files += [common / "info" / "attributes", Path(root) / ".gitattributes", folder / "info" / "attributes"]
    modules = common / "modules"
    if modules.is_dir():
        files += sorted(modules.rglob("config"))[:200]
    return list(dict.fromkeys(files))


def _git_folder(root: Path) -> Path | None:
    dot = root / ".git"
    if dot.is_dir():
        return dot
    text = _text(dot)
    if text is None or not text.startswith("gitdir:"):
        return None
    return Path(os.path.normpath(root / text[7:].strip()))


@lru_cache(maxsize=64)
def _plain(root: str, stamp: tuple[tuple[str, int, int], ...]) -> bool:
    for name, _, size in stamp:
        if size > LONGEST:
            return False
        text = _text(Path(name))
        if text is None:
            return False
        if name.endswith("attributes"):
            if ATTRIBUTES.search(KNOWN_DRIVERS.sub("", re.sub(r"(?m)^\s*#.*$", "", text))):
                return False
        elif "\\\n" in text or RUNS.search(HARMLESS.sub("", text)):
            return False
    return True


def _text(path: Path) -> str | None:
    try:
        return plain.read_text(path)
    except OSError:
        return None
