"""A path that changes between check and use: nothing outside of the root is read or written."""

import asyncio
import errno
import itertools
import os
import random
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from cockpit.plugin.changes import WriteFile
from cockpit.plugin.context import ChangeRefused, PathRefused
from cockpit.workspace.files import safe_open
from cockpit.workspace.files.disk_operations import DiskOperations
from cockpit.workspace.local import LocalWorkspace

pytestmark = pytest.mark.slow

OUTSIDE = b"outside, never to be seen or changed\n"
TIMES = 10_000
# Each write is a transaction with its fsyncs: the whole ten thousand are `make fuzz`'s.
WRITES = TIMES if os.environ.get("COCKPIT_FUZZ") else 400
NUMBERS = itertools.count()


@contextmanager
def flipping(flip: Callable[[], None]) -> Iterator[None]:
    """`flip` over and over in another thread, as an attacker's process would."""
    over = threading.Event()

    def run() -> None:
        while not over.is_set():
            try:
                flip()
            except OSError:
                continue

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "file.txt").write_bytes(OUTSIDE)
    return folder


def swapped_file(root: Path, outside: Path) -> Callable[[], None]:
    """`root/file.txt` is by turns a file and a link to the one outside."""

    def flip() -> None:
        (root / "spare").symlink_to(outside / "file.txt")
        os.replace(root / "spare", root / "file.txt")
        (root / "spare").write_bytes(b"inside\n")
        os.replace(root / "spare", root / "file.txt")

    return flip


def swapped_folder(root: Path, outside: Path) -> Callable[[], None]:
    """`root/dir` is by turns a folder and a link to the one outside."""
    place, aside = root / "dir", root / "aside"

    def flip() -> None:
        with suppress(OSError):
            os.rename(place, aside)
        place.symlink_to(outside)
        place.unlink()
        with suppress(OSError):
            os.rename(aside, place)
        place.mkdir(exist_ok=True)
        shutil.rmtree(aside, ignore_errors=True)
        (place / "file.txt").write_bytes(b"inside\n")

    return flip


def halves(root: Path, outside: Path, folder: bool) -> Callable[..., None]:
    """One swap at a call: a plain file (or folder) becomes a link to the outside, and the other way;
    with True it becomes plain."""
    place = root / ("dir" if folder else "file.txt")

    def flip(plain: bool = False) -> None:
        if place.is_symlink():
            place.unlink()
            if folder:
                place.mkdir()
            (place / "file.txt" if folder else place).write_bytes(b"inside\n")
            return
        if plain:
            return
        if folder and place.exists():
            os.rename(place, root / f"aside{next(NUMBERS)}")
        elif not folder:
            place.unlink(missing_ok=True)
        place.symlink_to(outside if folder else outside / "file.txt")

    return flip


def untouched(outside: Path) -> bool:
    return (outside / "file.txt").read_bytes() == OUTSIDE and os.listdir(outside) == ["file.txt"]


@pytest.mark.parametrize("swap", [swapped_file, swapped_folder])
def test_no_read_follows_a_link_made_meanwhile(
    tmp_path: Path, outside: Path, swap: Callable[[Path, Path], Callable[[], None]]
) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    path = str(root / ("file.txt" if swap is swapped_file else "dir/file.txt"))
    seen: set[bytes] = set()
    with flipping(swap(root, outside)):
        for _ in range(TIMES):
            try:
                seen.add(safe_open.read_file(path))
            except (OSError, PathRefused):
                continue
    assert OUTSIDE not in seen


async def written(workspace: LocalWorkspace, name: str, number: int) -> bool:
    """Whether one write got through; a refusal is as good an answer."""
    try:
        plan = await workspace.plan((WriteFile(name, f"written {number}\n".encode()),))
        await workspace.apply(plan)
    except (OSError, PathRefused, ChangeRefused):
        return False
    return True


@pytest.mark.timeout(900 if os.environ.get("COCKPIT_FUZZ") else 110)
@pytest.mark.parametrize("swap", [swapped_file, swapped_folder])
async def test_no_write_follows_a_link_made_before_any_operation(
    tmp_path: Path, outside: Path, swap: Callable[[Path, Path], Callable[[], None]]
) -> None:
    """The swap comes ahead of file calls that a seed picks: each window between check and use is hit."""
    root = tmp_path / "ws"
    root.mkdir()
    chance, flip = random.Random(7), halves(root, outside, swap is swapped_folder)
    hit: Counter[str] = Counter()

    def before(call: str) -> None:
        if chance.random() < 0.04:
            flip()
            hit[call] += 1

    workspace = LocalWorkspace(str(root), str(tmp_path / "state"), DiskOperations(before))
    name = "dir/file.txt" if swap is swapped_folder else "file.txt"
    wrote = 0
    for number in range(WRITES):
        wrote += await written(workspace, name, number)
        if chance.random() < 0.5:
            flip(True)
    await workspace.close()
    assert untouched(outside)
    assert WRITES // 20 < wrote < WRITES, "the race is lost and won"
    assert {"open", "link", "lstat", "fsync", "exchange"} <= set(hit)


@pytest.mark.parametrize("swap", [swapped_file, swapped_folder])
async def test_no_write_follows_a_link_while_another_thread_swaps(
    tmp_path: Path, outside: Path, swap: Callable[[Path, Path], Callable[[], None]]
) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    workspace = LocalWorkspace(str(root))
    name = "file.txt" if swap is swapped_file else "dir/file.txt"
    with flipping(swap(root, outside)):
        for number in range(200):
            await written(workspace, name, number)
            await asyncio.sleep(0)
    assert untouched(outside)
    halves(root, outside, folder=swap is swapped_folder)(True)
    assert await written(workspace, name, 201), "left in peace it writes"
    await workspace.close()


def test_openat2_and_the_walk_refuse_the_same_links(tmp_path: Path, outside: Path) -> None:
    (tmp_path / "link").symlink_to(outside)
    path = str(tmp_path / "link" / "file.txt")
    with pytest.raises(PathRefused):
        safe_open.read_file(path)
    with pytest.raises(PathRefused):
        safe_open.open_folder(str(tmp_path / "link"), lambda name, flags, at: os.open(name, flags, dir_fd=at))
    if safe_open.load_openat2() is None:
        assert safe_open.open_without_symlinks(path, safe_open.FILE_FLAGS) is None, (
            "without the call the caller is told to walk"
        )
    else:
        with pytest.raises(OSError) as refused:
            safe_open.open_without_symlinks(path, safe_open.FILE_FLAGS)
        assert refused.value.errno == errno.ELOOP


def test_a_read_leaves_no_descriptor_open(tmp_path: Path, outside: Path) -> None:
    folder = Path("/proc/self/fd") if Path("/proc/self/fd").exists() else Path("/dev/fd")
    before = len(os.listdir(folder))
    for _ in range(50):
        assert safe_open.read_file(str(outside / "file.txt")) == OUTSIDE
        with pytest.raises(IsADirectoryError):
            safe_open.read_file(str(outside))
    assert len(os.listdir(folder)) == before
