"""The Python search engine, a separate program: `python -I -S scan.py`.

A running `re` match cannot be stopped and holds the interpreter lock, so a pattern that backtracks without
end must be in a process that can be killed. Reads one JSON request from stdin and writes one JSON object per
file with hits, in the order of the request. Imports the standard library only.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

BYTE_ORDER_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))

INVALID_BYTES = re.compile("[\udc80-\udcff]")


def decode_text(content: bytes) -> str | None:
    """The text of a file, or None for a binary file (it has a NUL and no UTF-16 byte order mark)."""
    for mark, encoding in BYTE_ORDER_MARKS:
        if content.startswith(mark):
            return content.decode(encoding, "replace")
    return None if b"\0" in content else content.decode("utf-8", "surrogateescape")


def split_lines(text: str) -> list[str]:
    """Split into lines as ripgrep does: at line feeds, without the carriage return before one."""
    parts = text.split("\n")
    if parts and parts[-1] == "":
        parts.pop()
    return [part[:-1] if part.endswith("\r") else part for part in parts]


def scan_text(
    text: str, pattern: re.Pattern[str], context: int, limit: int
) -> tuple[int, list[list[object]]]:
    """Count the matching lines; rows [line, text, column] of the first `limit` matches and their context.
    `column` is where the match starts, from 0, or -1 for a context line."""
    lines = split_lines(text)
    hits = [(at, match.start()) for at, line in enumerate(lines) if (match := find_match(line, pattern))]
    columns = dict(hits)
    shown: list[int] = []
    for at, _ in hits[:limit]:
        first = max(at - context, shown[-1] + 1 if shown else 0)
        shown += range(first, min(at + context + 1, len(lines)))
    return len(hits), [[at + 1, INVALID_BYTES.sub("\ufffd", lines[at]), columns.get(at, -1)] for at in shown]


def find_match(line: str, pattern: re.Pattern[str]) -> re.Match[str] | None:
    """The first match in `line`. As in ripgrep, bytes that are not UTF-8 never match."""
    if not INVALID_BYTES.search(line):
        return pattern.search(line)
    start = 0
    for broken in (*INVALID_BYTES.finditer(line), None):
        end = broken.start() if broken else len(line)
        if match := pattern.search(line, start, end):
            return match
        start = broken.end() if broken else end
    return None


def search_files(request: dict[str, object]) -> Iterator[dict[str, object]]:
    """The hits of every file of `request` that has a match."""
    flags = re.IGNORECASE if request["ignore_case"] else 0
    pattern = re.compile(str(request["pattern"]), flags)
    root, files = str(request["root"]), request["files"]
    context, limit = request["context"], request["limit"]
    if not isinstance(files, list) or not isinstance(context, int) or not isinstance(limit, int):
        raise TypeError("files must be a list, context and limit numbers")
    for path in files:
        try:
            text = decode_text(Path(root, path).read_bytes())
        except OSError:
            continue
        if text is None:
            continue
        count, rows = scan_text(text, pattern, context, limit)
        if count:
            yield {"path": path, "count": count, "rows": rows}


def main() -> None:
    request = json.loads(sys.stdin.buffer.read())
    for hits in search_files(request):
        sys.stdout.write(json.dumps(hits) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
