"""`cockpit rewind`: listing, going back and undoing without a screen."""

import json
from pathlib import Path

import pytest
from tests.support.decks import call, driving, script

from cockpit.cli import rewind
from cockpit.core.session.options import RunOptions


@pytest.fixture
async def session(root: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A stored session of two turns that wrote a file each."""
    monkeypatch.setenv("COCKPIT_SCRIPT", str(root.parent / "script.json"))
    one, two = (dict(call("write", path=f"{name}.txt", content="x\n")) for name in ("one", "two"))
    script(root.parent, {"calls": [one]}, {"text": "ok"}, {"calls": [two]}, {"text": "ok"})
    async with driving(root, options=RunOptions(model="scripted:script", mode="full")) as driver:
        for text in ("make one", "make two"):
            await driver.prompt(text)
        return driver.channel.session


def names(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir())


def test_turns_are_listed_rewound_and_restored(
    session: str, root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(root)
    assert rewind.main([]) == 0
    assert "  1  make one  (1 files +1 -0)" in capsys.readouterr().out
    assert rewind.main([session, "--turn", "2", "--dry-run"]) == 0
    assert "two.txt  +0 -1" in capsys.readouterr().out and names(root) == ["one.txt", "two.txt"]
    assert rewind.main([session, "--turn", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["files"] == 1 and names(root) == ["one.txt"]
    (root / "one.txt").write_text("mine\n")
    assert rewind.main([session, "--turn", "1"]) == 0
    assert "one.txt  changed by you since: not restored" in capsys.readouterr().out
    assert rewind.main([session, "--undo"]) == 0
    assert rewind.main([session, "--undo"]) == 0
    assert names(root) == ["one.txt", "two.txt"]
    assert rewind.main([session, "--undo"]) == 1
    assert "no rewind" in capsys.readouterr().err
    assert rewind.main(["--list", "--json"]) == 0
    assert [row["kind"] for row in json.loads(capsys.readouterr().out) if row.get("kind")] == ["rewind"] * 2
