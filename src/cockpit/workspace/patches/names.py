"""How patches name files: prefixes, git's quotes, GNU diff's dates. Pure."""

import re
from datetime import UTC, datetime

DEV_NULL = "/dev/null"
PREFIXES = (("a/", "b/"), ("i/", "w/"), ("c/", "i/"), ("c/", "w/"), ("o/", "w/"), ("b/", "a/"))
DATED = re.compile(r"\t(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.\d+)? ([+-]\d{4})\s*$")
SIMPLE = {"n": 10, "t": 9, "r": 13, "a": 7, "b": 8, "f": 12, "v": 11}


def name_of(text: str) -> str:
    """The name on a `---` or `+++` line, without a date behind it."""
    text = text.rstrip("\r")
    if text.startswith('"'):
        return unquoted(text)
    return text.split("\t")[0].rstrip(" ")


def is_epoch(line: str) -> bool:
    """Whether the line bears the date with which `diff -N` says that there is no file."""
    found = DATED.search(line)
    if found is None:
        return False
    when = datetime.strptime(f"{found[1]} {found[2]}", "%Y-%m-%d %H:%M:%S %z")
    return when == datetime(1970, 1, 1, tzinfo=UTC)


def stripped(old: str, new: str) -> tuple[str, str]:
    """The two names of one file without git's prefixes, or without the folders that `diff -r` compared."""
    for left, right in PREFIXES:
        old_fits, new_fits = old == DEV_NULL or old.startswith(left), new == DEV_NULL or new.startswith(right)
        if old_fits and new_fits:
            return (old if old == DEV_NULL else old[2:]), (new if new == DEV_NULL else new[2:])
    (_, _, old_tail), (_, _, new_tail) = old.partition("/"), new.partition("/")
    if old != new and DEV_NULL not in (old, new) and old_tail and old_tail == new_tail:
        return old_tail, new_tail
    return old, new


def git_paths(line: str) -> tuple[str, str]:
    """The two names of a `diff --git` line. Names with spaces are equal, so the middle parts them."""
    rest = line[len("diff --git ") :].rstrip("\r")
    if rest.startswith('"'):
        cut = _closing(rest)
        return name_of(rest[:cut]), name_of(rest[cut + 1 :])
    if rest.endswith('"') and ' "' in rest:
        old, _, new = rest.partition(' "')
        return name_of(old), name_of(f'"{new}')
    middle = len(rest) // 2
    if rest[middle : middle + 1] == " " and rest[:middle][2:] == rest[middle + 1 :][2:]:
        return rest[:middle], rest[middle + 1 :]
    old, _, new = rest.partition(" ")
    return name_of(old), name_of(new)


def _closing(text: str) -> int:
    """The place behind the quote that closes the one `text` begins with."""
    at = 1
    while at < len(text) and text[at] != '"':
        at += 2 if text[at] == "\\" else 1
    return at + 1


def unquoted(text: str) -> str:
    """A name as git quotes it, in C's way with octal bytes (git-config(1), core.quotePath)."""
    body = text[1 : _closing(text) - 1]
    out = bytearray()
    at = 0
    while at < len(body):
        if body[at] != "\\" or at + 1 == len(body):
            out += body[at].encode("utf-8", "surrogateescape")
            at += 1
        elif octal := re.match(r"[0-3][0-7]{2}", body[at + 1 :]):
            out.append(int(octal[0], 8))
            at += 4
        else:
            sign = body[at + 1]
            out += bytes([SIMPLE[sign]]) if sign in SIMPLE else sign.encode("utf-8", "surrogateescape")
            at += 2
    return out.decode("utf-8", "surrogateescape")
