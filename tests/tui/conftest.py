"""Stores pictures of the cockpit in `snapshots/` at the top level, in one folder per test file."""

from pathlib import Path

import pytest_textual_snapshot as snapshots
from syrupy.location import PyTestLocation

ROOT = Path(__file__).parents[2]


class RootSVG(snapshots.SVGImageExtension):
    """The extension's pictures, in a folder that reviewers find."""

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        return str(ROOT / "snapshots" / Path(test_location.filepath).stem)


snapshots.SVGImageExtension = RootSVG
