"""Painting at once what changed, rather than with the next beat of Textual's clock.

A widget's refresh goes to its screen as a message, and the screen paints 60 times a second; while an
answer streams, a typed letter waits up to 33 ms for both, though it could be seen after 2. This does
what they would do, in one step, so nothing is painted twice. A change of layout goes the usual way.
"""

from textual.widget import Widget


def paint_now(*widgets: Widget) -> None:
    """Bring what is dirty in `widgets` (of one screen) to the terminal."""
    if not widgets or not widgets[0].is_attached or not widgets[0].app.is_running:
        return
    screen = widgets[0].screen
    for widget in widgets:
        if widget._repaint_required and not widget._layout_required:
            widget._repaint_required = False
            screen._dirty_widgets.add(widget)
    if screen.is_current:
        screen._on_timer_update()
