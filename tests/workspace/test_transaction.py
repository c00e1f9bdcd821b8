"""Transactions are all or nothing, whichever operation fails and wherever the process dies."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.workspace.trees import grow, tree

from cockpit.plugin.context import ChangeRefused
from cockpit.workspace.files.changes import digest
from cockpit.workspace.files.disk_operations import DiskOperations
from cockpit.workspace.files.journal import recover_transactions
from cockpit.workspace.files.transaction import Transaction, WriteTarget

MOST_CALLS = 400


class Died(BaseException):
    """The process is gone: no call after it does anything."""


def failing_at(
    number: int, error: Callable[[], BaseException], for_ever: bool = False
) -> Callable[[str], None]:
    count = 0

    def before(name: str) -> None:
        nonlocal count
        count += 1
        if count == number or (for_ever and count > number):
            raise error()

    return before


def start(root: Path) -> tuple[WriteTarget, ...]:
    grow(root, {"kept.txt": "1\n", "gone.txt": b"\xff\x00", "deep/from.txt": "moved\n", "empty.txt": ""})
    (root / "kept.txt").chmod(0o755)
    return (
        WriteTarget(str(root / "kept.txt"), digest(b"1\n"), b"2\n", 0o755),
        WriteTarget(str(root / "gone.txt"), digest(b"\xff\x00"), None, 0o644),
        WriteTarget(str(root / "deep/from.txt"), digest(b"moved\n"), None, 0o644),
        WriteTarget(str(root / "new/below/to.txt"), "", b"moved\n", 0o600),
        WriteTarget(str(root / "empty.txt"), digest(b""), b"", 0o600),
    )


@pytest.fixture(params=[True, False], ids=["relative", "by path"])
def relative(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def test_everything_is_written_with_its_mode(tmp_path: Path, relative: bool) -> None:
    root = tmp_path / "root"
    Transaction(start(root), str(tmp_path / "journals"), DiskOperations(relative=relative)).run()
    assert tree(root) == {
        "deep/": (None, 0),
        "new/": (None, 0),
        "new/below/": (None, 0),
        "new/below/to.txt": (b"moved\n", 0o600),
        "kept.txt": (b"2\n", 0o755),
        "empty.txt": (b"", 0o600),
    }
    assert list((tmp_path / "journals").iterdir()) == []


def test_one_failing_operation_leaves_the_tree_before_or_after(tmp_path: Path, relative: bool) -> None:
    after = outcome_of(tmp_path / "plain", relative)
    refused = 0
    for number in range(1, MOST_CALLS):
        base = tmp_path / str(number)
        root, journals = base / "root", base / "journals"
        targets = start(root)
        before = tree(root)
        fail = failing_at(number, lambda: OSError(28, "No space left on device"))
        try:
            Transaction(targets, str(journals), DiskOperations(fail, relative)).run()
        except ChangeRefused:
            refused += 1
            assert tree(root) == before, f"call {number}"
        else:
            assert tree(root) == after, f"call {number}"
        assert list(journals.glob("*")) == [], f"call {number}"
        if refused and number > refused + 40:
            break
    assert refused > 30


def test_after_a_crash_recovery_gives_the_tree_before_or_after(tmp_path: Path, relative: bool) -> None:
    after = outcome_of(tmp_path / "plain", relative)
    outcomes: list[str] = []
    for number in range(1, MOST_CALLS):
        base = tmp_path / str(number)
        root, journals = base / "root", base / "journals"
        targets = start(root)
        before = tree(root)
        try:
            Transaction(
                targets, str(journals), DiskOperations(failing_at(number, Died, True), relative)
            ).run()
            break
        except Died:
            pass
        recover_transactions(str(journals))
        now = tree(root)
        assert now in (before, after), f"call {number}"
        outcomes.append("after" if now == after else "before")
        assert list(journals.glob("*")) == [], f"call {number}"
    assert outcomes == sorted(outcomes, reverse=True), "once committed, always forward"
    assert {"before", "after"} <= set(outcomes)


def outcome_of(base: Path, relative: bool) -> dict[str, tuple[bytes | None, int]]:
    Transaction(start(base / "root"), "", DiskOperations(relative=relative)).run()
    return tree(base / "root")


def test_a_crash_in_the_middle_of_recovery_is_recovered_too(tmp_path: Path) -> None:
    after = outcome_of(tmp_path / "plain", True)
    for number in range(1, 60):
        root, journals = tmp_path / str(number) / "root", tmp_path / str(number) / "journals"
        targets = start(root)
        before = tree(root)
        names: list[str] = []

        def die_at_second_rename(name: str, names: list[str] = names) -> None:
            names.append(name)
            if names.count("unlink") >= 1 or "dead" in names:
                names.append("dead")
                raise Died

        with pytest.raises(Died):
            Transaction(targets, str(journals), DiskOperations(die_at_second_rename)).run()
        try:
            recover_transactions(str(journals), DiskOperations(failing_at(number, Died, True)))
        except Died:
            recover_transactions(str(journals))
        assert tree(root) in (before, after)
        assert list(journals.glob("*")) == []


def test_a_file_that_changed_since_refuses_the_whole_set(tmp_path: Path) -> None:
    root = tmp_path / "root"
    targets = start(root)
    (root / "empty.txt").write_text("somebody was here")
    before = tree(root)
    with pytest.raises(ChangeRefused, match=r"empty\.txt has changed"):
        Transaction(targets, str(tmp_path / "journals")).run()
    assert tree(root) == before


@pytest.mark.parametrize("call", ["exchange", "link", "fsync", "unlink"])
def test_a_file_saved_during_the_write_keeps_its_content(tmp_path: Path, call: str) -> None:
    root = tmp_path / "root"
    grow(root, {"a.txt": "old", "b.txt": "old"})
    targets = tuple(
        WriteTarget(str(root / name), digest(b"old"), b"new", 0o644) for name in ("a.txt", "b.txt")
    )
    seen: list[str] = []

    def save_once(name: str) -> None:
        if name == call and call not in seen:
            seen.append(name)
            (root / "b.txt").write_text("theirs")

    try:
        Transaction(targets, "", DiskOperations(save_once)).run()
    except ChangeRefused:
        assert tree(root) == {"a.txt": (b"old", 0o644), "b.txt": (b"theirs", 0o644)}
    else:
        assert call == "unlink", "only what comes after the commit may go unnoticed"


def test_a_file_that_appears_where_one_is_created_is_not_overwritten(tmp_path: Path) -> None:
    root = tmp_path / "root"
    grow(root, {"other": ""})

    def appear(name: str) -> None:
        if name == "link":
            (root / "new.txt").write_text("theirs")

    with pytest.raises(ChangeRefused, match="has changed"):
        Transaction(
            (WriteTarget(str(root / "new.txt"), "", b"ours", 0o644),), "", DiskOperations(appear)
        ).run()
    assert (root / "new.txt").read_text() == "theirs"


def test_without_hard_links_backups_are_copies(tmp_path: Path) -> None:
    after = outcome_of(tmp_path / "plain", True)

    def no_links(name: str) -> None:
        if name == "link":
            raise OSError(1, "Operation not permitted")

    root = tmp_path / "root"
    Transaction(start(root), str(tmp_path / "journals"), DiskOperations(no_links)).run()
    assert tree(root) == after


def test_recovery_leaves_a_running_transaction_alone(tmp_path: Path) -> None:
    root, journals = tmp_path / "root", tmp_path / "journals"
    seen: list[int] = []

    def recover_meanwhile(name: str) -> None:
        if name == "rename":
            seen.append(len(recover_transactions(str(journals))))

    Transaction(start(root), str(journals), DiskOperations(recover_meanwhile)).run()
    assert seen and set(seen) == {0}


def test_recovery_keeps_changes_made_after_the_crash(tmp_path: Path) -> None:
    root, journals = tmp_path / "root", tmp_path / "journals"
    grow(root, {"a.txt": "old", "b.txt": "old"})
    targets = tuple(
        WriteTarget(str(root / name), digest(b"old"), b"new", 0o644) for name in ("a.txt", "b.txt")
    )
    renames: list[str] = []

    def die_after_first_rename(name: str) -> None:
        if renames and name != "lstat":
            raise Died
        if name == "exchange":
            renames.append(name)

    with pytest.raises(Died):
        Transaction(targets, str(journals), DiskOperations(die_after_first_rename)).run()
    (root / "b.txt").write_text("theirs")
    recovered = recover_transactions(str(journals))
    assert str(recovered[0]).endswith(f"left as they are: {root / 'b.txt'}")
    assert recovered[0].conflicts == (str(root / "b.txt"),)
    assert tree(root) == {"a.txt": (b"old", 0o644), "b.txt": (b"theirs", 0o644)}


def test_an_incomplete_journal_is_removed(tmp_path: Path) -> None:
    grow(tmp_path, {"journals/x.journal": b'{"entries": [{"pa'})
    assert recover_transactions(str(tmp_path / "journals")) == ()
    assert list((tmp_path / "journals").iterdir()) == []
