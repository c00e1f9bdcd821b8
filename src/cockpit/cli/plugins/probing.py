"""What a staged plugin registers, learnt in another process: its code runs there, with an empty folder as
root, a home of its own and no keys. Nothing it does at import can disturb the cockpit that asks.

`python -m cockpit.cli.plugins.probing GENERATION SITE FILE` writes the answer to FILE as JSON.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from cockpit.cli.plugins.describing import described
from cockpit.core.catalog import Catalog, Entry, PluginState, build
from cockpit.errors import CockpitError
from cockpit.plugin import installed
from cockpit.plugin.discovery import load
from cockpit.plugin.installed import Record
from cockpit.settings.files import Settings

SECONDS = 60
SECRETS = ("_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD")


@dataclass(frozen=True, slots=True)
class Registered:
    """One value: `what` it is in a line, `shadows` which layer and plugin it hides."""

    kind: str
    name: str
    what: str
    shadows: str = ""


@dataclass(frozen=True, slots=True)
class Probed:
    """One plugin of a staged generation. `importing` and `hooks` are milliseconds."""

    name: str
    distribution: str
    version: str
    state: str
    reason: str = ""
    trace: str = ""
    importing: float = 0.0
    hooks: Mapping[str, float] = field(default_factory=dict)
    registers: tuple[Registered, ...] = ()


def probe(generation: Path, site: Path) -> list[Probed]:
    """What the plugins in `site` register. Raises `CockpitError` when their process does not answer."""
    with tempfile.TemporaryDirectory(prefix="cockpit-probe-") as folder:
        answer = Path(folder) / "answer.json"
        command = [
            sys.executable,
            "-m",
            "cockpit.cli.plugins.probing",
            str(generation),
            str(site),
            str(answer),
        ]
        said = _run(command, folder)
        try:
            rows = json.loads(answer.read_bytes())
        except (OSError, ValueError) as error:
            raise CockpitError(f"it ended the process that loaded it: {said}", "tell its author") from error
    return [
        Probed(**{**row, "registers": tuple(Registered(**one) for one in row["registers"])}) for row in rows
    ]


def _run(command: list[str], folder: str) -> str:
    """Run the other process; the last line of what it said to its stderr."""
    environment = {
        key: one
        for key, one in os.environ.items()
        if not key.startswith("COCKPIT_") and not key.endswith(SECRETS)
    }
    environment["COCKPIT_HOME"] = str(Path(folder) / "home")
    try:
        ended = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise CockpitError(
            f"it did not register within {SECONDS} s", "a plugin may wait for nothing when it is loaded"
        ) from error
    lines = ended.stderr.strip().splitlines()
    return lines[-1] if lines else f"exit code {ended.returncode}"


def _answer(generation: str, site: str, file: str) -> None:
    """Load and register in this process, and write what came of it."""
    # An absolute path: the record's home is another here.
    record = Record(generation, os.path.relpath(site, generation), installed.python())
    manager, found = load(record=record)
    root = Path("root")
    root.mkdir()
    catalog = build(manager, found, str(root.resolve()), Settings({}), {}, False, lambda: None)
    rows = [asdict(_probed(one, catalog)) for one in catalog.plugins if one.found.beside]
    Path(file).write_text(json.dumps(rows), encoding="utf-8")


def _probed(state: PluginState, catalog: Catalog) -> Probed:
    found = state.found
    return Probed(
        found.name,
        found.distribution,
        found.version,
        found.state,
        found.reason,
        found.trace,
        round(found.seconds * 1000, 1),
        {hook: round(took * 1000, 2) for hook, took in state.hooks.items()},
        tuple(registered(entry) for entry in catalog.entries if entry.plugin == found.name),
    )


def registered(entry: Entry) -> Registered:
    """An entry of the catalog as a person reads it."""
    kind = entry.hook.removeprefix("register_")
    return Registered(kind, entry.name, described(entry.value), entry.shadows)


if __name__ == "__main__":
    _answer(*sys.argv[1:])
