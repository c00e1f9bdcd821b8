"""A cockpit for the tests of a plugin: the real command in a process of its own, with the plugin found by
its entry point, a home and a folder of the test's own, and a model that plays a script. No network.

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
    """How the command ended."""

    code: int
    out: str
    err: str


class Trial:
    """The plugin whose `pyproject.toml` lies in `plugin`, tried in `folder`.

    `root` is the project that cockpit works on, `home` holds its settings. `environment` is added to
    that of the test.
    """

    def __init__(self, plugin: Path, folder: Path, **environment: str) -> None:
        self.root, self.home = folder / "project", folder / "home"
        self._folder = folder
        for one in (self.root, self.home / "config"):
            one.mkdir(parents=True, exist_ok=True)
        (folder / "site").mkdir(exist_ok=True)
        places = installed_in(plugin, folder / "site")
        kept = {key: one for key, one in os.environ.items() if not key.endswith(SECRET_SUFFIXES)}
        kept.pop("COCKPIT_PLUGINS", None)
        before = kept.get("PYTHONPATH")
        self._environment = {
            **kept,
            "COCKPIT_HOME": str(self.home),
            "PYTHONPATH": os.pathsep.join([*places, *([before] if before else [])]),
            **environment,
        }

    def settings(self, text: str) -> None:
        """Write the user's `settings.toml`."""
        (self.home / "config" / "settings.toml").write_text(text, encoding="utf-8")

    def run(self, *arguments: str, stdin: str = "") -> CompletedCommand:
        """Run `cockpit` with `arguments` in the project, to its end."""
        ended = subprocess.run(
            [sys.executable, "-m", "cockpit", *arguments],
            cwd=self.root,
            env=self._environment,
            input=stdin.encode(),
            capture_output=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
        return CompletedCommand(ended.returncode, ended.stdout.decode("utf-8"), ended.stderr.decode("utf-8"))

    def plugin(self, name: str) -> Mapping[str, Json]:
        """What `cockpit plugins info NAME` tells: `state`, `reason`, `registers`, `values`, ..."""
        ended = self.run("plugins", "info", name, "--json")
        if ended.code != 0:
            raise AssertionError(ended.err)
        return cast("Mapping[str, Json]", json.loads(ended.out)[0])

    def prompt(self, text: str, *steps: Mapping[str, Json], flags: tuple[str, ...] = ()) -> tuple[Event, ...]:
        """Everything that happens when `text` is said and the model plays `steps`.

        A step is `calling(...)` or `{"text": "..."}`; behind the last one the model says that it is done.
        `flags` are those of the command: `("--mode", "full")`.
        """
        script = self._folder / "script.json"
        script.write_text(json.dumps({"steps": [*steps, {"text": "Done."}]}), encoding="utf-8")
        self._environment["COCKPIT_SCRIPT"] = str(script)
        model = () if "--model" in flags else ("--model", "scripted:script")
        ended = self.run("-p", text, *model, "--output-format", "stream-json", *flags)
        if not ended.out:
            raise AssertionError(ended.err)
        return tuple(wire.loads(line).event for line in ended.out.splitlines())

    @staticmethod
    def results(events: tuple[Event, ...]) -> list[str]:
        """What the tools answered, in their order."""
        return [one.result.text for one in events if isinstance(one, ToolCallFinished)]


def calling(*calls: tuple[str, Mapping[str, Json]]) -> Mapping[str, Json]:
    """A step in which the model calls tools, each by its name and its arguments."""
    return {"calls": [{"name": name, "arguments": dict(arguments)} for name, arguments in calls]}


def installed_in(plugin: Path, site: Path) -> list[str]:
    """What an installer would write about the plugin, written into `site`; the folders to put on the path.

    Only the facts of `[project]`: nothing is built, and what it depends on is not fetched.
    """
    project = tomllib.loads((plugin / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    name, version = str(project["name"]), str(project.get("version", "0"))
    facts = site / f"{name.replace('-', '_')}-{version}.dist-info"
    facts.mkdir(exist_ok=True)
    needs = "".join(f"Requires-Dist: {one}\n" for one in project.get("dependencies", ()))
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}"
    (facts / "METADATA").write_text(metadata, encoding="utf-8")
    points = ""
    for group, names in project.get("entry-points", {}).items():
        points += f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in names.items())
    (facts / "entry_points.txt").write_text(points, encoding="utf-8")
    source = plugin / "src"
    return [str(site), str(source if source.is_dir() else plugin)]
