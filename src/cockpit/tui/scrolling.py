"""The height of a scroll view, changed without a layout of the whole screen.

Textual lays out everything when `virtual_size` changes, which for a growing text is every frame; but
the place of no widget depends on how much there is to scroll (tests/tui/test_speed.py).
"""

from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.widget import Widget


def set_height(view: ScrollView, height: int) -> None:
    """`view` has `height` rows from now on; its scroll bar says so."""
    size = Size(view.size.width, max(height, view.size.height))
    if size != view.virtual_size:
        view.set_reactive(Widget.virtual_size, size)
        view._scroll_update(size)
