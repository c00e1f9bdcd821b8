"""Builders of what is asked about code by name or file: definitions, uses, outlines, problems."""

import re

from cockpit.builtin.offline.intents import Define, FindFile, Format, Intent, Map, Outline, Problems, Uses
from cockpit.builtin.offline.phrases import Parts

PRONOUNS = frozenset(
    ("it", "this", "that", "everything", "here", "there", "them", "it's", "它", "这", "这个", "那个", "什么")
)
SOURCE = re.compile(
    r"\.(py|js|mjs|ts|tsx|jsx|go|rs|md|toml|json|ya?ml|c|h|cc|cpp|java|txt|sh|cfg|ini|css|html)$", re.I
)
NAME = re.compile(r"[^\W\d][\w$]*(?:[.:#-]+[\w$]+)*", re.U)


def define(parts: Parts) -> Intent | None:
    word = parts.word("x")
    # `os.path` is a name, `paths.py` a file.
    if word and not parts.is_quoted("x") and ("/" in word or SOURCE.search(word)):
        return FindFile(word)
    return Define(word) if (word := _name(parts)) else None


def uses(parts: Parts) -> Intent | None:
    return Uses(word) if (word := _name(parts)) else None


def explain(parts: Parts) -> Intent | None:
    path = parts.path()
    if path is None:
        return None
    is_folder = path.endswith("/") or "." not in path.rstrip("/").rsplit("/", 1)[-1]
    return Map(path.rstrip("/") or "/") if is_folder else Outline(path)


def outline(parts: Parts) -> Intent | None:
    return Outline(path) if (path := parts.path()) else None


def problems(parts: Parts) -> Intent | None:
    if not parts.has("path"):
        return Problems()
    return Problems(path.rstrip("?/")) if (path := parts.path()) else None


def formatted(parts: Parts) -> Intent | None:
    return Format(path) if (path := parts.path()) and not re.search(r"[*?]", path) else None


def _name(parts: Parts) -> str | None:
    word = parts.word("x")
    if word is None or word.lower() in PRONOUNS:
        return None
    return word if parts.is_quoted("x") or NAME.fullmatch(word) else None
