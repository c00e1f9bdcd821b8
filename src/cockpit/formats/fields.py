"""Reads typed fields of a frontmatter document one after another, and notes what does not fit.

reader = FieldReader(document)
name = reader.text("name")
tools = reader.words("allowed-tools")
origin = reader.origin("project")
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Protocol, TypeVar, cast

from cockpit.formats.frontmatter import FrontmatterDocument
from cockpit.plugin.origin import FileProblem, Layer, Origin, Unloaded
from cockpit.protocol.messages import Json
from cockpit.settings.schema import TIERS

TIER_OF_FAMILY: Mapping[str, str] = {"haiku": "fast", "sonnet": "medium", "opus": "strong"}


def parse_model(written: str, family: str = "") -> str:
    """A model named in an agent's file: a tier, `provider:model`, or "" for the current model."""
    word = written.strip().lower()
    if word in ("", "inherit"):
        return ""
    if word in TIERS:
        return word
    tier = next((tier for part, tier in TIER_OF_FAMILY.items() if part in word), "")
    if tier and (word in TIER_OF_FAMILY or "claude" in word or "opusplan" in word):
        return tier
    return written.strip().replace("/", ":", 1) if family == "opencode" else written.strip()


class Definition(Protocol):
    """A value that a file defines: a skill, a role or a command."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def name(self) -> str: ...

    @property
    def origin(self) -> Origin | None: ...


T = TypeVar("T")
D = TypeVar("D", bound=Definition)
TRUE_WORDS = frozenset({"yes", "on", "1", "true"})
FALSE_WORDS = frozenset({"no", "off", "0", "false"})


class FieldReader:
    """The fields of one document. A requested field is recorded as understood; one of the wrong shape
    becomes a fault and its default is used. Fields that are never requested are ignored, as the skills
    standard says."""

    def __init__(self, document: FrontmatterDocument) -> None:
        self.document = document
        self.understood: dict[str, Json] = {}
        self.faults: list[FileProblem] = list(document.faults)

    def text(self, key: str, default: str = "") -> str:
        """A line or block of text; numbers count as text."""
        value = self.document.fields.get(key)
        if value is None:
            return default
        if isinstance(value, bool | list | dict):
            return self._refuse(key, "text", default)
        return self._note(key, str(value).strip())

    def words(self, key: str) -> tuple[str, ...] | None:
        """A YAML list, or words separated by commas or spaces; None if the key is missing.

        Parentheses keep a word together: `Bash(git add *), Read` are two.
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
        """A number of at least `least`, or None if the key is missing."""
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
        """A value out of `among`."""
        value = self.document.fields.get(key)
        if value is None:
            return default
        if not isinstance(value, str) or value.strip() not in among:
            return self._refuse(key, f"one of {', '.join(among)}", default)
        return self._note(key, value.strip())

    def table(self, key: str) -> Mapping[str, Json]:
        """A table, empty if the key is missing."""
        value = self.document.fields.get(key)
        if value is None:
            return {}
        if not isinstance(value, dict):
            return self._refuse(key, "a table", {})
        return self._note(key, value)

    def hint(self) -> str:
        """`argument-hint`: text, or the list that YAML makes of `[issue] [priority]`."""
        keys = ("argument-hint", "argument_hint")
        key = next((key for key in keys if self.document.fields.get(key) is not None), keys[0])
        value = self.document.fields.get(key)
        if isinstance(value, list):
            return self._note(key, " ".join(f"[{item}]" for item in value))
        return self.text(key)

    def model(self, layer: Layer, family: str) -> str:
        """`model`: a tier, `provider:model`, or an empty string for the current model.

        A project's file may only name a tier: a folder must not decide which provider reads the user's words,
        or what that costs (docs/adr/0008).
        """
        model = parse_model(self.text("model"), family)
        if layer == "project" and model not in ("", *TIERS):
            remedy = "name fast, medium or strong, which your settings define"
            self.refuse("model", "a project's file may only name a model tier", remedy)
            return ""
        return model

    def refuse_hooks(self, what: str) -> None:
        """Record that the hooks of `what` are not run."""
        if self.document.fields.get("hooks"):
            remedy = "put them into .cockpit/hooks.json; `cockpit hooks list` shows them"
            self.refuse("hooks", f"the hooks of {what} are listed but never run", remedy)

    def refuse(self, key: str, reason: str, remedy: str) -> None:
        """Record that the field was read and is ignored, with the reason."""
        self.understood.pop(key, None)
        self.faults.append(self.document.fault(key, reason, remedy))

    def origin(self, layer: Layer, shadows: tuple[str, ...] = ()) -> Origin:
        """The origin of the value, to be asked for after all fields were read."""
        return Origin(self.document.file, layer, dict(self.understood), shadows, tuple(self.faults))

    def _note(self, key: str, value: T) -> T:
        plain: object = value
        if isinstance(value, tuple):
            plain = list(value)
        elif isinstance(value, Mapping):
            plain = dict(value)
        self.understood[key] = cast("Json", plain)
        return value

    def _refuse(self, key: str, expected: str, default: T) -> T:
        value = self.document.fields[key]
        self.faults.append(self.document.fault(key, f"`{key}` is {value!r}", f"write {expected}"))
        return default


def add_shadowed(origin: Origin, hidden: Origin) -> Origin:
    """`origin`, which now also shadows the file of `hidden` and everything that one shadows."""
    return replace(origin, shadows=(*origin.shadows, hidden.file, *hidden.shadows))


def select_strongest(items: Iterable[D | Unloaded]) -> tuple[D | Unloaded, ...]:
    """The first of each name and layer, with the files it shadows, and all files that could not be read."""
    strongest: dict[tuple[str, str], D | Unloaded] = {}
    for item in items:
        if isinstance(item, Unloaded):
            strongest[item.origin.file, item.name] = item
            continue
        key = item.name, item.origin.layer if item.origin else ""
        stronger = strongest.get(key)
        if stronger is None or stronger.origin is None or item.origin is None:
            strongest[key] = item
        elif not isinstance(stronger, Unloaded):
            strongest[key] = replace(stronger, origin=add_shadowed(stronger.origin, item.origin))
    return tuple(strongest.values())


def split_words(text: str) -> list[str]:
    """Split at commas and blanks, keeping parentheses together."""
    return [word for word in re.findall(r"[^\s,()]*\([^)]*\)|[^\s,]+", text) if word]
