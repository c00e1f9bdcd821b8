"""One watcher notifies all listeners; very large folders are not watched."""

import itertools
from pathlib import Path

import pytest
from tests.support.sources import until

from cockpit.navigation import file_watcher
from cockpit.navigation.file_watcher import is_home_or_above, watch_root


async def test_listeners_hear_of_changes_until_they_unsubscribe(root: Path) -> None:
    one: set[str] = set()
    other: set[str] = set()
    end_one = watch_root(str(root), one.update)
    end_other = watch_root(str(root), other.update)
    assert len(file_watcher._watchers) == 1
    numbers = itertools.count()
    (root / "node_modules").mkdir()

    async def both_heard() -> bool:
        (root / "node_modules" / "m.js").write_text(str(next(numbers)))
        (root / "a.py").write_text(str(next(numbers)))
        return str(root / "a.py") in one and str(root / "a.py") in other

    await until(both_heard)
    assert not any("node_modules" in path for path in one)
    end_one()
    one.clear()

    async def the_other_heard() -> bool:
        (root / "b.py").write_text(str(next(numbers)))
        return str(root / "b.py") in other

    await until(the_other_heard)
    assert not one
    end_other()
    end_other()
    assert not file_watcher._watchers


async def test_in_a_wide_tree_ignored_folders_are_not_watched(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_watcher, "MAX_FOLDERS", 5)
    for number in range(8):
        (root / "gone" / str(number)).mkdir(parents=True)
    (root / "src" / "deep").mkdir(parents=True)
    (root / ".gitignore").write_text("gone\n")
    heard: set[str] = set()
    end = watch_root(str(root), heard.update)
    numbers = itertools.count()

    async def is_heard() -> bool:
        (root / "gone" / "1" / "x.py").write_text(str(next(numbers)))
        (root / "src" / "deep" / "a.py").write_text(str(next(numbers)))
        return str(root / "src" / "deep" / "a.py") in heard

    await until(is_heard)
    (root / "src" / "new").mkdir()

    async def new_folder_heard() -> bool:
        (root / "src" / "new" / "b.py").write_text(str(next(numbers)))
        return str(root / "src" / "new" / "b.py") in heard

    await until(new_folder_heard)
    assert not any("gone" in path for path in heard)
    end()


def test_home_folder_and_its_parents_are_not_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert is_home_or_above(str(tmp_path.resolve())) and is_home_or_above("/")
    assert not is_home_or_above(str(tmp_path.resolve() / "project"))
