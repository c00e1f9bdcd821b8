"""Generations: what is staged is nobody's until it is committed."""

from pathlib import Path

import pytest

from cockpit.errors import CockpitError
from cockpit.installing.environment import commit, staging
from cockpit.plugin import installed
from cockpit.plugin.installed import Installed, Record

TEA = Installed("cockpit-tea", "1.0", "cockpit-tea", "index", 1.0, ("tea",))
MILK = Installed("cockpit-milk", "1.0", "./milk", "folder", 2.0, ("milk",))


def folders() -> set[str]:
    return {path.name for path in installed.home().glob("gen-*")}


def test_what_is_not_committed_leaves_nothing(home: Path) -> None:
    with pytest.raises(RuntimeError), staging() as staged:
        (staged.site / "tea.py").write_text("", encoding="utf-8")
        raise RuntimeError
    assert not folders() and installed.read() == Record()


def test_a_commit_keeps_one_generation_before_and_links_what_stays(home: Path) -> None:
    seen = []
    for plugins in ((TEA,), (TEA, MILK), (MILK,)):
        with staging() as staged:
            tea = staged.site / "tea.py"
            if not tea.exists():
                tea.write_text("green", encoding="utf-8")
            seen.append((staged.folder.name, tea.stat().st_ino))
            commit(staged, plugins)
    assert folders() == {seen[1][0], seen[2][0]}
    assert seen[0][1] == seen[1][1] == seen[2][1]
    record = installed.read()
    assert record.plugins == (MILK,) and record.past == (seen[1][0],)
    assert installed.decoded({"v": 1, "generation": "../up", "site": "x"}) == Record()


def test_of_two_at_once_the_second_is_told(home: Path) -> None:
    with staging() as first, staging() as second:
        commit(first, (TEA,))
        with pytest.raises(CockpitError, match="meanwhile"):
            commit(second, (MILK,))
    assert installed.read().plugins == (TEA,) and len(folders()) == 1


def test_nothing_installed_puts_nothing_on_the_path(home: Path) -> None:
    assert installed.entries(installed.read()) == []
    with staging() as staged:
        commit(staged, (TEA,))
    assert installed.entries(installed.read()) == [str(staged.site)]
    with staging() as staged:
        commit(staged, ())
    assert installed.entries(installed.read()) == []


def test_path_files_name_folders_and_run_nothing(home: Path, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    lines = (
        f"import os; os.mkdir({str(tmp_path / 'ran')!r})\n# no\n{tmp_path / 'work'}\n{tmp_path / 'gone'}\n"
    )
    with staging() as staged:
        (staged.site / "editable.pth").write_text(lines, encoding="utf-8")
        commit(staged, (TEA,))
    assert installed.entries(installed.read()) == [str(staged.site), str(tmp_path / "work")]
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("torn", [b"", b"[1]", b'{"plugins": [7, {"distribution": ""}]}', b"\xff"])
def test_a_record_that_cannot_be_read_is_none(home: Path, torn: bytes) -> None:
    installed.home().mkdir(parents=True)
    installed.file().write_bytes(torn)
    assert installed.read() == Record()
