"""`cockpit plugins install|remove|upgrade` with real installers and real files, and no network."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from tests.support.command import Ended, cockpit
from tests.support.wheels import command, plugin, wheel

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

OFFLINE = ("--no-index", "--yes", "--installer", "uv")


@pytest.fixture(autouse=True)
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which installers find wheels; every plugin that is installed is loaded."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.delenv("COCKPIT_PLUGINS")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("UV_FIND_LINKS", str(folder))
    return folder


def run(root: Path, *arguments: str) -> Ended:
    return cockpit("plugins", *arguments, cwd=root)


def install(root: Path, *arguments: str) -> Ended:
    ended = run(root, "install", *OFFLINE, *arguments)
    assert ended.code == 0, ended.err
    return ended


def states(root: Path) -> dict[str, str]:
    rows = json.loads(run(root, "list", "--json").out)
    return {row["name"]: row["state"] for row in rows if row["distribution"] != "cockpit-agent"}


def info(root: Path, name: str) -> dict[str, object]:
    rows = json.loads(run(root, "info", name, "--json").out)
    found: dict[str, object] = rows[0]
    return found


def everything(home: Path) -> dict[str, bytes]:
    """Every file of the data folder that is no compiled module."""
    data = home / "data"
    paths = [path for path in sorted(data.rglob("*")) if path.is_file() and path.suffix != ".pyc"]
    return {path.relative_to(data).as_posix(): path.read_bytes() for path in paths}


@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_plugin_is_installed_and_removed_with_its_dependencies(
    root: Path, home: Path, wheels: Path, installer: str
) -> None:
    wheel(wheels, "tea-leaves", {"tea_leaves.py": "KIND = 'green'\n"})
    text = "import tea_leaves\n" + command("tea", "tea it is")
    plugin(wheels, "tea", text, needs=("tea-leaves>=1", "textual"))
    ended = run(root, "install", "cockpit-tea", "--no-index", "--yes", "--installer", installer)
    assert ended.code == 0, ended.err
    assert "commands     tea  /tea: Says something" in ended.out
    assert "Also installs:\n  tea-leaves 1.0" in ended.out and "textual" not in ended.out
    assert states(root) == {"tea": "loaded"}
    row = info(root, "cockpit-tea")
    assert (row["version"], row["source"], row["where"]) == ("1.0", "cockpit-tea", "the plugin environment")
    assert isinstance(row["hooks"], dict) and set(row["hooks"]) == {"import", "register_commands"}
    assert cockpit("-p", "/tea", cwd=root).out == "tea it is\n"
    removed = run(root, "remove", "tea")
    assert "Removed cockpit-tea 1.0." in removed.out and "(no longer needed): tea-leaves 1.0" in removed.out
    assert states(root) == {}
    assert not [name for name in everything(home) if "tea" in name.partition("/")[2] and "gen" not in name]


def test_shared_dependency_stays_until_both_plugins_are_removed(root: Path, wheels: Path) -> None:
    wheel(wheels, "tea-leaves", {"tea_leaves.py": ""})
    for name in ("black", "green"):
        plugin(wheels, name, needs=("tea-leaves",))
    install(root, "cockpit-black", "cockpit-green")
    assert "tea-leaves" not in run(root, "remove", "black").out
    assert "tea-leaves" in run(root, "remove", "cockpit-green").out


@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_plugin_cannot_replace_dependencies_of_cockpit(
    root: Path, home: Path, wheels: Path, installer: str
) -> None:
    wheel(wheels, "textual", {"textual/__init__.py": "raise SystemExit('replaced')\n"}, version="99.0")
    plugin(wheels, "new", needs=("textual>=99",))
    plugin(wheels, "old", command("old"))
    install(root, "cockpit-old")
    before = everything(home)
    ended = run(root, "install", "cockpit-new", "--no-index", "--yes", "--installer", installer)
    assert ended.code == 1 and "textual" in ended.err and "othing was changed" in ended.err
    assert everything(home) == before and states(root) == {"old": "loaded"}


@pytest.mark.parametrize(
    ("name", "source", "words"),
    [
        ("falls", "raise RuntimeError('bad day')\n", ("RuntimeError: bad day", "__init__.py:1")),
        ("leaves", "import os\nos._exit(3)\n", ("ended the process",)),
        (
            "misspells",
            "from cockpit.plugin import hookimpl\n@hookimpl\ndef register_tolls(register): ...\n",
            ("register_tolls", "did you mean register_tools"),
        ),
    ],
)
def test_plugin_that_does_not_load_is_not_installed(
    root: Path, home: Path, wheels: Path, name: str, source: str, words: tuple[str, ...]
) -> None:
    plugin(wheels, name, source)
    ended = run(root, "install", f"cockpit-{name}", *OFFLINE)
    assert ended.code == 1 and all(word in ended.err for word in words), ended.err
    assert states(root) == {} and not everything(home)


def test_non_plugin_is_refused_and_missing_source_is_named(root: Path, home: Path, wheels: Path) -> None:
    wheel(wheels, "just-a-library", {"just_a_library.py": ""})
    assert "no entry point" in run(root, "install", "just-a-library", *OFFLINE).err
    assert "check the name" in run(root, "install", "cockpit-nobody-made-it", *OFFLINE).err
    assert "contains no plugin" in run(root, "install", ".", *OFFLINE).err
    assert "does not exist" in run(root, "install", "./gone.whl", *OFFLINE).err
    assert "is not a plugin source" in run(root, "install", "--yes", "--", "-r", "x").err
    assert "already in cockpit's own environment" in run(root, "install", "textual", *OFFLINE).err
    assert not everything(home)


def test_declined_install_changes_nothing(root: Path, home: Path, wheels: Path) -> None:
    plugin(wheels, "tea")
    ended = run(root, "install", "cockpit-tea", "--no-index", "--installer", "uv")
    assert ended.code == 1 and "commands     tea" in ended.out and "--yes" in ended.err
    assert not everything(home)


def test_a_wheel_a_folder_and_an_editable_folder_install(root: Path, wheels: Path, tmp_path: Path) -> None:
    made = plugin(tmp_path / "elsewhere", "tea")
    install(root, str(made))
    assert run(root, "new", "coffee", "--hook", "command", "--into", str(tmp_path)).code == 0
    folder = tmp_path / "cockpit-coffee"
    install(root, "--no-build-isolation", "--editable", str(folder))
    assert states(root) == {"tea": "loaded", "coffee": "loaded"}
    assert info(root, "coffee")["source"] == str(folder)
    module = folder / "src" / "cockpit_coffee" / "__init__.py"
    module.write_text(command("espresso"), encoding="utf-8")
    assert info(root, "coffee")["registers"] == ["commands: espresso"]
    install(root, "--no-build-isolation", str(folder))
    module.write_text(command("ristretto"), encoding="utf-8")
    assert info(root, "coffee")["registers"] == ["commands: espresso"]


def test_git_address_is_cloned_at_its_reference_and_recorded(root: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    (store / "plugins").mkdir(parents=True)
    assert run(root, "new", "tea", "--hook", "command", "--into", str(store / "plugins")).code == 0

    def git(*arguments: str) -> str:
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")
        return subprocess.run(
            ("git", *who, *arguments), cwd=store, check=True, capture_output=True, text=True
        ).stdout.strip()

    git("init", "--quiet", "-b", "main")
    git("add", ".")
    git("commit", "--quiet", "-m", "one")
    git("tag", "v1")
    (store / "plugins" / "cockpit-tea" / "src" / "cockpit_tea" / "__init__.py").write_text(command("later"))
    git("commit", "--quiet", "-am", "two")
    address = f"git+{store.as_uri()}@v1#subdirectory=plugins/cockpit-tea"
    assert "neither" in run(root, "install", f"git+{store.as_uri()}", *OFFLINE).err
    install(root, "--no-build-isolation", address)
    row = info(root, "tea")
    assert (row["source"], row["revision"]) == (address, git("rev-parse", "v1"))
    assert row["registers"] == ["commands: tea"]


def test_upgrade_installs_the_newer_version_and_keeps_the_others(root: Path, wheels: Path) -> None:
    plugin(wheels, "tea")
    plugin(wheels, "milk")
    install(root, "cockpit-tea", "cockpit-milk")
    plugin(wheels, "tea", command("tea", "better tea"), version="2.0")
    ended = run(root, "upgrade", "tea", *OFFLINE)
    assert ended.code == 0 and "Installed cockpit-tea 2.0" in ended.out, ended.err
    assert info(root, "tea")["version"] == "2.0" and states(root) == {"milk": "loaded", "tea": "loaded"}
    assert "did you mean" in run(root, "upgrade", "teaa", *OFFLINE).err


def test_enable_and_disable_write_settings_and_suggest_names(root: Path, home: Path, wheels: Path) -> None:
    plugin(wheels, "tea")
    install(root, "cockpit-tea")
    assert run(root, "disable", "cockpit-tea", "search").code == 0
    assert states(root) == {"tea": "disabled"}
    assert 'disabled = ["tea", "search"]' in (home / "config" / "settings.toml").read_text("utf-8")
    assert "disabled in your settings" in install(root, "cockpit-tea").out
    assert run(root, "enable", "tea").out == "enabled tea\n"
    assert states(root) == {"tea": "loaded"}
    assert "did you mean tea?" in run(root, "disable", "teas").err
    assert "part of cockpit" in run(root, "remove", "read").err


def test_plugins_for_another_python_are_listed_but_not_loaded(root: Path, home: Path, wheels: Path) -> None:
    plugin(wheels, "tea")
    install(root, "cockpit-tea")
    record = home / "data" / "plugins" / "installed.json"
    raw = json.loads(record.read_text(encoding="utf-8"))
    record.write_text(json.dumps({**raw, "python": "3.9"}), encoding="utf-8")
    row = next(row for row in json.loads(run(root, "--json").out) if row["name"] == "tea")
    assert row["state"] == "failed" and "Python 3.9" in row["reason"] and "upgrade" in row["reason"]
    assert run(root, "upgrade", *OFFLINE).code == 0
    assert states(root) == {"tea": "loaded"}


def test_empty_cockpit_plugins_loads_only_built_in_plugins(
    root: Path, wheels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin(wheels, "tea")
    install(root, "cockpit-tea")
    monkeypatch.setenv("COCKPIT_PLUGINS", "")
    assert states(root) == {}
    monkeypatch.setenv("COCKPIT_PLUGINS", "tea")
    assert states(root) == {"tea": "loaded"}


def test_record_with_outside_paths_removes_nothing_outside(root: Path, home: Path, wheels: Path) -> None:
    plugin(wheels, "tea")
    install(root, "cockpit-tea")
    victim = home / "victim.txt"
    victim.write_text("mine", encoding="utf-8")
    (facts,) = home.glob("data/plugins/gen-*/site-packages/cockpit_tea-1.0.dist-info")
    with (facts / "RECORD").open("a", encoding="utf-8") as record:
        record.write(f"{os.path.relpath(victim, facts.parent)},,\n{victim},,\n")
    assert run(root, "remove", "tea").code == 0
    assert victim.read_text(encoding="utf-8") == "mine"
