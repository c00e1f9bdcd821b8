"""What a process wrote, as text, in bounded memory: its head and its tail are kept, and what was
dropped between them is counted. Bytes that are no UTF-8 become U+FFFD."""

import codecs
from collections import deque

HEAD = 256_000
TAIL = 768_000
BLANKS = " \n\r\t"


class Output:
    """A growing text. Positions count the characters that were ever written."""

    def __init__(self, head: int = HEAD, tail: int = TAIL) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._head_size, self._tail_size = head, tail
        self._head: list[str] = []
        self._head_length = 0
        self._tail: deque[str] = deque()
        self._tail_length = 0
        self.dropped = 0
        self._dropped_characters = 0

    @property
    def total(self) -> int:
        """Characters written so far, dropped ones too."""
        return self._head_length + self._dropped_characters + self._tail_length

    def feed(self, chunk: bytes, final: bool = False) -> str:
        """Take bytes; the text that became whole with them."""
        text = self._decoder.decode(chunk, final)
        if not text:
            return ""
        room = self._head_size - self._head_length
        if room > 0:
            self._head.append(text[:room])
            self._head_length += len(text[:room])
        if len(text) > max(room, 0):
            rest = text[max(room, 0) :]
            self._tail.append(rest)
            self._tail_length += len(rest)
            self._trim()
        return text

    def _trim(self) -> None:
        while self._tail_length > self._tail_size:
            first = self._tail.popleft()
            over = self._tail_length - self._tail_size
            cut = first[:over]
            if len(first) > over:
                self._tail.appendleft(first[over:])
            self._tail_length -= len(cut)
            self._dropped_characters += len(cut)
            self.dropped += len(cut.encode("utf-8", "replace"))

    def text(self) -> str:
        """Head and tail, with one line between them that counts what is missing."""
        return self.since(0)[0]

    def since(self, cursor: int) -> tuple[str, int]:
        """What was written from position `cursor` on, and the position after it. A word is begun at its
        start: a reader who chooses where to cut would get a secret in two halves that nobody knows."""
        head, tail = "".join(self._head), "".join(self._tail)
        cursor = self._word_start(cursor, head, tail)
        parts = [head[cursor:]] if cursor < len(head) else []
        start = len(head) + self._dropped_characters
        if cursor < start and self._dropped_characters:
            parts.append(f"\n[... {self.dropped:,} bytes dropped ...]\n")
        parts.append(tail[max(cursor - start, 0) :])
        return "".join(parts), self.total

    def _word_start(self, cursor: int, head: str, tail: str) -> int:
        """Where the word begins that `cursor` is in."""
        if not 0 < cursor < self.total:
            return cursor
        if cursor <= len(head) or not self._dropped_characters:
            text, before = head + tail, 0
        else:
            text, before = tail, len(head) + self._dropped_characters
        if cursor <= before:
            return cursor
        return before + max(text.rfind(one, 0, cursor - before) for one in BLANKS) + 1
