"""Paths with a verdict that was decided by hand, judged by `cockpit policy paths`."""

import json
import os
from pathlib import Path

import pytest
from tests.support.command import cockpit

LETTERS = {"allow": "a", "confirm": "c", "deny": "d"}
ROWS = [
    tuple(row.split("\t"))
    for row in (Path(__file__).parent / "paths_by_hand.txt").read_text(encoding="utf-8").splitlines()
    if row and not row.startswith("#")
]
LINKS = {
    "lout": "../out", "hk": ".git/hooks", "src/s": "../../home/.ssh", "pub": ".env", "dd": "/dev/sda",
    "dang": "nowhere", "dango": "../out/new", "self": ".", "env1": "/proc/self/environ", "gl": ".GIT",
}  # fmt: skip


@pytest.fixture
def folders(tmp_path: Path) -> tuple[str, str]:
    ws, home = tmp_path / "ws", tmp_path / "home"
    files = (
        ws / "src/a.py", ws / ".env", ws / ".git/hooks/pre-commit", ws / ".cockpit/x", tmp_path / "out/o.txt",
        home / ".ssh/id_rsa",
    )  # fmt: skip
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x\n", encoding="utf-8")
    for name, to in LINKS.items():
        (ws / name).symlink_to(to)
    os.link(tmp_path / "out/o.txt", ws / "hard.txt")
    os.link(home / ".ssh/id_rsa", ws / "note.txt")
    os.link(ws / ".git/hooks/pre-commit", ws / "hh")
    os.mkfifo(ws / "ff")
    return str(ws), str(home)


@pytest.mark.parametrize("system", ["posix", "windows"])
def test_every_path_of_the_table_gets_its_verdict(
    folders: tuple[str, str], tmp_path: Path, system: str
) -> None:
    rows = [row for row in ROWS if row[0] == system]
    assert len(rows) > 40
    root, home = folders if system == "posix" else ("C:\\proj\\ws", "C:\\Users\\dev")
    lines = "".join(json.dumps({"id": row[3], "path": row[3]}) + "\n" for row in rows)
    arguments = ("policy", "paths", "--jsonl", "--root", root, "--home", home, "--os", system)
    ended = cockpit(*arguments, cwd=tmp_path, stdin=lines)
    assert (ended.code, ended.err) == (0, "")
    said = [json.loads(line) for line in ended.out.splitlines()]
    found = [(system, LETTERS[item["read"]], LETTERS[item["write"]], item["id"]) for item in said]
    assert found == rows
