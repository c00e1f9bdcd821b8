"""Claude Code's plugins: what lies in one, what is refused, and where they are found."""

import json
from pathlib import Path

from tests.support.bundles import write_bundle

from cockpit import paths
from cockpit.formats.bundles import Bundle, list_bundles, read_bundle, read_installed_bundles
from cockpit.plugin.origin import Unloaded


def read(folder: Path, **manifest: object) -> Bundle:
    bundle = read_bundle(write_bundle(folder, **manifest))
    assert isinstance(bundle, Bundle)
    return bundle


def test_every_part_is_found_in_its_usual_place(tmp_path: Path) -> None:
    bundle = read(tmp_path)
    assert (bundle.name, bundle.version, bundle.description) == ("tidy", "1.2.0", "Keeps code tidy")
    assert bundle.places == {kind: (tmp_path / kind,) for kind in ("skills", "agents", "commands")}
    assert [item.path for item in bundle.hooks] == [tmp_path / "hooks" / "hooks.json"]
    assert (bundle.hooks[0].layer, bundle.hooks[0].root) == ("plugin", str(tmp_path))
    assert (bundle.servers, bundle.languages) == ((tmp_path / ".mcp.json",), (tmp_path / ".lsp.json",))
    assert bundle.faults == ()


def test_the_manifest_names_more_and_other_places(tmp_path: Path) -> None:
    (tmp_path / "more" / "deep").mkdir(parents=True)
    (tmp_path / "extra.json").write_text("{}", encoding="utf-8")
    bundle = read(
        tmp_path, skills="./more", commands=["./more/deep"], hooks="./extra.json", mcpServers={"x": {}}
    )
    assert bundle.places["skills"] == (tmp_path / "skills", tmp_path / "more")
    assert bundle.places["commands"] == (tmp_path / "more" / "deep",)
    assert [item.path.name for item in bundle.hooks] == ["hooks.json", "extra.json"]
    assert bundle.servers == (tmp_path / ".mcp.json", bundle.file)


def test_paths_outside_of_a_bundle_or_missing_are_refused(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    bundle = read(tmp_path / "b", agents=["../out", "./gone"], themes="./x", skills={"a": {}})
    assert bundle.places["agents"] == (tmp_path / "b" / "agents",)
    reasons = [str(item).removeprefix(f"{bundle.file}:") for item in bundle.faults]
    assert [reason.partition(": ")[2].partition(";")[0] for reason in reasons] == [
        "`skills` is a table",
        "`agents` names '../out'",
        "`agents` names './gone', which does not exist",
        "`themes` is ignored",
    ]
    assert all(reason[0].isdigit() and reason[0] != "0" for reason in reasons)


def test_bundle_without_a_manifest_is_named_after_its_folder(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path / "swift")
    (folder / ".claude-plugin" / "plugin.json").unlink()
    bundle = read_bundle(folder)
    assert isinstance(bundle, Bundle) and bundle.name == "swift"


def test_invalid_or_missing_bundle_name_is_reported(tmp_path: Path) -> None:
    for said, reason in (
        ("../../x", "'../../x' is not a valid name"),
        ("a:b\x1b[2J", "'a:b\\x1b[2J' is not a valid name"),
    ):
        bundle = read(tmp_path / "kit", name=said)
        assert bundle.name == "kit"
        assert [(item.line, item.reason) for item in bundle.faults] == [(2, reason)]
    (tmp_path / "kit" / ".claude-plugin" / "plugin.json").write_text('{"version": "1"}', encoding="utf-8")
    nameless = read_bundle(tmp_path / "kit")
    assert isinstance(nameless, Bundle) and nameless.name == "kit"
    assert [item.reason for item in nameless.faults] == ["it has no `name`"]


def test_broken_manifest_is_reported_with_its_line(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path / "b")
    (folder / ".claude-plugin" / "plugin.json").write_text('{\n"name" "x"}', encoding="utf-8")
    broken = read_bundle(folder)
    assert isinstance(broken, Unloaded) and broken.name == "b"
    assert str(broken.origin.refused[0]).startswith(f"{folder}/.claude-plugin/plugin.json:2: invalid JSON")


def test_cockpits_bundles_come_first_and_disabled_ones_are_left_out(tmp_path: Path, home: Path) -> None:
    person, root = tmp_path / "person", tmp_path / "project"
    write_bundle(paths.data() / "bundles" / "tidy")
    cache = person / ".claude" / "plugins" / "cache"
    rows = {}
    for name, more in (
        ("tidy", {}),
        ("other", {}),
        ("off", {}),
        ("local", {"scope": "project", "projectPath": str(root)}),
    ):
        folder = write_bundle(cache / name, name=name)
        rows[f"{name}@market"] = [{"scope": "user", "installPath": str(folder), "version": "1", **more}]
    registry = person / ".claude" / "plugins" / "installed_plugins.json"
    registry.write_text(json.dumps({"version": 2, "plugins": rows}), encoding="utf-8")
    settings = {"enabledPlugins": {"off@market": False, "other@market": True}}
    (person / ".claude" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    found = {item.name: item.source for item in list_bundles(person, root / "below")}
    assert found == {
        "tidy": "cockpit plugins",
        "other": "Claude Code (other@market)",
        "local": "Claude Code (local@market)",
    }
    assert "local" not in {item.name for item in list_bundles(person, tmp_path / "elsewhere")}


def test_the_older_registry_is_read_too_and_a_broken_one_has_none(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path / "x")
    registry = tmp_path / "person" / ".claude" / "plugins" / "installed_plugins.json"
    registry.parent.mkdir(parents=True)
    row = {"version": "1", "installPath": str(folder)}
    registry.write_text(json.dumps({"version": 1, "plugins": {"tidy@m": row}}), encoding="utf-8")
    assert [item.name for item in read_installed_bundles(tmp_path / "person")] == ["tidy"]
    registry.write_text("{", encoding="utf-8")
    assert list(read_installed_bundles(tmp_path / "person")) == []
