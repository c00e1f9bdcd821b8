"""docs/extend/plugins.md, done to the letter: every command, every edit, and what is shown."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.docs.pages import FENCE, read, rows, section

from cockpit import trial
from cockpit.installing.plugin_template import list_hooks
from cockpit.plugin.hookspecs import HOOKS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

PAGE = read("plugins.md")
WALK = section(PAGE, "## The walk")
EXAMPLES = Path(__file__).parents[2] / "plugins"


class Walker:
    """Somebody who types what the page says, in one shell, and compares what it shows."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._folder = folder
        self._environment = environment
        self._shown = ""
        self._before = ""
        self.checked = 0

    def follow(self, walk: str) -> None:
        end = 0
        for match in FENCE.finditer(walk):
            told, end = walk[end : match.start()].strip(), match.end()
            self._step(match[1], match[2], told)

    def _step(self, language: str, body: str, told: str) -> None:
        match language:
            case "sh":
                self._type(body)
            case "python" if told.endswith("replace"):
                self._before = body
            case "python" if told == "by":
                self._replace(body)
            case "python" | "toml":
                self._stands(body, told)
            case "":
                self._compare(body)
            case _:
                raise AssertionError(f"what is a block of {language}?")

    def _type(self, commands: str) -> None:
        """In a terminal, for a question is only asked of somebody who is there; the answer is yes."""
        ours, theirs = os.openpty()
        try:
            os.write(ours, b"y\ny\n")
            ended = subprocess.run(
                ("sh", "-ec", f"{commands}\npwd > {self._environment['HERE']}"),
                cwd=self._folder,
                env=dict(self._environment),
                stdin=theirs,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=100,
                check=False,
            )
        finally:
            os.close(ours)
            os.close(theirs)
        assert ended.returncode == 0, ended.stdout
        self._shown = ended.stdout
        self._folder = Path(Path(self._environment["HERE"]).read_text(encoding="utf-8").strip())

    def _replace(self, after: str) -> None:
        """In the file that was named last and holds it, once."""
        files = [path for path in self._folder.rglob("*.py") if self._before in path.read_text("utf-8")]
        (path,) = files
        text = path.read_text(encoding="utf-8")
        assert text.count(self._before) == 1
        path.write_text(text.replace(self._before, after), encoding="utf-8")

    def _stands(self, body: str, told: str) -> None:
        named = re.findall(r"`((?:src/|pyproject)[\w/.]+)`", told)
        assert any(body in (self._folder / name).read_text(encoding="utf-8") for name in named), told

    def _compare(self, body: str) -> None:
        """Every line stands there in this order; a number may be another, `...` stands for anything."""
        lines = self._shown.splitlines()
        for wanted in body.splitlines():
            pattern = re.sub(r"\d+", r"\\d+", re.escape(wanted).replace(r"\.\.\.", ".*"))
            while lines and not re.fullmatch(pattern, lines[0].rstrip()):
                lines.pop(0)
            assert lines, f"{wanted!r} is not in what was shown:\n{self._shown}"
            self.checked += 1


def test_the_walk_leads_from_nothing_to_an_installed_plugin(tmp_path: Path, home: Path) -> None:
    kept = {key: one for key, one in os.environ.items() if key not in ("COCKPIT_PLUGINS", "PYTEST_ADDOPTS")}
    environment = {
        **kept,
        "HERE": str(tmp_path / "here"),
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
        "COCKPIT_HOME": str(home),
        # Nothing is fetched: folders are built with the tools of this environment.
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "off",
    }
    start = tmp_path / "clean"
    start.mkdir()
    walker = Walker(start, environment)
    walker.follow(WALK)
    assert walker.checked >= 15
    # It ends with the plugin taken away again.
    assert '"plugins": []' in (home / "data" / "plugins" / "installed.json").read_text(encoding="utf-8")


def test_every_template_is_named_and_every_hook_has_one(tmp_path: Path) -> None:
    named = set(re.findall(r"`(\w+)`", section(WALK, "### 1. Make it (one minute)").partition("--hook")[2]))
    assert named | {"tool"} == set(list_hooks())
    assert len(list_hooks()) == len(HOOKS)


@pytest.mark.parametrize("folder", sorted(EXAMPLES.iterdir()), ids=lambda path: path.name)
def test_every_example_is_listed_with_the_hook_it_teaches(folder: Path) -> None:
    (row,) = re.findall(
        rf"^\| \[{folder.name}\]\(\.\./\.\./plugins/{folder.name}\) \| .* \| `(\w+)` \|$", PAGE, re.M
    )
    (source,) = folder.glob("src/*/__init__.py")
    text = source.read_text("utf-8")
    assert f"example of `{row}`" in " ".join(text.split())
    assert f"def {row}(" in text


def test_every_hook_but_frontends_has_an_example() -> None:
    assert set(HOOKS) - set(re.findall(r"\| `(register_\w+)` \|$", PAGE, re.M)) == {"register_frontends"}


def test_every_method_of_trial_is_documented() -> None:
    told = " ".join(rows(section(PAGE, "## Testing")))
    public = [name for name in vars(trial.Trial) if not name.startswith("_")]
    assert all(f"trial.{name}(" in told for name in public if callable(getattr(trial.Trial, name)))
    assert "calling(" in told
