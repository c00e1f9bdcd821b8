"""How files of other agents name a model, in our words: a tier, or `provider:model`.

Reading one field after another of a file, each with its shape, and noting what does not fit.

fields = Fields(document)
name = fields.text("name")
tools = fields.words("allowed-tools")
origin = fields.origin("project")
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar, cast

from cockpit.formats.frontmatter import FrontmatterDocument
from cockpit.plugin.origin import FileProblem, Layer, Origin
from cockpit.protocol.messages import Json
from cockpit.settings.schema import TIERS

TIER_OF_FAMILY: Mapping[str, str] = {"haiku": "fast", "sonnet": "medium", "opus": "strong"}


def parse_model(said: str, family: str = "") -> str:
    """A tier, or `provider:model`; "" for the one in force. `family` is whose file it is."""
    word = said.strip().lower()
    if word in ("", "inherit"):
        return ""
    if word in TIERS:
        return word
    found = next((tier for part, tier in TIER_OF_FAMILY.items() if part in word), "")
    if found and (word in TIER_OF_FAMILY or "claude" in word or "opusplan" in word):
        return found
    return said.strip().replace("/", ":", 1) if family == "opencode" else said.strip()


def is_tier(name: str) -> bool:
    """Whether it is one of the person's own choices: all that a project's file may name."""
    return name in ("", *TIERS)


T = TypeVar("T")
TRUE_WORDS = frozenset({"yes", "on", "1", "true"})
FALSE_WORDS = frozenset({"no", "off", "0", "false"})


class FieldReader:
    """The fields of one document. What was asked for is noted as understood; what does not fit is a fault
    and its default is used. Fields that nobody asks for are ignored, as the skills' standard says."""

    def __init__(self, document: FrontmatterDocument) -> None:
        self.document = document
        self.understood: dict[str, Json] = {}
        self.faults: list[FileProblem] = list(document.faults)

    def text(self, key: str, default: str = "") -> str:
        """One line or block of text; numbers are text too."""
        value = self.document.fields.get(key)
        if value is None:
            return default
        if isinstance(value, bool | list | dict):
            return self._refuse(key, "text", default)
        return self._note(key, str(value).strip())

    def words(self, key: str) -> tuple[str, ...] | None:
        """A YAML list, or words between commas or spaces; None where the key is missing.

        Parentheses hold a word together: `Bash(git add *), Read` are two.
        """
        value = self.document.fields.get(key)
        if value is None:
            return None if key not in self.document.fields else self._note(key, ())
        if isinstance(value, str):
            return self._note(key, tuple(split_words(value)))
        if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
            return self._note(key, tuple(str(entry).strip() for entry in value))
        return self._refuse(key, "a list of words", None)

    def flag(self, key: str, default: bool = False) -> bool:
        """true, yes, on, 1 and their opposites."""
        value = self.document.fields.get(key)
        if value is None:
            return default
        word = str(value).strip().lower()
        if word in TRUE_WORDS or word in FALSE_WORDS:
            return self._note(key, word in TRUE_WORDS)
        return self._refuse(key, "true or false", default)

    def number(self, key: str, least: float = 0.0) -> float | None:
        """A number of at least `least`, None where the key is missing."""
        value = self.document.fields.get(key)
        if value is None:
            return None
        try:
            number = float(value) if isinstance(value, int | float | str) else float("nan")
        except ValueError:
            number = float("nan")
        if isinstance(value, bool) or not number >= least:
            return self._refuse(key, f"a number of at least {least:g}", None)
        return self._note(key, number)

    def choice(self, key: str, among: tuple[str, ...], default: str = "") -> str:
        """One of `among`."""
        value = self.document.fields.get(key)
        if value is None:
            return default
        if not isinstance(value, str) or value.strip() not in among:
            return self._refuse(key, f"one of {', '.join(among)}", default)
        return self._note(key, value.strip())

    def table(self, key: str) -> Mapping[str, Json]:
        """A table, empty where the key is missing."""
        value = self.document.fields.get(key)
        if value is None:
            return {}
        if not isinstance(value, dict):
            return self._refuse(key, "a table", {})
        return self._note(key, value)

    def refuse(self, key: str, reason: str, remedy: str) -> None:
        """Note that the field was read and is not taken over."""
        self.understood.pop(key, None)
        self.faults.append(self.document.fault(key, reason, remedy))

    def origin(self, layer: Layer, shadows: tuple[str, ...] = ()) -> Origin:
        """Where the value came from, after all its fields were read."""
        return Origin(self.document.file, layer, dict(self.understood), shadows, tuple(self.faults))

    def _note(self, key: str, value: T) -> T:
        plain: object = value
        if isinstance(value, tuple):
            plain = list(value)
        elif isinstance(value, Mapping):
            plain = dict(value)
        self.understood[key] = cast("Json", plain)
        return value

    def _refuse(self, key: str, wanted: str, default: T) -> T:
        value = self.document.fields[key]
        self.faults.append(self.document.fault(key, f"`{key}` is {value!r}", f"write {wanted}"))
        return default


def add_shadowed(origin: Origin, hidden: Origin) -> Origin:
    """`origin`, which hides the file of the same name in `hidden` and all that one hides."""
    return replace(origin, shadows=(*origin.shadows, hidden.file, *hidden.shadows))


def split_words(text: str) -> list[str]:
    """Words between commas or blanks, parentheses kept whole."""
    return [word for word in re.findall(r"[^\s,()]*\([^)]*\)|[^\s,]+", text) if word]
