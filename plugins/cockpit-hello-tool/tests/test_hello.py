"""Tests a plugin without cockpit's internals: it is installed into a separate folder, and `cockpit` runs with
the `scripted` model, which plays a JSON script and needs no network.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PLUGIN = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip installed the plugin."""
    folder = tmp_path_factory.mktemp("site")
    options = ("--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation")
    install = (sys.executable, "-m", "pip", "install", *options, "--target", str(folder), str(PLUGIN))
    subprocess.run(install, check=True)
    return folder


def cockpit(folder: Path, site: Path, *arguments: str) -> str:
    """The output of `cockpit` with a temporary home and this plugin."""
    environment = dict(
        os.environ,
        PYTHONPATH=str(site),
        COCKPIT_HOME=str(folder / "home"),
        COCKPIT_PLUGINS="hello",
        COCKPIT_SCRIPT=str(folder / "script.json"),
    )
    command = (sys.executable, "-m", "cockpit", *arguments)
    process = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, timeout=60, check=True
    )
    return process.stdout.decode("utf-8")


def test_plugin_is_loaded_and_lists_its_values(site: Path, tmp_path: Path) -> None:
    rows = json.loads(cockpit(tmp_path, site, "plugins", "--json"))
    row = next(row for row in rows if row["name"] == "hello")
    assert row["state"] == "loaded" and row["registers"] == ["tools: hello", "commands: hello"]


def test_model_calls_the_tool_and_the_command_lists_the_names(site: Path, tmp_path: Path) -> None:
    call = {"name": "hello", "arguments": {"name": "Ada"}}
    script = {"steps": [{"calls": [call]}, {"text": "greeted"}]}
    (tmp_path / "script.json").write_text(json.dumps(script), encoding="utf-8")
    streamed = cockpit(
        tmp_path, site, "-p", "greet Ada", "--model", "scripted:script", "--output-format", "stream-json"
    )
    assert '"text":"Hello, Ada!"' in streamed
    assert cockpit(tmp_path, site, "-p", "/hello") == "Ada\n"
