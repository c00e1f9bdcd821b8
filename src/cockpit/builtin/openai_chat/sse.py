"""Server-sent events: bytes in, events out. Knows nothing of what they carry.

After https://html.spec.whatwg.org/multipage/server-sent-events.html, with one lenience: an event
that the end of the stream leaves open is given out, because servers end with a bare `data: [DONE]`.
"""

BOM = "\ufeff"


class Decoder:
    """One stream. `feed` takes bytes as they come, cut anywhere, and gives the (name, data) of each
    event that they complete. Bytes that are no UTF-8 become U+FFFD."""

    __slots__ = ("_begun", "_event", "_lines", "_parts", "_skip_newline")

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._lines: list[str] = []
        self._event = ""
        self._begun = False
        self._skip_newline = False

    def feed(self, chunk: bytes) -> list[tuple[str, str]]:
        if self._skip_newline and chunk:
            # The LF of a CRLF that two reads shared.
            self._skip_newline = False
            chunk = chunk.removeprefix(b"\n")
        cut = max(chunk.rfind(b"\n"), chunk.rfind(b"\r")) + 1
        if not cut:
            # Kept in pieces: joining at every read would be quadratic in a 2 MB line.
            self._parts.append(chunk)
            return []
        self._skip_newline = chunk.endswith(b"\r")
        self._parts.append(chunk[:cut])
        block = b"".join(self._parts)
        self._parts = [chunk[cut:]]
        return self._read(block.decode("utf-8", "replace"))

    def end(self) -> list[tuple[str, str]]:
        """What the end of the stream leaves open."""
        rest = b"".join(self._parts)
        self._parts = []
        events = self._read(rest.decode("utf-8", "replace") + "\n\n")
        self._skip_newline = False
        return events

    def _read(self, text: str) -> list[tuple[str, str]]:
        if not self._begun:
            self._begun = True
            text = text.removeprefix(BOM)
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        events: list[tuple[str, str]] = []
        lines = self._lines
        # str.splitlines would also split at U+2028, which JSON strings may hold.
        for line in text.split("\n")[:-1]:
            if line.startswith("data:"):
                lines.append(line[6:] if line.startswith("data: ") else line[5:])
            elif not line:
                if lines:
                    events.append((self._event, lines[0] if len(lines) == 1 else "\n".join(lines)))
                    lines.clear()
                self._event = ""
            elif line.startswith("event:"):
                self._event = line[6:].strip()
            elif line == "data":
                lines.append("")
        return events
