"""The store records the changes of each call, with the contents needed to undo them, and no other changes."""

import hashlib
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from cockpit.workspace.checkpoints.blob_store import BlobMissing, BlobStore, blob_id
from cockpit.workspace.checkpoints.records import CallRecord, CheckpointCall
from cockpit.workspace.checkpoints.restore import plan_rewind
from cockpit.workspace.checkpoints.scanner import CheckpointLimits
from cockpit.workspace.checkpoints.store import CheckpointStore

posix = os.name == "posix"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


def facts(call: str, turn: str = "t1") -> CheckpointCall:
    return CheckpointCall("s1", turn, "main", call, f"$ {call}", time.time())


def run(
    shadow: CheckpointStore, call: str, work: Callable[[], object], paths: tuple[str, ...] | None = None
) -> CallRecord | None:
    """`work` as a call between its two looks."""
    assert shadow.begin(facts(call), paths) == ""
    work()
    return shadow.finish(call)


def bytes_after(shadow: CheckpointStore, record: CallRecord | None) -> bytes:
    assert record is not None and record.delta.files[0].after is not None
    return shadow.objects.get(record.delta.files[0].after.id)


def blob_ids(store: Path) -> set[str]:
    with sqlite3.connect(store / "blobs.sqlite3") as database:
        return {row[0] for row in database.execute("SELECT id FROM blobs")}


def names(record: CallRecord | None) -> list[str]:
    return [file.path for file in record.delta.files] if record else []


def test_a_record_lists_created_changed_and_deleted_files(root: Path, store: Path) -> None:
    (root / "a.txt").write_bytes(b"one\r\n")
    (root / "b.bin").write_bytes(b"\0\xff")
    shadow = CheckpointStore(str(root), store)

    def work() -> None:
        (root / "a.txt").write_bytes(b"two\r\n")
        (root / "b.bin").unlink()
        (root / "new" / "deep").mkdir(parents=True)
        (root / "new" / "deep" / "c").write_bytes(b"")

    record = run(shadow, "c1", work)
    assert record is not None and names(record) == ["a.txt", "b.bin", "new/deep/c"]
    assert record.delta.made == ("new", "new/deep")
    a, b, c = record.delta.files
    assert a.before and b.before and c.before is None and b.after is None
    assert shadow.objects.get(a.before.id) == b"one\r\n" and shadow.objects.get(b.before.id) == b"\0\xff"


def test_changes_of_the_user_between_two_calls_are_not_recorded(root: Path, store: Path) -> None:
    shadow = CheckpointStore(str(root), store)
    run(shadow, "c1", lambda: (root / "agent").write_text("1"))
    (root / "person").write_text("mine")
    second = run(shadow, "c2", lambda: (root / "agent").write_text("22"))
    assert names(second) == ["agent"]
    assert [names(one) for one in shadow.records("s1")] == [["agent"], ["agent"]]


def test_a_call_that_changes_nothing_leaves_no_record(root: Path, store: Path) -> None:
    (root / "a").write_text("1")
    shadow = CheckpointStore(str(root), store)
    assert run(shadow, "c1", lambda: os.utime(root / "a", (1, 1))) is None
    assert shadow.records("s1") == ()


def test_a_write_of_the_same_size_at_the_same_time_is_detected(root: Path, store: Path) -> None:
    shadow = CheckpointStore(str(root), store)
    for number in range(20):
        assert shadow.begin(facts(f"c{number}"), None) == ""
        (root / "a").write_text(f"{number:04}")
        assert names(shadow.finish(f"c{number}")) == ["a"]


def test_ignored_files_and_other_programs_folders_are_left_alone(root: Path, store: Path) -> None:
    (root / ".gitignore").write_text("*.log\nbuild/\n")
    for folder in ("build", "node_modules", ".git"):
        (root / folder).mkdir()
    shadow = CheckpointStore(str(root), store)

    def work() -> None:
        for name in ("x.log", "build/x", "node_modules/x", ".git/x", "kept"):
            (root / name).write_text("x")

    assert names(run(shadow, "c1", work)) == ["kept"]


