"""Finding text in a document: sources are searched, and only what holds the text is laid out."""

from cockpit.tui.trace.document import Document, Place
from cockpit.tui.trace.moment import Moment


def find(document: Document, needle: str, here: Place | None, step: int, moment: Moment) -> Place | None:
    """The next place after (`step` 1) or before (-1) `here` whose line holds `needle` (in lower case).

    `here` None begins at the end that `step` comes from. A place that a line break cuts counts as
    the first line of its part.
    """
    chunks = [(s, c) for s, section in enumerate(document.sections) for c in range(len(section.chunks))]
    if here is not None:
        current = (here.section, here.chunk)
        chunks = [one for one in chunks if (one >= current if step > 0 else one <= current)]
    for section, chunk in chunks if step > 0 else reversed(chunks):
        lines = document.lines_with(section, chunk, needle, moment)
        if here is not None and (section, chunk) == (here.section, here.chunk):
            lines = [line for line in lines if (line > here.line if step > 0 else line < here.line)]
        if lines:
            return Place(section, chunk, lines[0] if step > 0 else lines[-1])
    return None
