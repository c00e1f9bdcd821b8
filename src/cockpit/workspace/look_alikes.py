"""Names that only case or Unicode form tells apart. macOS and Windows take them for one file, so a second
one is not made beside the first. Reads folders; writes nothing."""

import os
import unicodedata
from collections.abc import Collection

from cockpit.plugin.workspace import ChangeRefused


def folded(name: str) -> str:
    """What two names have in common that such a file system takes for one."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def refuse_look_alike(root: str, path: str, gone: Collection[str]) -> None:
    """Raise `ChangeRefused` where making `path` (from the root, with `/`) would make a look-alike of
    something that is there. `gone` are paths that the same change takes away."""
    if os.path.isabs(path):
        return
    above = ""
    for name in path.split("/"):
        here = f"{above}{name}"
        if not os.path.lexists(os.path.join(root, here)):
            twin = _twin(os.path.join(root, above), name)
            if twin and f"{above}{twin}" not in gone:
                raise ChangeRefused(
                    f"{here} differs only in case from {above}{twin}, which is there",
                    "on macOS and Windows they are one file; use that name, or rename it first",
                )
            return
        above = f"{here}/"


def refuse_look_alikes(paths: Collection[str]) -> None:
    """Raise `ChangeRefused` where two of the paths that a change makes are one file elsewhere."""
    seen: dict[str, str] = {}
    for path in paths:
        if (other := seen.setdefault(folded(path), path)) != path:
            raise ChangeRefused(f"{path} differs only in case from {other}, which this change makes too")


def _twin(folder: str, name: str) -> str:
    try:
        names = os.listdir(folder)
    except OSError:
        return ""
    wanted = folded(name)
    return next((one for one in names if one != name and folded(one) == wanted), "")
