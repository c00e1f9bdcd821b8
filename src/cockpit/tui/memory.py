"""What this frontend remembers between two runs: the theme chosen, folders whose trust was refused."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from cockpit import paths


@dataclass(slots=True)
class Memory:
    """`refused` are real paths of folders that a person said not to trust."""

    theme: str = ""
    refused: list[str] = field(default_factory=list)

    def save(self) -> None:
        """Write it beside the sessions; a disk that refuses loses only comfort."""
        path = _path()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            fresh = path.with_suffix(".new")
            fresh.write_text(json.dumps(asdict(self), indent=2) + "\n", "utf-8")
            fresh.replace(path)
        except OSError:
            return


def load() -> Memory:
    """What was kept; an unreadable file is an empty memory."""
    try:
        table = json.loads(_path().read_text("utf-8"))
    except (OSError, ValueError):
        return Memory()
    if not isinstance(table, dict):
        return Memory()
    refused = table.get("refused", [])
    return Memory(
        str(table.get("theme", "")),
        [one for one in refused if isinstance(one, str)] if isinstance(refused, list) else [],
    )


def _path() -> Path:
    return paths.state() / "tui.json"
