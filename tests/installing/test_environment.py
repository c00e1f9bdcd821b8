"""Generations of installed plugins: nothing uses a staged one until it is committed."""

from pathlib import Path

import pytest

from cockpit.errors import CockpitError
from cockpit.installing.environment import commit_environment, stage_environment
from cockpit.plugin import discovery
from cockpit.plugin.discovery import InstalledPlugin, InstalledRecord

TEA = InstalledPlugin("cockpit-tea", "1.0", "cockpit-tea", "index", 1.0, ("tea",))
MILK = InstalledPlugin("cockpit-milk", "1.0", "./milk", "folder", 2.0, ("milk",))


def folders() -> set[str]:
    return {path.name for path in discovery.plugins_folder().glob("gen-*")}


def test_an_uncommitted_generation_is_removed(home: Path) -> None:
    with pytest.raises(RuntimeError), stage_environment() as staged:
        (staged.site / "tea.py").write_text("", encoding="utf-8")
        raise RuntimeError
    assert not folders() and discovery.read_record() == InstalledRecord()


def test_a_commit_keeps_the_previous_generation(home: Path) -> None:
    seen = []
    for plugins in ((TEA,), (TEA, MILK), (MILK,)):
        with stage_environment() as staged:
            tea = staged.site / "tea.py"
            if not tea.exists():
                tea.write_text("green", encoding="utf-8")
            seen.append((staged.folder.name, tea.read_text(encoding="utf-8")))
            commit_environment(staged, plugins)
    assert folders() == {seen[1][0], seen[2][0]}
    assert seen[0][1] == seen[1][1] == seen[2][1] == "green"
    record = discovery.read_record()
    assert record.plugins == (MILK,) and record.past == (seen[1][0],)
    assert discovery.decode_record({"v": 1, "generation": "../up", "site": "x"}) == InstalledRecord()


def test_the_second_of_two_concurrent_changes_is_refused(home: Path) -> None:
    with stage_environment() as first, stage_environment() as second:
        commit_environment(first, (TEA,))
        with pytest.raises(CockpitError, match="meanwhile"):
            commit_environment(second, (MILK,))
    assert discovery.read_record().plugins == (TEA,) and len(folders()) == 1


def test_without_plugins_nothing_is_added_to_the_path(home: Path) -> None:
    assert discovery.path_entries(discovery.read_record()) == []
    with stage_environment() as staged:
        commit_environment(staged, (TEA,))
    assert discovery.path_entries(discovery.read_record()) == [str(staged.site)]
    with stage_environment() as staged:
        commit_environment(staged, ())
    assert discovery.path_entries(discovery.read_record()) == []


def test_path_files_name_folders_and_run_nothing(home: Path, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    lines = (
        f"import os; os.mkdir({str(tmp_path / 'ran')!r})\n# no\n{tmp_path / 'work'}\n{tmp_path / 'gone'}\n"
    )
    with stage_environment() as staged:
        (staged.site / "editable.pth").write_text(lines, encoding="utf-8")
        commit_environment(staged, (TEA,))
    assert discovery.path_entries(discovery.read_record()) == [str(staged.site), str(tmp_path / "work")]
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("torn", [b"", b"[1]", b'{"plugins": [7, {"distribution": ""}]}', b"\xff"])
def test_an_unreadable_record_counts_as_none(home: Path, torn: bytes) -> None:
    discovery.plugins_folder().mkdir(parents=True)
    discovery.record_path().write_bytes(torn)
    assert discovery.read_record() == InstalledRecord()
