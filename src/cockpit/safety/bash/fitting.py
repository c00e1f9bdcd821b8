"""Whether a word is what the type of an operand or of an option allows."""

import re

from cockpit.safety.bash import places, scripts
from cockpit.safety.bash.awk import awk_prints
from cockpit.safety.bash.commands import Command
from cockpit.safety.bash.words import MILD, UNKNOWN, Word, unquoted
from cockpit.safety.values import Ground


def fits(word: Word, kind: str, command: Command, ground: Ground) -> bool:
    """Whether a word is what a type allows."""
    if kind == "TEXT":
        return (ground.sandbox or UNKNOWN not in word.text) and not (word.taints & {"secret"})
    if kind in ("READ_PATH", "NAME_PATH", "REV"):
        return _readable(word, kind, command, ground)
    text = word.literal
    if kind == "GLOB" and not ground.sandbox and not _names_no_secret(word, command, ground):
        return False
    if kind in ("PATTERN", "GLOB"):
        if ground.sandbox:
            return not word.taints & {"secret"}
        return word.sure and MILD not in word.text and UNKNOWN not in word.text
    if text is None:
        return False
    match kind[0]:
        case "=" | "!":
            return text in kind[1:].split("|")
        case "/":
            return re.fullmatch(kind[1:], text) is not None
    match kind:
        case "NUMBER":
            return re.fullmatch(r"[+-]?\d{1,9}[bkKMGcw%]?", text) is not None
        case "NAME":
            return re.fullmatch(r"[\w.+-]+", text) is not None and not text.startswith("-")
        case "SED":
            return scripts.sed_prints(text)
        case "AWK":
            return awk_prints(text)
        case _:
            return kind == "ANY"


def _names_no_secret(word: Word, command: Command, ground: Ground) -> bool:
    """Whether the names that a search is narrowed to are none of secrets."""
    text = unquoted(word.guess)
    return text.startswith("!") or is_open(places.place(Word(text), ground.root, ground.root, ground), ground)


def _readable(word: Word, kind: str, command: Command, ground: Ground) -> bool:
    if word.text == "-" and kind == "READ_PATH":
        return True
    if not word.sure or UNKNOWN in word.text or MILD in word.text:
        # Held in, a reader may read whatever it is given: only what is known of it counts.
        spot = places.place(word, command.cwd, command.near, ground)
        return ground.sandbox and (spot.kind == "unknown" or is_open(spot, ground))
    if kind == "REV" and (
        ":" in word.text or ".." in word.text or "^" in word.text or "~" in word.text or "@" in word.text
    ):
        tail = Word(word.text.rpartition(":")[2])
        return (
            word.literal is not None and places.place(tail, command.cwd, command.near, ground).rank <= 1
        ) or (
            word.literal is not None
            and ":" not in word.text
            and "/../" not in word.text
            and not word.text.startswith(("/", "../"))
        )
    if word.text.startswith("/dev/fd/"):
        return True
    spot = places.place(word, command.cwd, command.near, ground)
    if not is_open(spot, ground):
        return False
    found = places.matches(word, command.cwd)
    if found is None:
        return False
    for one in found:
        inner = places.place(Word(one), command.cwd, command.near, ground)
        if one.startswith("-") or not is_open(inner, ground):
            return False
    return True


def is_open(spot: places.Place, ground: Ground) -> bool:
    """Whether reading it needs nobody: inside the workspace and no secret."""
    return spot.rank <= 1 or (spot.kind == "protected" and places.within(spot.path, ground.root))
