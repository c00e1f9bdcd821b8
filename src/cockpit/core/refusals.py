"""What of the files here was not taken over, told as one message: whole the first time, then in short."""

import hashlib
import json
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from cockpit import paths
from cockpit.core.agent import Host
from cockpit.plugin.origin import Fault
from cockpit.protocol.events import Warned
from cockpit.settings.atomic import write_atomically

SHOWN = 6
HINT = "`cockpit skills|roles|commands|hooks|mcp list` say all of it"


def tell(host: Host, before: Collection[Fault] = ()) -> None:
    """Emit one `Warned` for the faults of the catalog that are not among `before`, none where there are none.

    Which set was told in full last is kept by folder in the state folder.
    """
    faults = [one for one in host.catalog.faults if one not in before]
    if not faults:
        return
    files = len({one.file for one in faults})
    count = f"{len(faults)} thing{'s' if len(faults) > 1 else ''} in {files} file{'s' if files > 1 else ''}"
    if not before and not _is_new(host.root, faults):
        host.log.emit(Warned(f"{count} here still not taken over", HINT, "files"))
        return
    lines = [str(replace(one, file=_shown(one.file, host.root))) for one in faults[:SHOWN]]
    more = [f"and {len(faults) - SHOWN} more"] if len(faults) > SHOWN else []
    host.log.emit(
        Warned("\n".join([f"{count} here not taken over; the rest works", *lines, *more]), HINT, "files")
    )


def _shown(file: str, root: str) -> str:
    try:
        return Path(file).relative_to(root).as_posix()
    except ValueError:
        return file


def _is_new(root: str, faults: list[Fault]) -> bool:
    """Whether just these were not told for `root` before; they count as told from now on."""
    digest = hashlib.sha256("\n".join(sorted(map(str, faults))).encode("utf-8", "replace")).hexdigest()
    file = paths.state() / "refusals.json"
    try:
        kept = json.loads(file.read_bytes())
    except (OSError, ValueError):
        kept = {}
    if not isinstance(kept, dict):
        kept = {}
    if kept.get(root) == digest:
        return False
    write_atomically(file, json.dumps(kept | {root: digest}, indent=1).encode(), private=True)
    return True
