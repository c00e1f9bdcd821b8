"""`cockpit plugins doctor`, `info` and `list` with plugins that have one fault each."""

import json
from pathlib import Path

import pytest
from tests.support.decks import distribution
from tests.support.in_process import cockpit

pytestmark = pytest.mark.slow

HEAD = "from cockpit.plugin import hookimpl\nfrom cockpit.plugin.values import *\n"
FAULTY = {
    "no-import": (
        "import a_library_nobody_has\n",
        "No module named",
        "to the dependencies in its pyproject",
        ":1 in",
    ),
    "wrong-arguments": (
        HEAD + "@hookimpl\ndef register_tools(registrar, scope): ...\n",
        "PluginValidationError",
        "only arguments named `register`",
        "",
    ),
    "misspells": (
        HEAD + "@hookimpl\ndef register_comands(register): ...\n",
        "did you mean register_commands?",
        "rename the function",
        "",
    ),
    "unmarked": (
        HEAD + "def register_panels(register): ...\n",
        "not marked as a hook",
        "@hookimpl",
        ":3 in register_panels",
    ),
    "waits": (
        HEAD + "@hookimpl\nasync def register_panels(register): ...\n",
        "hooks must be plain functions",
        "write `def`",
        "",
    ),
    "unclosed": (HEAD + "def x(\n", "was never closed", "cockpit plugins disable unclosed", ".py:3"),
    # What it prints is no part of the JSON.
    "exits": (
        HEAD + "print('hello')\n@hookimpl\ndef register_panels(register):\n    print('x')\n    exit(3)\n",
        "SystemExit: 3",
        "cockpit plugins disable exits",
        "",
    ),
    "raises": (
        HEAD + "def deep():\n    return 1 / 0\n@hookimpl\ndef register_panels(register):\n    deep()\n",
        "ZeroDivisionError",
        "cockpit plugins disable raises",
        ":4 in deep",
    ),
}


