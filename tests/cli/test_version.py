"""The version is told wherever the option stands."""

from pathlib import Path

import pytest

from cockpit import __version__
from cockpit.cli.main import main


@pytest.mark.parametrize("argv", [["--version"], ["-V"], ["--cwd", ".", "--version"]])
def test_the_version_is_printed_and_nothing_is_started(
    argv: list[str], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == 0
    assert capsys.readouterr().out == f"cockpit {__version__}\n"
    assert not list(home.iterdir())
