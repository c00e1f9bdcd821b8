"""`cockpit commands` and `cockpit instructions`: what loaded, why the rest did not, what a model gets."""

import json
from pathlib import Path

import pytest
from tests.support.command import Ended
from tests.support.in_process import cockpit


@pytest.fixture
def person(tmp_path: Path) -> Path:
    folder = tmp_path / "person"
    folder.mkdir()
    return folder


def run(person: Path, root: Path, *arguments: str) -> Ended:
    return cockpit(*arguments, cwd=root, environment={"HOME": str(person), "USERPROFILE": str(person)})


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_show_prints_what_a_model_would_get_and_runs_nothing(root: Path, person: Path) -> None:
    put(root / ".claude/commands/fix.md", "---\nallowed-tools: Read\n---\nFix $0:\n!`touch made`\nsee @a.txt")
    ended = run(person, root, "commands", "show", "fix", "--args", "12", "--trust")
    assert "Fix 12:\n!`touch made`\nsee @a.txt" in ended.out and "would run: touch made" in ended.out
    assert "would read: a.txt" in ended.out and "allows only these tools: Read" in ended.out
    made = json.loads(run(person, root, "commands", "show", "/fix", "--args", "12", "--trust", "--json").out)
    assert made["commands"] == ["touch made"] and made["files"] == ["a.txt"] and made["layer"] == "project"
    assert not (root / "made").exists()
    refused = run(person, root, "commands", "show", "fix")
    assert refused.code == 1 and "there is no command /fix" in refused.err


def test_list_shows_file_layer_fields_shadows_and_refusals(root: Path, person: Path) -> None:
    path = put(root / ".claude/commands/x.md", "---\ndescription: theirs\nmodel: a:b\n---\nx")
    mine = put(person / ".claude/commands/x.md", "mine")
    broken = put(root / ".gemini/commands/y.toml", 'prompt = """\n')
    rows = {
        row["name"]: row for row in json.loads(run(person, root, "commands", "list", "--trust", "--json").out)
    }
    one = rows["x"]
    assert (one["file"], one["layer"], one["shadows"]) == (str(path), "project", [str(mine)])
    assert one["fields"]["description"] == "theirs" and one["refused"][0]["line"] == 3
    assert rows["y"]["refused"][0] | {"reason": "", "remedy": ""} == {
        "file": str(broken),
        "line": 1,
        "reason": "",
        "remedy": "",
    }
    assert rows["connect"]["layer"] == "built-in"


def test_instructions_list_and_show(root: Path, person: Path) -> None:
    put(root / "AGENTS.md", "root words\n@gone.md\n")
    put(root / "part/CLAUDE.md", "part words")
    put(root / "part/a.py", "")
    rows = {
        row["name"]: row
        for row in json.loads(run(person, root, "instructions", "list", "--trust", "--json").out)
    }
    assert rows["AGENTS.md"]["refused"][0]["line"] == 2 and rows["part/CLAUDE.md"]["layer"] == "project"
    assert "root words" in run(person, root, "instructions", "show", "--trust").out
    told = run(person, root, "instructions", "show", "part/a.py", "--trust").out
    assert "part words" in told and "root words" not in told
    missing = run(person, root, "instructions", "show", "part/b.py", "--trust")
    assert missing.code != 0 and "part/b.py is not a file in" in missing.err
    untrusted = run(person, root, "instructions", "show").out
    assert "root words" not in untrusted and "not trusted" in untrusted
