"""Hunks between two byte texts, and a text rebuilt from some of them. Lines end at \\n and nowhere else,
so that CR, form feeds and U+2028 stay what they are. Knows no files."""

import hashlib
from collections.abc import Collection, Mapping
from difflib import SequenceMatcher

from cockpit.protocol.content import Diff, Hunk

CONTEXT = 3
MARK = "\\ No newline at end of file"
# Beyond this many line pairs the middle is shown as replaced: difflib's time grows with their product.
PAIRS = 40_000_000
Change = tuple[int, int, int, int]


def lines_of(content: bytes) -> list[bytes]:
    """The lines with their \\n; the last may lack it."""
    lines = content.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last] if last else [])


def is_binary(content: bytes) -> bool:
    """Whether the bytes are no text a person could review: a NUL, as git decides."""
    return b"\0" in content[:8000]


def hunks(before: bytes, after: bytes, path: str = "", context: int = CONTEXT) -> tuple[Hunk, ...]:
    """The changes from `before` to `after`, with `context` lines around each."""
    old, new = lines_of(before), lines_of(after)
    groups = _grouped(_changes(old, new), context)
    return tuple(_hunk(group, old, new, context, path) for group in groups)


def _changes(old: list[bytes], new: list[bytes]) -> list[Change]:
    """Replaced ranges as (old from, old to, new from, new to)."""
    start = 0
    while start < len(old) and start < len(new) and old[start] == new[start]:
        start += 1
    end = 0
    limit = min(len(old), len(new)) - start
    while end < limit and old[-1 - end] == new[-1 - end]:
        end += 1
    left, right = old[start : len(old) - end], new[start : len(new) - end]
    if not left and not right:
        return []
    if not left or not right or len(left) * len(right) > PAIRS:
        return [(start, start + len(left), start, start + len(right))]
    matcher = SequenceMatcher(None, left, right, autojunk=len(left) > 2000)
    return [
        (start + a, start + b, start + c, start + d)
        for tag, a, b, c, d in matcher.get_opcodes()
        if tag != "equal"
    ]


def _grouped(changes: list[Change], context: int) -> list[list[Change]]:
    groups: list[list[Change]] = []
    for change in changes:
        if groups and change[0] - groups[-1][-1][1] <= 2 * context:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def _hunk(group: list[Change], old: list[bytes], new: list[bytes], context: int, path: str) -> Hunk:
    first, last = group[0], group[-1]
    lead, trail = min(context, first[0]), min(context, len(old) - last[1])
    old_from, old_to = first[0] - lead, last[1] + trail
    new_from, new_to = first[2] - lead, last[3] + trail
    lines: list[str] = []
    at = old_from
    for a, b, c, d in group:
        lines += _shown(" ", old[at:a]) + _shown("-", old[a:b]) + _shown("+", new[c:d])
        at = b
    lines += _shown(" ", old[at:old_to])
    old_start = old_from + 1 if old_to > old_from else old_from
    new_start = new_from + 1 if new_to > new_from else new_from
    name = hashlib.sha256("\n".join((path, str(old_start), *lines)).encode("utf-8", "replace")).hexdigest()[
        :12
    ]
    return Hunk(name, old_start, old_to - old_from, new_start, new_to - new_from, tuple(lines))


def _shown(sign: str, lines: list[bytes]) -> list[str]:
    out: list[str] = []
    for line in lines:
        out.append(sign + line.removesuffix(b"\n").decode("utf-8", "replace"))
        if not line.endswith(b"\n"):
            out.append(MARK)
    return out


def rebuilt(
    before: bytes,
    after: bytes,
    all_hunks: tuple[Hunk, ...],
    kept: Collection[str],
    written: Mapping[str, bytes] | None = None,
) -> bytes:
    """`before` with only the hunks whose ids are in `kept`, those in `written` with these bytes instead of
    their new lines. All of them give exactly `after`, none exactly `before`."""
    old, new = lines_of(before), lines_of(after)
    instead = written or {}
    out: list[bytes] = []
    at = 0
    for hunk in all_hunks:
        start = hunk.old_start - 1 if hunk.old_lines else hunk.old_start
        new_start = hunk.new_start - 1 if hunk.new_lines else hunk.new_start
        out += old[at:start]
        at = start + hunk.old_lines
        taken = new[new_start : new_start + hunk.new_lines] if hunk.id in kept else old[start:at]
        out += [instead[hunk.id]] if hunk.id in instead and hunk.id in kept else taken
    return b"".join(out + old[at:])


def counts(all_hunks: tuple[Hunk, ...]) -> tuple[int, int]:
    """Added and removed lines."""
    lines = [line for hunk in all_hunks for line in hunk.lines]
    return sum(line[:1] == "+" for line in lines), sum(line[:1] == "-" for line in lines)


def unified(diff: Diff) -> str:
    """The diff as `git apply` reads it, without the header's hashes."""
    out = [f"--- a/{diff.moved_from or diff.path}", f"+++ b/{diff.path}"]
    for hunk in diff.hunks:
        out.append(f"@@ -{hunk.old_start},{hunk.old_lines} +{hunk.new_start},{hunk.new_lines} @@")
        out += hunk.lines
    return "\n".join(out) + "\n"
