"""Runs a plugin in a real cockpit, for the plugin's tests: the actual command in its own process, with the
plugin found by its entry point, its own home and project folder, and a model that follows a script. No
network.

    trial = Trial(Path(__file__).parents[1], tmp_path)
    assert trial.plugin("words")["state"] == "loaded"
    events = trial.prompt("count", calling(("count_words", {"path": "a.txt"})))
    assert trial.results(events) == ["5 words"]
"""

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from cockpit.protocol import wire
from cockpit.protocol.events import Event, ToolCallFinished
from cockpit.protocol.messages import Json

TIMEOUT_SECONDS = 120.0
SECRET_SUFFIXES = ("_API_KEY", "_BASE_URL")


@dataclass(frozen=True, slots=True)
class CompletedCommand:
    """Exit code and output of the command."""

    code: int
    out: str
    err: str


class Trial:
    """Tries the plugin whose `pyproject.toml` is in the folder `plugin`, using `folder` for its files.

    `root` is the project that cockpit works on, `home` contains its settings. `environment` is added to that
    of the test.
    """

    def __init__(self, plugin: Path, folder: Path, **environment: str) -> None:
        self.root, self.home = folder / "project", folder / "home"
        self._folder = folder
        for item in (self.root, self.home / "config"):
            item.mkdir(parents=True, exist_ok=True)
        (folder / "site").mkdir(exist_ok=True)
        import_paths = installed_in(plugin, folder / "site")
        inherited = {key: item for key, item in os.environ.items() if not key.endswith(SECRET_SUFFIXES)}
        inherited.pop("COCKPIT_PLUGINS", None)
        python_path = inherited.get("PYTHONPATH")
        self._environment = {
            **inherited,
            "COCKPIT_HOME": str(self.home),
            "PYTHONPATH": os.pathsep.join([*import_paths, *([python_path] if python_path else [])]),
            **environment,
        }

    def settings(self, text: str) -> None:
        """Write the user's `settings.toml`."""
        (self.home / "config" / "settings.toml").write_text(text, encoding="utf-8")

    def run(self, *arguments: str, stdin: str = "") -> CompletedCommand:
        """Run `cockpit` with `arguments` in the project until it ends."""
        completed = subprocess.run(
            [sys.executable, "-m", "cockpit", *arguments],
            cwd=self.root,
            env=self._environment,
            input=stdin.encode(),
            capture_output=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
        return CompletedCommand(
            completed.returncode, completed.stdout.decode("utf-8"), completed.stderr.decode("utf-8")
        )

    def plugin(self, name: str) -> Mapping[str, Json]:
        """What `cockpit plugins info NAME` prints: `state`, `reason`, `registers`, `values`, ..."""
        completed = self.run("plugins", "info", name, "--json")
        if completed.code != 0:
            raise AssertionError(completed.err)
        return cast("Mapping[str, Json]", json.loads(completed.out)[0])

    def prompt(self, text: str, *steps: Mapping[str, Json], flags: tuple[str, ...] = ()) -> tuple[Event, ...]:
        """Every event after the prompt `text`, with the model playing `steps`.

        A step is `calling(...)` or `{"text": "..."}`; after the last one the model says that it is done.
        `flags` are those of the command: `("--mode", "full")`.
        """
        script = self._folder / "script.json"
        script.write_text(json.dumps({"steps": [*steps, {"text": "Done."}]}), encoding="utf-8")
        self._environment["COCKPIT_SCRIPT"] = str(script)
        model = () if "--model" in flags else ("--model", "scripted:script")
        completed = self.run("-p", text, *model, "--output-format", "stream-json", *flags)
        if not completed.out:
            raise AssertionError(completed.err)
        return tuple(wire.loads(line).event for line in completed.out.splitlines())

    @staticmethod
    def results(events: tuple[Event, ...]) -> list[str]:
        """The results of the tool calls, in order."""
        return [event.result.text for event in events if isinstance(event, ToolCallFinished)]


def calling(*calls: tuple[str, Mapping[str, Json]]) -> Mapping[str, Json]:
    """A step in which the model calls tools, each given as its name and arguments."""
    return {"calls": [{"name": name, "arguments": dict(arguments)} for name, arguments in calls]}


def installed_in(plugin: Path, site: Path) -> list[str]:
    """Write the metadata that an installer would write for the plugin into `site`; returns the folders for
    the import path.

    Uses `[project]` only: nothing is built, and dependencies are not installed.
    """
    project = tomllib.loads((plugin / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    name, version = str(project["name"]), str(project.get("version", "0"))
    dist_info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    dist_info.mkdir(exist_ok=True)
    needs = "".join(f"Requires-Dist: {dependency}\n" for dependency in project.get("dependencies", ()))
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}"
    (dist_info / "METADATA").write_text(metadata, encoding="utf-8")
    entry_points = ""
    for group, names in project.get("entry-points", {}).items():
        entry_points += f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in names.items())
    (dist_info / "entry_points.txt").write_text(entry_points, encoding="utf-8")
    source = plugin / "src"
    return [str(site), str(source if source.is_dir() else plugin)]
