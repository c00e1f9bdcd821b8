"""Small files are read whole; irregular or too large files raise."""

import os
import sys
from pathlib import Path

import pytest

from cockpit.settings import file_io
from cockpit.settings.files import read_dotenv


def test_a_regular_file_is_read_with_any_line_ends(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbfone\r\ntwo\xff\n")
    assert file_io.read_text(tmp_path / "a", encoding="utf-8-sig") == "one\ntwo\ufffd\n"
    assert file_io.read_bytes(tmp_path / "a", 13) == (tmp_path / "a").read_bytes()


def test_a_file_over_the_limit_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "a").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(OSError, match="more than"):
        file_io.read_bytes(tmp_path / "a", 100)


def test_pipes_and_devices_do_not_block(tmp_path: Path) -> None:
    if sys.platform == "win32":
        assert not hasattr(os, "mkfifo")
        return
    os.mkfifo(tmp_path / ".env")
    assert read_dotenv(tmp_path / ".env") == {}
    for path in (tmp_path / ".env", tmp_path, Path("/dev/zero")):
        with pytest.raises(OSError, match=r"regular file|directory"):
            file_io.read_bytes(path)
