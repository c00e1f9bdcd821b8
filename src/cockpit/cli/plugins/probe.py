"""Finds out what a staged plugin registers. It is loaded in a separate process with an empty folder as root,
a temporary home and no API keys, so that its code cannot disturb this cockpit.

`python -m cockpit.cli.plugins.probe GENERATION SITE FILE` writes the answer to FILE as JSON.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from cockpit.core.plugins.catalog import CatalogEntry, PluginCatalog, PluginState, build_catalog
from cockpit.errors import CockpitError
from cockpit.plugin import discovery, values
from cockpit.plugin.discovery import InstalledRecord, load_plugins
from cockpit.plugin.models import Model
from cockpit.plugin.safety import Decider, Guard
from cockpit.plugin.tools import Tool
from cockpit.settings.files import EffectiveSettings


def describe_value(value: object) -> str:
    """A registered value in one line: what it is, and what it may do or see."""
    match value:
        case Tool():
            text = f"a model may call it; {value.kind}: {', '.join(sorted(value.capabilities))}"
        case Model():
            text = "on this machine" if value.local else "sends what you write to its provider"
        case values.Skill() | values.Role() | values.Frontend():
            text = value.description
        case values.Command():
            text = f"/{value.name}: {value.description}"
        case values.McpServer():
            text = f"starts {' '.join(value.command)}" if value.command else f"talks to {value.url}"
        case values.Language():
            servers = ", ".join(server.name for server in value.servers)
            text = " ".join(value.globs) + (f"; starts {servers} if installed" if servers else "")
        case Guard():
            text = f"sees every {value.point.replace('_', ' ')} and may stop it"
        case Decider():
            text = "decides about every tool call; the strictest verdict wins"
        case values.ContextSource():
            text = f"adds text to the model's context each {value.each}"
        case values.Observer():
            text = f"sees {', '.join(value.kinds)}"
        case values.Resident():
            text = f"runs in the background, one per {value.per}"
        case values.Mention():
            text = f"{value.sign} in a prompt"
        case values.Runner():
            text = "may run subagents"
        case values.Panel():
            text = f"the list {value.title!r} in Work"
        case values.Renderer():
            text = f"displays the results of {value.tool}"
        case values.Theme():
            text = "colours"
        case _:
            text = ""
    return " ".join(text.split())


PROBE_SECONDS = 60
SECRET_SUFFIXES = ("_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD")


@dataclass(frozen=True, slots=True)
class RegisteredValue:
    """A registered value: `what` describes it in a line, `shadows` names the layer and plugin it hides."""

    kind: str
    name: str
    what: str
    shadows: str = ""


@dataclass(frozen=True, slots=True)
class PluginProbe:
    """A plugin of a staged generation. `importing` and `hooks` are milliseconds."""

    name: str
    distribution: str
    version: str
    state: str
    reason: str = ""
    trace: str = ""
    importing: float = 0.0
    hooks: Mapping[str, float] = field(default_factory=dict)
    registers: tuple[RegisteredValue, ...] = ()


def probe_plugins(generation: Path, site: Path) -> list[PluginProbe]:
    """What the plugins in `site` register. Raises `CockpitError` if their process does not answer."""
    with tempfile.TemporaryDirectory(prefix="cockpit-probe-") as folder:
        answer = Path(folder) / "answer.json"
        last_line = _run_probe((str(generation), str(site), str(answer)), folder)
        try:
            rows = json.loads(answer.read_bytes())
        except (OSError, ValueError) as error:
            reason = f"the plugin ended the process that loaded it: {last_line}"
            raise CockpitError(reason, "report it to its author") from error
    return [
        PluginProbe(**{**row, "registers": tuple(RegisteredValue(**item) for item in row["registers"])})
        for row in rows
    ]


def _run_probe(arguments: tuple[str, ...], folder: str) -> str:
    """Run the process and return the last line of its stderr."""
    environment = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith("COCKPIT_") and not key.endswith(SECRET_SUFFIXES)
    }
    environment["COCKPIT_HOME"] = str(Path(folder) / "home")
    try:
        process = subprocess.run(
            [sys.executable, "-m", "cockpit.cli.plugins.probe", *arguments],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PROBE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        reason = f"the plugin did not register within {PROBE_SECONDS} s"
        raise CockpitError(reason, "a plugin must not wait while it is loaded") from error
    lines = process.stderr.strip().splitlines()
    return lines[-1] if lines else f"exit code {process.returncode}"


def _write_answer(generation: str, site: str, file: str) -> None:
    """Load and register the plugins in this process and write the result."""
    # `generation` is an absolute path, because this process has a temporary home.
    record = InstalledRecord(generation, os.path.relpath(site, generation), discovery.python_version())
    manager, discovered = load_plugins(record=record)
    root = Path("root")
    root.mkdir()
    settings = EffectiveSettings({})
    catalog = build_catalog(manager, discovered, str(root.resolve()), settings, {}, False, lambda: None)
    rows = [asdict(_build_probe(plugin, catalog)) for plugin in catalog.plugins if plugin.found.beside]
    Path(file).write_text(json.dumps(rows), encoding="utf-8")


def _build_probe(state: PluginState, catalog: PluginCatalog) -> PluginProbe:
    details = state.found
    return PluginProbe(
        details.name,
        details.distribution,
        details.version,
        details.state,
        details.reason,
        details.trace,
        round(details.seconds * 1000, 1),
        {hook: round(took * 1000, 2) for hook, took in state.hooks.items()},
        tuple(describe_entry(entry) for entry in catalog.entries if entry.plugin == details.name),
    )


def describe_entry(entry: CatalogEntry) -> RegisteredValue:
    """A catalog entry for the user."""
    kind = entry.hook.removeprefix("register_")
    return RegisteredValue(kind, entry.name, describe_value(entry.value), entry.shadows)


if __name__ == "__main__":
    _write_answer(*sys.argv[1:])
