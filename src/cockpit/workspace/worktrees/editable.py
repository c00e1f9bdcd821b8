"""Python's editable installs in a linked environment: they lead to the tree it was made for, so that tests in
a worktree would try that tree's code and not their own.
"""

import os
import re
from collections.abc import Iterable, Iterator
from glob import escape, glob

from cockpit.settings import plain

ENVIRONMENTS = frozenset({".venv", "venv"})
PLACES = ("lib/python*/site-packages", "Lib/site-packages")
QUOTED = re.compile(r"'([^'\n]+)'|\"([^\"\n]+)\"")
MOST = 200
LARGEST = 200_000


def sources(origin: str, linked: Iterable[str]) -> tuple[str, ...]:
    """The folders of `origin` (relative, with `/`; "." for its top) from which the environments among
    `linked` import."""
    found: dict[str, None] = {}
    for environment in linked:
        if os.path.basename(environment) in ENVIRONMENTS:
            for path in _named(environment):
                inside = os.path.relpath(path, origin).replace(os.sep, "/")
                if os.path.isabs(path) and not inside.startswith("../") and inside != "..":
                    found.setdefault(inside)
    # What lies in the environment itself is installed, not edited.
    return tuple(one for one in found if not ENVIRONMENTS & set(one.split("/")))


def _named(environment: str) -> Iterator[str]:
    """The paths that `.pth` files, and the finders of editable installs, name."""
    for place in PLACES:
        folder = os.path.join(escape(environment), *place.split("/"))
        for file in sorted(glob(os.path.join(folder, "*.pth")))[:MOST]:
            yield from (line.strip() for line in _text(file).splitlines() if not line.startswith("import"))
        for file in sorted(glob(os.path.join(folder, "__editable___*_finder.py")))[:MOST]:
            for one, other in QUOTED.findall(_text(file)):
                # It maps a package to its own folder: what is imported from is the folder above.
                if os.path.isabs(path := one or other):
                    yield os.path.dirname(path)


def _text(path: str) -> str:
    try:
        return plain.read_text(path, LARGEST)
    except OSError:
        return ""
