"""`cockpit plugins new`: the generated plugin passes its own tests at once."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.command import cockpit

from cockpit.errors import CockpitError
from cockpit.installing.plugin_template import list_hooks, write_plugin

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("part", range(3))
def test_every_new_plugin_passes_its_own_tests(tmp_path: Path, part: int) -> None:
    for hook in list_hooks()[part::3]:
        write_plugin(f"my-{hook.replace('_', '-')}", hook, tmp_path)
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib")
    ended = subprocess.run(
        (*command, str(tmp_path)), capture_output=True, text=True, timeout=110, check=False
    )
    assert ended.returncode == 0, ended.stdout[-3000:]


def test_every_new_plugin_passes_ruff(tmp_path: Path) -> None:
    folders = [write_plugin(f"my-{hook.replace('_', '-')}", hook, tmp_path)[0] for hook in list_hooks()]
    ruff = (sys.executable, "-m", "ruff")
    rules = ("--isolated", "--line-length", "110")
    for words in (("check", *rules, "--select", "E,F,I,UP,B"), ("format", "--check", *rules)):
        ended = subprocess.run((*ruff, *words, *folders), capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stdout


@pytest.mark.parametrize("name", ["", "7up", "-x", "../up", "class", "a/b", "a b"])
def test_an_invalid_plugin_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(CockpitError, match="is not a valid plugin name"):
        write_plugin(name, "tool", tmp_path)
    assert not list(tmp_path.iterdir())


def test_an_existing_folder_is_not_touched(root: Path) -> None:
    (root / "cockpit-tea").mkdir()
    ended = cockpit("plugins", "new", "tea", cwd=root)
    assert ended.code == 1 and "exists already" in ended.err
    assert not list((root / "cockpit-tea").iterdir())
