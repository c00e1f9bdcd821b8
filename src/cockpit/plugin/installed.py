"""The plugins that `cockpit plugins install` brought: the record of them, and the folder they lie in.

Their environment stands beside cockpit's own and behind it on the path, so that nothing in it can
replace what cockpit is made of. Refuses to change it: that is `cockpit.installing`'s part.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import cast

from cockpit import paths
from cockpit.settings import plain

OWN = "cockpit-own.pth"
"""The path file by which an installer sees cockpit's own distributions. Never followed here."""
VERSION = 1


@dataclass(frozen=True, slots=True)
class Installed:
    """One distribution that a person asked for.

    `source` is what they named, `kind` says what that was (index, folder, editable, archive, git).
    `revision` is the commit of a git source. `time` is seconds since the epoch. `names` are its
    entry points, `installer` is what put it there (pip or uv).
    """

    distribution: str
    version: str
    source: str
    kind: str
    time: float
    names: tuple[str, ...] = ()
    revision: str = ""
    installer: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """What is installed. `generation` is the folder that holds it, `site` its part with the packages
    (relative to it), `past` the generations before, `python` the version it was made for (`3.11`)."""

    generation: str = ""
    site: str = ""
    python: str = ""
    past: tuple[str, ...] = ()
    plugins: tuple[Installed, ...] = ()

    @property
    def fits(self) -> bool:
        """Whether it was made for the Python that runs."""
        return self.python in ("", python())

    def folder(self) -> Path | None:
        """The folder with the packages, None where nothing is installed."""
        return home() / self.generation / self.site if self.generation else None


def python() -> str:
    """The version that compiled packages depend on."""
    return f"{sys.version_info[0]}.{sys.version_info[1]}"


def home() -> Path:
    return paths.data() / "plugins"


def bundles() -> Path:
    """The folder of Claude's plugin bundles that `cockpit plugins install` copied, one folder each."""
    return paths.data() / "bundles"


def file() -> Path:
    return home() / "installed.json"


def read() -> Record:
    """The record; an empty one where there is none. One that cannot be read counts as none: the
    distributions it names are lost to cockpit until they are installed anew."""
    try:
        raw = json.loads(plain.read_bytes(file()))
    except (OSError, ValueError):
        return Record()
    return decoded(raw) if isinstance(raw, dict) else Record()


def decoded(raw: Mapping[str, object]) -> Record:
    """The record that `encoded` wrote; what has another shape is left out."""

    def word(table: Mapping[str, object], key: str) -> str:
        value = table.get(key)
        return value if isinstance(value, str) else ""

    def words(table: Mapping[str, object], key: str) -> tuple[str, ...]:
        value = table.get(key)
        return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()

    rows = raw.get("plugins")
    plugins = []
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict) and word(row, "distribution"):
            table = cast("Mapping[str, object]", row)
            time = table.get("time")
            plugins.append(
                Installed(
                    word(table, "distribution"),
                    word(table, "version"),
                    word(table, "source"),
                    word(table, "kind"),
                    float(time) if isinstance(time, int | float) else 0.0,
                    words(table, "names"),
                    word(table, "revision"),
                    word(table, "installer"),
                )
            )
    generation = word(raw, "generation")
    # A name only: the record must not lead out of the folder it lies in.
    if Path(generation).name != generation or ".." in Path(word(raw, "site")).parts:
        return Record()
    return Record(generation, word(raw, "site"), word(raw, "python"), words(raw, "past"), tuple(plugins))


def encoded(record: Record) -> bytes:
    return json.dumps({"v": VERSION, **asdict(record)}, indent=1).encode()


def use(record: Record) -> None:
    """Put the installed packages on the path, behind everything that is there."""
    for entry in entries(record):
        if entry not in sys.path:
            sys.path.append(entry)


def entries(record: Record) -> list[str]:
    """The folders to put on the path: the environment's, and those that its path files name."""
    folder = record.folder()
    if folder is None or not record.fits or not folder.is_dir():
        return []
    return [str(folder), *linked(folder)]


def linked(folder: Path) -> list[str]:
    """The folders that path files in `folder` name: plugins installed to be worked on. Lines that are
    code are not run."""
    found = []
    for path in sorted(folder.glob("*.pth")):
        if path.name == OWN:
            continue
        try:
            lines = plain.read_text(path).splitlines()
        except OSError:
            continue
        for line in lines:
            if line.strip() and not line.startswith(("#", "import ", "import\t")):
                target = folder / line.strip()
                if target.is_dir():
                    found.append(str(target))
    return found
