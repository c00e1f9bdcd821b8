"""The Python search engine. It is started as a program of its own, because `re` cannot be stopped:
a pattern that backtracks without end must be killable and must not hold the cockpit's lock.

Imports the standard library only and nothing of cockpit: it runs as `python -I -S scan.py`.
stdin: one JSON object; stdout: one JSON object a line, a file each, in the order asked for.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

BYTE_ORDER_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))

INVALID_BYTES = re.compile("[\udc80-\udcff]")


def decode_text(content: bytes) -> str | None:
    """The text of a file, or None for a binary one (a NUL, and no mark of UTF-16)."""
    for mark, encoding in BYTE_ORDER_MARKS:
        if content.startswith(mark):
            return content.decode(encoding, "replace")
    return None if b"\0" in content else content.decode("utf-8", "surrogateescape")


def split_lines(text: str) -> list[str]:
    """Lines as ripgrep counts them: by line feed; the one before it loses its carriage return."""
    parts = text.split("\n")
    if parts and parts[-1] == "":
        parts.pop()
    return [part[:-1] if part.endswith("\r") else part for part in parts]


def scan_text(text: str, pattern: re.Pattern[str], context: int, most: int) -> tuple[int, list[list[object]]]:
    """How many lines match, and rows [line, text, column] of the first `most` and their context.

    `column` is where the match starts, from 0; -1 in a line of context.
    """
    lines = split_lines(text)
    hits = [(at, found.start()) for at, line in enumerate(lines) if (found := find_match(line, pattern))]
    columns = dict(hits)
    wanted: list[int] = []
    for at, _ in hits[:most]:
        first = max(at - context, wanted[-1] + 1 if wanted else 0)
        wanted += range(first, min(at + context + 1, len(lines)))
    return len(hits), [[at + 1, INVALID_BYTES.sub("\ufffd", lines[at]), columns.get(at, -1)] for at in wanted]


def find_match(line: str, pattern: re.Pattern[str]) -> re.Match[str] | None:
    """The first match in `line`. Bytes that are no UTF-8 match nothing, as in ripgrep."""
    if not INVALID_BYTES.search(line):
        return pattern.search(line)
    start = 0
    for broken in (*INVALID_BYTES.finditer(line), None):
        end = broken.start() if broken else len(line)
        if found := pattern.search(line, start, end):
            return found
        start = broken.end() if broken else end
    return None


def search_files(asked: dict[str, object]) -> Iterator[dict[str, object]]:
    """Every file of `asked` that has a match."""
    flags = re.IGNORECASE if asked["ignore_case"] else 0
    pattern = re.compile(str(asked["pattern"]), flags)
    root, files = str(asked["root"]), asked["files"]
    context, most = asked["context"], asked["most"]
    if not isinstance(files, list) or not isinstance(context, int) or not isinstance(most, int):
        raise TypeError("files must be a list, context and most numbers")
    for path in files:
        try:
            text = decode_text(Path(root, path).read_bytes())
        except OSError:
            continue
        if text is None:
            continue
        count, rows = scan_text(text, pattern, context, most)
        if count:
            yield {"path": path, "count": count, "rows": rows}


def main() -> None:
    asked = json.loads(sys.stdin.buffer.read())
    for found in search_files(asked):
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