def test_files_that_are_no_longer_ignored_are_not_recorded_as_new(root: Path, store: Path) -> None:
    (root / ".gitignore").write_text("secret-work/\n*.log\n")
    (root / "secret-work").mkdir()
    (root / "secret-work" / "old").write_text("the person's")
    (root / "old.log").write_text("the person's")
    shadow = CheckpointStore(str(root), store)

    def work() -> None:
        (root / ".gitignore").unlink()
        (root / "new").write_text("1")

    assert names(run(shadow, "c1", work)) == [".gitignore", "new"]
    assert names(run(shadow, "c2", lambda: (root / ".gitignore").write_text("new\n"))) == [".gitignore"]


def test_a_scaffold_with_its_own_ignore_file_is_recorded_whole(root: Path, store: Path) -> None:
    shadow = CheckpointStore(str(root), store)

    def work() -> None:
        (root / "app").mkdir()
        for name in (".gitignore", "main.py", "app/x.py"):
            (root / name).write_text("dist/\n")

    assert names(run(shadow, "c1", work)) == [".gitignore", "app/x.py", "main.py"]


def test_the_users_repository_is_not_changed(root: Path, store: Path) -> None:
    if shutil.which("git"):
        for command in (
            ("init", "-q"),
            ("add", "."),
            ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x", "--allow-empty"),
        ):
            subprocess.run(("git", *command), cwd=root, check=True)
    else:
        (root / ".git").mkdir()
    (root / ".gitattributes").write_text("* text=auto filter=evil\n")

    def state() -> dict[str, tuple[bytes, int]]:
        files = (path for path in (root / ".git").rglob("*") if path.is_file())
        return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}

    before = state()
    shadow = CheckpointStore(str(root), store)
    record = run(shadow, "c1", lambda: (root / "a").write_bytes(b"a\r\n"))
    assert record is not None and state() == before
    assert bytes_after(shadow, record) == b"a\r\n"


def test_store_keeps_bytes_exactly_and_only_the_user_may_read_it(root: Path, store: Path) -> None:
    (root / "a").write_bytes(b"\r\nbytes\0")
    shadow = CheckpointStore(str(root), store)
    record = run(shadow, "c1", lambda: (root / "a").write_bytes(b"b"))
    assert record is not None and record.delta.files[0].before is not None
    if posix:
        assert store.stat().st_mode & 0o077 == 0
        blobs = [path for path in store.iterdir() if path.name.startswith("blobs.sqlite3")]
        assert blobs and not [path for path in blobs if path.stat().st_mode & 0o077]
    # The id is git's, so that a record of an older version means the same bytes.
    known = hashlib.sha256(b"blob 8\0\r\nbytes\0").hexdigest()
    assert record.delta.files[0].before.id == known and shadow.objects.get(known) == b"\r\nbytes\0"


def test_links_modes_and_unusual_names_are_stored(root: Path, store: Path) -> None:
    if not posix:
        assert os.name == "nt"
        return
    strange = os.fsdecode(b"caf\xe9")
    (root / "run").write_text("#!/bin/sh\n")
    (root / "link").symlink_to("/etc/passwd")
    shadow = CheckpointStore(str(root), store)

    def work() -> None:
        (root / "run").chmod(0o755)
        (root / "link").unlink()
        (root / "link").symlink_to("elsewhere")
        (root / strange).write_text("x")

    record = run(shadow, "c1", work)
    assert record is not None
    told = {file.path: file for file in record.delta.files}
    assert set(told) == {"run", "link", strange}
    link, mode = told["link"], told["run"]
    assert link.before and shadow.objects.get(link.before.id) == b"/etc/passwd"
    assert mode.after and stat.S_IMODE(mode.after.mode) == 0o755
    assert [one.path for one in shadow.ledger.of("s1")[0].delta.files] == [
        one.path for one in record.delta.files
    ]


