"""What a command changes for those behind it: the folder, variables, the files it wrote."""

import posixpath
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from cockpit.safety.bash import flows
from cockpit.safety.bash.commands import Command, Flow, Scope
from cockpit.safety.bash.words import MILD, UNKNOWN, Word

if TYPE_CHECKING:
    from cockpit.safety.bash.walk import Walk


def effects(walk: "Walk", made: Command, scope: Scope) -> None:
    """What a builtin changes for the commands behind it."""
    name, words = made.program, made.words[1:]
    if name in ("cd", "pushd"):
        operands = [word for word in words if not (word.guess.startswith("-") and len(word.guess) > 1)]
        scope.move(moved(operands[0], scope) if operands else walk.reading.ground.home)
    elif name == "popd":
        scope.move(None)
    elif name == "set" and any(word.guess == "--" or not word.guess.startswith(("-", "+")) for word in words):
        scope.arguments = tuple(word for word in words if word.guess != "--")
    elif name in ("read", "mapfile", "readarray", "getopts", "select", "printf", "unset", "shift", "let"):
        chosen = words if name != "printf" else words[1:2] if words[:1] and words[0].guess == "-v" else ()
        for word in chosen:
            taints = made.stdin.taints
            text = (made.stdin.text or "").strip() if name in ("read", "mapfile", "readarray") else ""
            if name == "printf" and words[2:]:
                text = flows.printed([word.text for word in words[2:]]) or ""
            scope.names[word.guess] = Word(text or UNKNOWN, False, taints)
        if name == "shift" and scope.arguments is not None:
            scope.arguments = scope.arguments[1:]
    for at in range(len(words)):
        if name in (
            "curl",
            "wget",
            "tee",
            "aria2c",
            "base64",
            "xxd",
            "openssl",
            "dd",
            "cp",
            "mv",
            "fetch",
            "scp",
        ):
            path = _written(name, words, at)
            if path:
                source = flows.output(replace(made, redirects=())).taints | _copied(walk, made, scope)
                walk.reading.files[located(path, scope)] = Flow(source, made.stdin.text)


def _copied(walk: "Walk", made: Command, scope: Scope) -> frozenset[str]:
    found = [walk.reading.files.get(located(one, scope)) for one in made.arguments if not one.startswith("-")]
    return frozenset().union(*(one.taints for one in found if one))


def _written(name: str, words: tuple[Word, ...], at: int) -> str:
    """The file that word `at` of a fetching or copying command names, or ""."""
    text = words[at].guess
    before = words[at - 1].guess if at else ""
    if name in ("curl", "wget", "aria2c", "fetch") and re.match(r"[a-z]+://|www\.|[\w.-]+\.\w+/", text):
        return text.rstrip("/").split("?")[0].rpartition("/")[2]
    if before in ("-o", "-O", "--output", "--output-document", "-out") or re.fullmatch(
        r"-[a-zA-Z]*[oO]", before
    ):
        return text
    if text.startswith(("--output=", "--output-document=", "of=")):
        return text.partition("=")[2]
    if name in ("curl", "wget") and re.match(r"-[oO][^-]", text):
        return text[2:]
    return text if name in ("tee", "cp", "mv", "scp") and not text.startswith("-") else ""


def moved(word: Word, scope: Scope) -> str | None:
    text = word.guess
    if UNKNOWN in text or MILD in text or text == "-" or not word.sure or word.literal is None:
        if text.startswith("/") or (UNKNOWN not in text and MILD not in text and text != "-"):
            scope.near = posixpath.normpath(posixpath.join(scope.near, text))
        return None
    if not text.startswith("/") and scope.cwd is None:
        scope.near = posixpath.normpath(posixpath.join(scope.near, text))
        return None
    return posixpath.normpath(posixpath.join(scope.cwd or "/", text))


def located(text: str, scope: Scope) -> str:
    """An operand as an absolute path, by the best guess of where the line stands."""
    return posixpath.normpath(posixpath.join(scope.near, text))
