"""Finding text in a document: sources are searched, and only what holds the text is laid out."""

from cockpit.tui.trace.document import Document
from cockpit.tui.trace.moment import Moment


def find(document: Document, needle: str, row: int, step: int, moment: Moment) -> int | None:
    """The row of the nearest place after (`step` 1) or before (-1) `row`; None where there is none.

    Rows may move while it looks: the row given back is right when it comes.
    """
    places = [(s, c) for s, section in enumerate(document.sections) for c in range(len(section.chunks))]
    here = (document.section_at(row), -1)
    if document.sections:
        here = (here[0], document.chunk_at(row))
    ordered = [one for one in places if (one >= here if step > 0 else one <= here)]
    for section, chunk in ordered if step > 0 else reversed(ordered):
        if not document.holds(section, chunk, needle, moment):
            continue
        rows = document.rows_with(section, chunk, needle, moment)
        near = [one for one in rows if (one > row if step > 0 else one < row)]
        if near:
            return near[0] if step > 0 else near[-1]
    return None
