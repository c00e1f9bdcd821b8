"""Trust is the user's answer for a real path, not something a folder claims."""

import os
from pathlib import Path

import pytest

from cockpit import paths
from cockpit.settings import trust


def test_without_an_answer_trust_is_unknown(root: Path) -> None:
    assert trust.is_trusted(str(root)) is None
    trust.save_trust(str(root), True)
    assert trust.is_trusted(str(root)) is True
    trust.save_trust(str(root), False)
    assert trust.is_trusted(str(root)) is False


def test_trust_holds_for_the_folder_and_not_for_those_around_it(root: Path) -> None:
    (root / "inner").mkdir()
    trust.save_trust(str(root), True)
    assert trust.is_trusted(str(root / "inner")) is None
    assert trust.is_trusted(str(root.parent)) is None


def test_a_link_is_as_trusted_as_its_target(root: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(root, target_is_directory=True)
    trust.save_trust(str(link), True)
    assert trust.is_trusted(str(root)) is True
    other = tmp_path / "other"
    other.mkdir()
    link.unlink()
    link.symlink_to(other, target_is_directory=True)
    # The link leads elsewhere now: the answer was for the folder, not for its name.
    assert trust.is_trusted(str(link)) is None


def test_dots_in_a_path_lead_to_the_same_folder(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trust.save_trust(f"{root}/../{root.name}/.", True)
    monkeypatch.chdir(root)
    assert trust.is_trusted(".") is True


@pytest.mark.parametrize("content", ["", "[]", "{", '{"PATH": "yes"}', '{"PATH": 1}', "\xff"])
def test_a_file_that_cannot_be_read_trusts_nothing(root: Path, content: str) -> None:
    path = paths.config() / "trust.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(content.replace("PATH", os.path.realpath(root)).encode("latin-1"))
    assert trust.is_trusted(str(root)) is None
    trust.save_trust(str(root), True)
    assert trust.is_trusted(str(root)) is True


def test_the_file_is_readable_by_its_owner_only(root: Path) -> None:
    trust.save_trust(str(root), True)
    if os.name == "posix":
        assert (paths.config() / "trust.json").stat().st_mode & 0o777 == 0o600
