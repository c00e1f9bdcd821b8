"""The wheel, built and installed in a clean environment as a person would, and run there."""

import json
import os
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from cockpit import __version__

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# Where the dependencies are installed that these tests run with.
SITE = sysconfig.get_paths()["purelib"]


@dataclass(frozen=True, slots=True)
class Installed:
    """An environment with nothing but the wheel in it; dependencies come from this one by a link."""

    bin: Path
    folder: Path

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run its `cockpit`, far away from the sources."""
        clean: Mapping[str, str] = {
            key: one for key, one in os.environ.items() if not key.startswith(("PYTHON", "COCKPIT"))
        }
        home = {"COCKPIT_HOME": str(self.folder / "home"), "COCKPIT_PLUGINS": ""}
        return subprocess.run(
            [str(self.bin / "cockpit"), *arguments],
            cwd=self.folder,
            env={**clean, **home, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    build = (sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT))
    ended = subprocess.run(build, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def names(wheel: Path) -> frozenset[str]:
    with zipfile.ZipFile(wheel) as archive:
        return frozenset(archive.namelist())


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("clean")
    venv.create(folder / "venv", with_pip=False)
    scripts = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    python = scripts / ("python.exe" if os.name == "nt" else "python")
    install = ("install", "--quiet", "--disable-pip-version-check", "--no-deps", str(wheel))
    subprocess.run([sys.executable, "-m", "pip", "--python", str(python), *install], check=True)
    query = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    site = subprocess.run([str(python), "-c", query], capture_output=True, text=True, check=True)
    # A path file adds the folder behind the environment's own, and runs no path file of that folder:
    # the editable cockpit there stays out of sight.
    Path(site.stdout.strip(), "dependencies.pth").write_text(SITE + "\n", encoding="utf-8")
    return Installed(scripts, folder)


def test_wheel_contains_themes_data_and_entry_points(wheel: Path, names: frozenset[str]) -> None:
    for path in [*(ROOT / "themes").glob("*.toml")]:
        assert f"cockpit/themes/{path.name}" in names
    package = ROOT / "src" / "cockpit"
    data = [path for path in package.rglob("*") if path.suffix in (".toml", ".tcss", ".md", ".txt")]
    assert data
    assert {f"cockpit/{path.relative_to(package).as_posix()}" for path in data} <= names
    with zipfile.ZipFile(wheel) as archive:
        written = archive.read(next(name for name in names if name.endswith("entry_points.txt"))).decode()
    assert all(f"{name} = {module}" in written for name, module in PROJECT["entry-points"]["cockpit"].items())
    assert f"cockpit = {PROJECT['scripts']['cockpit']}" in written


def test_wheel_contains_only_the_program(names: frozenset[str]) -> None:
    tops = {name.split("/")[0] for name in names}
    assert tops == {"cockpit", f"cockpit_agent-{__version__}.dist-info"}
    assert not [name for name in names if "test" in Path(name).name and "run_tests" not in name]
    assert not [name for name in names if "__pycache__" in name or name.endswith(".pyc")]


def test_every_module_of_the_sources_is_in_the_wheel(names: frozenset[str]) -> None:
    sources = {f"cockpit/{path.relative_to(ROOT / 'src' / 'cockpit').as_posix()}" for path in _sources()}
    assert sources <= names


def _sources() -> list[Path]:
    return [path for path in (ROOT / "src" / "cockpit").rglob("*.py") if "__pycache__" not in path.parts]


def test_installed_wheel_prints_its_version(installed: Installed) -> None:
    ended = installed.run("--version")
    assert (ended.returncode, ended.stdout) == (0, f"cockpit {__version__}\n")
    rows = json.loads(installed.run("doctor", "--json").stdout)
    found = next(row["found"] for row in rows if row["name"] == "cockpit")
    assert str(installed.folder / "venv") in found


def test_all_built_in_plugins_load_from_the_wheel(installed: Installed) -> None:
    rows = json.loads(installed.run("plugins", "--json").stdout)
    assert {row["name"]: row["state"] for row in rows} == dict.fromkeys(
        PROJECT["entry-points"]["cockpit"], "loaded"
    )


def test_installed_wheel_answers_a_prompt(installed: Installed) -> None:
    ended = installed.run("-p", "help")
    assert ended.returncode == 0 and "offline model" in ended.stdout
    assert installed.run("models").returncode == 0


def test_themes_load_from_the_wheel(installed: Installed) -> None:
    code = (
        "from cockpit.tui.render import themes\n"
        "print(themes.packaged_folder())\n"
        "print(*[theme.name for theme in themes.find_themes()[0]])\n"
    )
    python = installed.bin / ("python.exe" if os.name == "nt" else "python")
    clean = {key: one for key, one in os.environ.items() if not key.startswith("PYTHON")}
    ended = subprocess.run(
        [str(python), "-c", code], cwd=installed.folder, env=clean, capture_output=True, text=True, check=True
    )
    folder, themes = ended.stdout.splitlines()
    assert folder.startswith(str(installed.folder)) and "cockpit-night" in themes