@pytest.fixture(autouse=True)
def site(plugins: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for plugins that the command finds."""
    monkeypatch.setenv("PYTHONPATH", str(plugins))
    return plugins


def diagnosed(root: Path, *names: str) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = json.loads(cockpit("plugins", "doctor", "--json", *names, cwd=root).out)
    return rows


def test_each_fault_has_its_place_and_fix(root: Path, site: Path) -> None:
    for name, (source, *_) in FAULTY.items():
        distribution(site, name, source)
    distribution(
        site, "good", HEAD + "@hookimpl\ndef register_panels(register):\n    register(Panel('g', 'G'))\n"
    )
    ended = cockpit("plugins", "doctor", "--json", cwd=root)
    # On a busy machine any plugin may be slow; that is a note.
    found = {row["plugin"]: row for row in json.loads(ended.out) if row["level"] == "fault"}
    assert ended.code == 1 and set(found) == set(FAULTY)
    for name, (_, what, fix, place) in FAULTY.items():
        row = found[name]
        assert row["level"] == "fault" and what in row["what"] and fix in row["fix"], row
        assert place in row["place"], row
    # The app starts, and what is whole is there.
    states = {row["name"]: row["state"] for row in json.loads(cockpit("plugins", "--json", cwd=root).out)}
    assert states["good"] == "loaded" and states["raises"] == "failed"
    assert cockpit("-p", "help", cwd=root).code == 0


def test_doctor_of_a_single_plugin_reports_only_its_findings(root: Path, site: Path) -> None:
    distribution(site, "raises", FAULTY["raises"][0])
    distribution(
        site, "good", HEAD + "@hookimpl\ndef register_panels(register):\n    register(Panel('g', 'G'))\n"
    )
    assert [row for row in diagnosed(root, "good") if "at every start" not in row["what"]] == []
    assert [row["plugin"] for row in diagnosed(root, "raises")] == ["raises"]
    assert "did you mean good?" in cockpit("plugins", "doctor", "goood", cwd=root).err


def test_duplicate_plugin_and_value_names_are_faults(root: Path, site: Path) -> None:
    panel = HEAD + "@hookimpl\ndef register_panels(register):\n    register(Panel('same', 'S'))\n"
    distribution(site, "first", panel)
    distribution(site, "second", panel)
    distribution(site, "third", panel.replace("same", "other"))
    (site / "third-1.0.dist-info" / "entry_points.txt").write_text(
        "[cockpit]\nfirst = third_plugin\n", "utf-8"
    )
    rows = [row for row in diagnosed(root) if row["level"] == "fault"]
    said = " ".join(row["what"] for row in rows)
    assert "the name first is already used by" in said
    assert "panels: same is registered by first and by second; that of first is used" in said
    assert any("name in [project.entry-points.cockpit]" in row["fix"] for row in rows)


def test_plugin_that_registers_a_name_twice_has_a_fault(root: Path, site: Path) -> None:
    twice = "    register(Panel('same', 'S'))\n" * 2
    distribution(site, "doubled", HEAD + "@hookimpl\ndef register_panels(register):\n" + twice)
    (row,) = [row for row in diagnosed(root, "doubled") if row["level"] == "fault"]
    assert row["what"] == "panels: same is registered twice by doubled"
    assert row["fix"] == "give one of the two another name"


def test_unmet_requirements_are_faults(root: Path, site: Path) -> None:
    distribution(site, "needy", HEAD)
    facts = site / "needy-1.0.dist-info" / "METADATA"
    needs = "Requires-Dist: cockpit-agent>=99\nRequires-Dist: textual<1\nRequires-Dist: nobody-has-it\n"
    extra = 'Requires-Dist: not-asked; extra == "more"\n'
    facts.write_text(facts.read_text("utf-8") + needs + extra, encoding="utf-8")
    said = [row["what"] for row in diagnosed(root, "needy") if row["level"] == "fault"]
    assert len(said) == 3
    assert any("cockpit-agent>=99, cockpit has" in one for one in said)
    assert any("textual<1, cockpit has 8" in one for one in said)
    assert any("nobody-has-it, which is not installed" in one for one in said)


def test_slow_shadowing_and_idle_plugins_are_notes(root: Path, site: Path, home: Path) -> None:
    slow = "total = sum(range(6_000_000))\n" + HEAD
    distribution(
        site, "slow", slow + "@hookimpl\ndef register_panels(register):\n    register(Panel('s', 'S'))\n"
    )
    shadow = """
from cockpit.plugin.tools import Done, Tool
async def run(arguments, context): return Done("mine")
@hookimpl
def register_tools(register):
    schema = {"type": "object"}
    register(Tool("read", "read", "Mine.", schema, frozenset({"fs.read"}), run, lambda given: "read"))
"""
    distribution(site, "shadow", HEAD + shadow)
    distribution(site, "idle", HEAD + "@hookimpl\ndef register_panels(register): ...\n")
    (home / "config").mkdir()
    (home / "config" / "settings.toml").write_text('[plugins]\ndisabled = ["serch"]\n', encoding="utf-8")
    ended = cockpit("plugins", "doctor", "--json", cwd=root)
    notes: dict[str, tuple[str, str]] = {}
    for row in json.loads(ended.out):
        if row["plugin"] == "slow" or "at every start" not in row["what"]:
            notes[row["plugin"]] = row["what"], row["fix"]
    assert ended.code == 0 and {row["level"] for row in json.loads(ended.out)} == {"note"}
    assert "at every start (import" in notes["slow"][0] and "inside the function" in notes["slow"][1]
    assert "its tools: read hides that of built-in (read)" in notes["shadow"][0]
    assert "registers nothing" in notes["idle"][0]
    assert notes["serch"][1] == "did you mean search?"
    assert "(slow: import" in cockpit("plugins", cwd=root).out


def test_info_shows_registered_values_and_time_per_hook(root: Path, site: Path) -> None:
    source = HEAD + "@hookimpl\ndef register_panels(register):\n    register(Panel('g', 'Gauge'))\n"
    distribution(site, "good", source)
    ended = cockpit("plugins", "info", "good", cwd=root)
    assert "good  loaded" in ended.out and "location    cockpit's own environment" in ended.out
    assert "panels      g  the list 'Gauge' in Work" in ended.out and "register_panels 0." in ended.out
    (row,) = json.loads(cockpit("plugins", "info", "good", "--json", cwd=root).out)
    assert set(row["hooks"]) == {"import", "register_panels"}
    assert row["values"] == [
        {"kind": "panels", "name": "g", "what": "the list 'Gauge' in Work", "shadows": ""}
    ]


def test_the_listing_keeps_its_shape(root: Path) -> None:
    by_name = json.loads(cockpit("plugins", "list", "--json", cwd=root).out)
    bare = json.loads(cockpit("plugins", "--json", cwd=root).out)
    keys = {"name", "distribution", "version", "registers", "state", "reason", "milliseconds"}
    assert all(keys <= row.keys() for row in (*by_name, *bare))
    assert [row["name"] for row in by_name] == [row["name"] for row in bare]
