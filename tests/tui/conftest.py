"""Pictures of the cockpit lie in `snapshots/` at the top, one folder a test file."""

from pathlib import Path

import pytest_textual_snapshot as snapshots
from syrupy.location import PyTestLocation

ROOT = Path(__file__).parents[2]


class RootSVG(snapshots.SVGImageExtension):
    """The extension's own pictures, in a place where people look at them."""

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        return str(ROOT / "snapshots" / Path(test_location.filepath).stem)


snapshots.SVGImageExtension = RootSVG
