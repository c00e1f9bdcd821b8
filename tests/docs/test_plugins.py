"""docs/plugins.md by doing what it says: the plugin of the page is made, installed and called."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.pages import blocks, read, section
from tests.support.command import cockpit

from cockpit.protocol import wire
from cockpit.protocol.events import ToolCallFinished

PAGE = read("plugins.md")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page's plugin, installed into a folder."""
    sources = tmp_path_factory.mktemp("cockpit-words")
    package = sources / "src" / "cockpit_words"
    package.mkdir(parents=True)
    (sources / "pyproject.toml").write_text(blocks(PAGE, "toml")[0], encoding="utf-8")
    (package / "__init__.py").write_text(blocks(PAGE, "python")[0], encoding="utf-8")
    folder = tmp_path_factory.mktemp("site")
    options = ("--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation")
    install = (sys.executable, "-m", "pip", "install", *options, "--target", str(folder), str(sources))
    subprocess.run(install, check=True)
    return folder


def test_the_script_of_the_page_calls_the_tool_of_the_page(site: Path, root: Path) -> None:
    (root / "README.md").write_text("five words in this file\n", encoding="utf-8")
    making, trying = blocks(section(PAGE, "## 4. Try it (one minute)"), "")[0].splitlines()
    written = subprocess.run(making.partition(" > ")[0], shell=True, capture_output=True, check=True)
    (root / "script.json").write_bytes(written.stdout)
    assert "--model scripted:script --output-format stream-json" in trying
    ended = cockpit(
        *("-p", "count", "--model", "scripted:script", "--output-format", "stream-json"),
        cwd=root,
        environment={"COCKPIT_SCRIPT": "script.json", "COCKPIT_PLUGINS": "words", "PYTHONPATH": _path(site)},
    )
    events = [wire.loads(line).event for line in ended.out.splitlines()]
    (finished,) = [event for event in events if isinstance(event, ToolCallFinished)]
    assert (finished.result.outcome, finished.result.text) == ("ok", "5 words"), ended.err


def test_the_listing_shows_it_as_the_page_says(site: Path, root: Path) -> None:
    environment = {"COCKPIT_PLUGINS": "words", "PYTHONPATH": _path(site)}
    lines = cockpit("plugins", cwd=root, environment=environment).out.splitlines()
    (line,) = [line for line in lines if line.startswith("words ")]
    assert "loaded" in line and line.endswith("count_words")


def _path(site: Path) -> str:
    return os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH", ""))))