def test_files_of_a_nested_repository_are_recorded(root: Path, store: Path) -> None:
    shadow = CheckpointStore(str(root), store)

    def work() -> None:
        (root / "sub" / ".git").mkdir(parents=True)
        (root / "sub" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        (root / "sub" / "x").write_text("x")

    assert names(run(shadow, "c1", work)) == ["sub/x"]


def test_large_and_secret_files_are_named_but_not_stored(root: Path, store: Path) -> None:
    (root / "big").write_bytes(b"x" * 2000)
    (root / ".env").write_text("KEY=canary")
    (root / "small").write_text("1")
    shadow = CheckpointStore(str(root), store, CheckpointLimits(file=1000))

    def work() -> None:
        for name in ("big", ".env", "small"):
            (root / name).unlink()

    record = run(shadow, "c1", work)
    assert record is not None
    way = plan_rewind([record], shadow.now)
    assert {step.path: step.reason for step in way.steps} == {
        ".env": "it holds secrets, which are not copied",
        "big": "it is too large to keep",
        "small": "",
    }
    assert not [one for one in store.rglob("*") if one.is_file() and b"canary" in one.read_bytes()]


def test_files_over_the_total_limit_are_named(root: Path, store: Path) -> None:
    for number in range(5):
        (root / f"f{number}").write_bytes(bytes([number]) * 100)
    shadow = CheckpointStore(str(root), store, CheckpointLimits(total=250))
    shadow.warm()
    assert [(path, kept.why) for path, kept in shadow.left_out()] == [
        ("f2", "total"),
        ("f3", "total"),
        ("f4", "total"),
    ]


def test_a_root_with_too_many_files_records_edits_only(root: Path, store: Path) -> None:
    for number in range(5):
        (root / f"f{number}").write_text("1")
    shadow = CheckpointStore(str(root), store, CheckpointLimits(files=3))
    assert "more than 3 files" in shadow.begin(facts("c1"), None)
    assert shadow.finish("c1") is None
    record = run(shadow, "c2", lambda: (root / "f0").write_text("2"), ("f0",))
    assert names(record) == ["f0"]


def test_a_concurrent_edit_is_not_attributed_to_a_command(root: Path, store: Path) -> None:
    (root / "a").write_text("1")
    shadow = CheckpointStore(str(root), store)
    shadow.begin(facts("shell"), None)
    (root / "by-shell").write_text("1")
    edited = run(shadow, "edit", lambda: (root / "a").write_text("2"), ("a", "new/b"))
    assert names(edited) == ["a"] and names(shadow.finish("shell")) == ["by-shell"]


def test_possible_writes_of_background_jobs_are_marked_unsure(root: Path, store: Path) -> None:
    shadow = CheckpointStore(str(root), store)
    run(shadow, "c1", lambda: None)
    (root / "by-whom").write_text("?")
    shadow.begin(facts("c2"), None, jobs=True)
    shadow.finish("c2")
    [record] = shadow.records("s1")
    assert names(record) == ["by-whom"] and not record.sure
    [step] = plan_rewind([record], shadow.now).steps
    assert step.owner == "person"


def test_the_index_survives_a_crash_and_shows_interrupted_changes(root: Path, store: Path) -> None:
    (root / "a").write_text("1")
    first = CheckpointStore(str(root), store)
    first.warm()
    first.close()
    ids = blob_ids(store)
    crashed = CheckpointStore(str(root), store)
    crashed.begin(facts("c1"), None)
    (root / "a").write_text("22")
    (root / "b").write_text("new")
    os.close(crashed._pending["c1"].mark.file)
    crashed._index.close()
    after = CheckpointStore(str(root), store)
    [record] = after.records("s1")
    assert names(record) == ["a", "b"] and not record.sure and record.call.call == "c1"
    assert {step.owner for step in plan_rewind([record], after.now).steps} == {"person"}
    assert ids and ids <= blob_ids(store)
    assert not list((store / "open").iterdir())


def test_two_sessions_on_one_root_keep_their_own_records(root: Path, store: Path) -> None:
    one, other = CheckpointStore(str(root), store), CheckpointStore(str(root), store)
    run(one, "c1", lambda: (root / "a").write_text("1"))
    assert names(run(other, "c2", lambda: (root / "b").write_text("1"))) == ["b"]
    assert names(run(one, "c3", lambda: (root / "c").write_text("1"))) == ["c"]
    assert other.tidy() == 0
    one.close()
    other.close()


def test_old_records_and_unused_blobs_are_pruned_once_a_day(root: Path, store: Path) -> None:
    shadow = CheckpointStore(str(root), store)
    (root / "a").write_text("1")
    old = run(shadow, "c1", lambda: (root / "a").write_text("2"))
    assert old is not None and old.delta.files[0].before is not None
    gone = old.delta.files[0].before.id
    ledger = store / "calls" / "s1.jsonl"
    long_ago = time.time() - 40 * 86_400
    os.utime(ledger, (long_ago, long_ago))
    with sqlite3.connect(store / "blobs.sqlite3") as database:
        database.execute("UPDATE blobs SET used = ?", (long_ago,))
    dropped = shadow.tidy()
    if os.name == "nt":
        assert dropped == 0
        return
    assert dropped == 1 and not ledger.exists() and shadow.objects.size_of(gone) == 0
    assert bytes_after(shadow, old) == b"2"
    assert shadow.tidy() == 0


def test_unused_blobs_are_dropped_after_the_grace_period(root: Path, store: Path) -> None:
    shadow = CheckpointStore(str(root), store)
    shadow.warm()

    def work() -> None:
        for number in range(200):
            (root / f"f{number}").write_bytes(b"%d\r\n" % number * 500)

    record = run(shadow, "c1", work)
    assert record is not None and len(record.delta.files) == 200
    for file in record.delta.files:
        assert file.after and shadow.objects.get(file.after.id) == (root / file.path).read_bytes()
    shadow.close()
    again = CheckpointStore(str(root), store)
    wanted = {file.after.id for file in record.delta.files[-50:] if file.after}
    again.warm()
    assert again.objects.drop(wanted, time.time()) == 0
    assert again.objects.drop(wanted, time.time() + 7200) == 150
    assert all(again.objects.get(one) for one in wanted)
    assert [again.objects.size_of(file.after.id) for file in record.delta.files[:3] if file.after] == [
        0,
        0,
        0,
    ]
    again.close()


def test_a_damaged_blob_counts_as_missing(root: Path, store: Path) -> None:
    shadow = CheckpointStore(str(root), store)
    record = run(shadow, "c1", lambda: (root / "a").write_text("1"))
    assert record is not None and record.delta.files[0].after is not None
    name = record.delta.files[0].after.id
    [whole] = (
        sqlite3.connect(store / "blobs.sqlite3")
        .execute("SELECT content FROM blobs WHERE id = ?", (name,))
        .fetchone()
    )
    for damaged in (b"", whole[:-3], b"x\x9cnothing", zlib.compress(b"2")):
        with sqlite3.connect(store / "blobs.sqlite3") as database:
            database.execute("UPDATE blobs SET content = ? WHERE id = ?", (damaged, name))
        with pytest.raises(BlobMissing):
            shadow.objects.get(name)
    assert shadow.objects.put(b"1") == name


def test_a_broken_database_is_named_and_calls_still_run(root: Path, store: Path) -> None:
    store.mkdir()
    (store / "blobs.sqlite3").write_bytes(b"not a database" * 100)
    shadow = CheckpointStore(str(root), store)
    said = shadow.begin(facts("c1"), None)
    assert str(store / "blobs.sqlite3") in said and "delete this file" in said


def test_checkpoints_of_an_older_version_are_explained_and_removed_later(root: Path, store: Path) -> None:
    for folder in ("objects/ab", "refs"):
        (store / folder).mkdir(parents=True)
    (store / "known.jsonl").write_text('["a",33188,1,1,1,1,"' + "ab" * 32 + '","",false]\n')
    (root / "a").write_text("1")
    shadow = CheckpointStore(str(root), store)
    record = run(shadow, "c1", lambda: (root / "a").write_text("2"))
    assert record is not None and record.delta.files[0].before is not None
    assert shadow.objects.get(record.delta.files[0].before.id) == b"1"
    with pytest.raises(BlobMissing) as raised:
        shadow.objects.get("ab" * 32)
    assert f"git --git-dir={store} cat-file -p {'ab' * 32}" in raised.value.hint
    shadow.objects.drop((), time.time())
    assert (store / "objects").is_dir()
    shadow.objects.drop((), time.time() + 31 * 86_400)
    assert not (store / "objects").exists() and not (store / "known.jsonl").exists()


def test_four_processes_at_once_share_one_store(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from cockpit.workspace.checkpoints.blob_store import BlobStore
store = BlobStore(Path(sys.argv[1]))
store.prepare()
for number in range(100):
    store.put(b"shared %d" % number)
    store.put(b"own %d of %s" % (number, sys.argv[2].encode()))
    if number % 3 == 0:
        store.settle()
store.settle()
"""
    argv = (sys.executable, "-c", code, str(tmp_path / "store"))
    running = [subprocess.Popen((*argv, str(number)), stderr=subprocess.PIPE) for number in range(4)]
    for process in running:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
    store = BlobStore(tmp_path / "store")
    for number in range(100):
        for content in (b"shared %d" % number, *(b"own %d of %d" % (number, own) for own in range(4))):
            assert store.get(blob_id(content)) == content
