"""Hits as lines: `path:line: text`, long lines cut around the match, totals said."""

from collections.abc import Sequence

from cockpit.builtin.search.engines import FileHits, Row

WIDTH = 240


def listing(hits: Sequence[FileHits], limit: int, notes: Sequence[str] = ()) -> str:
    """The first `limit` matches of `hits`; the first line counts all of them."""
    total = sum(one.count for one in hits)
    if not total:
        return "\n".join(["no matches", *notes])
    head = f"{total} match{'es' if total > 1 else ''} in {len(hits)} file{'s' if len(hits) > 1 else ''}"
    if total > limit:
        head += f", first {limit} of {total}; narrow the `pattern`, `path` or `glob` to see the others"
    lines = [head, *notes]
    left = limit
    for one in hits:
        if left <= 0:
            break
        lines += _file(one, left, is_first=left == limit)
        left -= one.count
    return "\n".join(lines)


def _file(hits: FileHits, most: int, is_first: bool) -> list[str]:
    has_context = any(row.column < 0 for row in hits.rows)
    lines: list[str] = [] if is_first or not has_context else ["--"]
    shown, last = 0, 0
    for row in hits.rows:
        if row.column >= 0:
            shown += 1
        if shown > most:
            break
        if has_context and last and row.line > last + 1:
            lines.append("--")
        mark = ":" if row.column >= 0 else "-"
        lines.append(f"{hits.path}{mark}{row.line}{mark} {cut(row)}")
        last = row.line
    return lines


def cut(row: Row, width: int = WIDTH) -> str:
    """The line, or where it is longer than `width` the part of it around the match."""
    text = row.text
    if len(text) <= width:
        return text
    start = max(0, min(row.column - width // 3, len(text) - width)) if row.column > 0 else 0
    end = start + width
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"
