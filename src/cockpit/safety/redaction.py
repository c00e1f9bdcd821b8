"""Removes keys and tokens from text before anybody sees it: known values exactly, others by pattern.

Known values are the secret variables of the environment and of a trusted folder's `.env` files, and the keys
that cockpit stores. Each is replaced by `[redacted NAME]`. Text that a tool read from a file for the model to
edit loses known values only (see `file_reads`). Writes nothing.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

from cockpit.plugin.changes import ChangeSet
from cockpit.plugin.tools import Done
from cockpit.protocol.content import Block, Image
from cockpit.protocol.events import Event, ToolCallFinished
from cockpit.protocol.messages import Json, Kind
from cockpit.safety import secret_patterns
from cockpit.safety.secret_patterns import SECRET_PATTERNS
from cockpit.settings import api_keys
from cockpit.workspace.environment import is_secret_variable

_Value = TypeVar("_Value")
TextFilter = Callable[[str], str]


def map_texts(value: _Value, clean: TextFilter) -> _Value:
    """`value` with `clean` applied to every text in it; unchanged parts stay the same objects.

    Covers text, tuples, lists, mappings and frozen dataclasses, nested. Keys of mappings and image data are
    left alone.
    """
    return cast("_Value", _map_value(value, clean))


def _map_value(value: object, clean: TextFilter) -> object:
    if isinstance(value, str):
        return clean(value) if value else value
    if value is None or isinstance(value, int | float | bytes | Image):
        return value
    if isinstance(value, tuple | list):
        return _map_sequence(value, clean)
    if isinstance(value, Mapping):
        changed = {key: _map_value(item, clean) for key, item in value.items()}
        return changed if any(changed[key] is not value[key] for key in changed) else value
    if is_dataclass(value) and not isinstance(value, type):
        return _map_dataclass(value, clean)
    return value


def _map_sequence(value: tuple[object, ...] | list[object], clean: TextFilter) -> object:
    changed = [_map_value(item, clean) for item in value]
    if all(new is old for new, old in zip(changed, value, strict=True)):
        return value
    return changed if isinstance(value, list) else tuple(changed)


def _map_dataclass(value: Any, clean: TextFilter) -> object:
    cls: Any = type(value)
    old = {name: getattr(value, name) for name in _field_names(cls)}
    new = {name: _map_value(item, clean) for name, item in old.items()}
    changed = {name: item for name, item in new.items() if item is not old[name]}
    return replace(value, **changed) if changed else value


@cache
def _field_names(cls: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(cls))


T = TypeVar("T")
MARKER = re.compile(r"\[redacted ([^\[\]\n]{1,80})\]")
FILE_KINDS: tuple[Kind, ...] = ("read", "search", "edit", "delete", "move")
DOTENV_FILES = (".env", ".env.local", ".env.development", ".env.production", ".env.test", ".env.staging")


class Redactor:
    """The secrets of one session. `use` replaces them."""

    def __init__(
        self, environment: Mapping[str, str], file_reads: Literal["raw", "redacted"] = "redacted"
    ) -> None:
        self.file_reads = file_reads
        self._own: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._searched: tuple[tuple[str, bytes], ...] = ()
        self._bounds: frozenset[str] = frozenset()
        self._keys = 0
        self._raw: set[str] = set()
        self.use(environment)

    def use(self, environment: Mapping[str, str]) -> None:
        """Redact these variables (those with secret names) and the stored keys from now on."""
        self._own = {
            value.strip(): name
            for name, value in environment.items()
            if is_secret_variable(name) and secret_patterns.is_redactable(name, value.strip())
        }
        self._compile()

    def _compile(self) -> None:
        known = api_keys.known_secrets()
        self._keys = len(known)
        values = {key: f"{name} key" for key, name in known.items() if secret_patterns.is_redactable("", key)}
        values |= self._own
        names = {
            form: name for value, name in values.items() for form in secret_patterns.encoded_forms(value)
        }
        # Longest first, as one value may contain another.
        self._names = {form: names[form] for form in sorted(names, key=len, reverse=True)}
        self._searched = tuple((form, _search_bytes(form)) for form in self._names)
        self._bounds = frozenset(form[at : at + 4] for form in self._names for at in range(len(form) - 3))

    def spans(self, text: str) -> list[tuple[int, int, str]]:
        """Where `text` contains secrets, known or by pattern: start, end, name. They may overlap."""
        whole = _search_bytes(text)
        known = [
            (match.start(), match.end(), self._names[form])
            for form, raw in self._searched
            if raw in whole
            for match in _across_lines(form).finditer(text)
        ]
        return sorted([*known, *secret_patterns.find_secrets(text)])

    def text(self, text: str) -> str:
        """`text` without known values and without what looks like a secret."""
        text = self.exact(text)
        for start, end, kind in reversed(secret_patterns.find_secrets(text)):
            text = f"{text[:start]}[redacted {kind}]{text[end:]}"
        return text

    def exact(self, text: str) -> str:
        """`text` without the known values, whether plain, encoded or broken across lines."""
        if self._keys != len(api_keys.known_secrets()):
            self._compile()
        if not self._searched:
            return text
        whole = _search_bytes(text)
        for form, raw in self._searched:
            if raw in whole:
                marker = f"[redacted {self._names[form]}]"
                text = text.replace(form, marker)
                if "\n" in text:
                    text = _across_lines(form).sub(marker.replace("\\", r"\\"), text)
        return text

    def partial_start(self, text: str) -> int:
        """Where the end of `text` could be the beginning of a known value (at least 4 characters of it), or
        the length of `text`. For streamed text."""
        if text[-4:] not in self._bounds:
            return len(text)
        longest = max(map(len, self._names), default=0)
        for at in range(max(0, len(text) - longest), len(text) - 3):
            tail = text[at:]
            if any(form.startswith(tail) for form in self._names):
                return at
        return len(text)

    def value(self, value: T) -> T:
        """A protocol value with `text` applied to every text in it."""
        return map_texts(value, self.text)

    def event(self, event: Event) -> Event:
        """An event as it may be written and shown.

        Tool results were redacted by `done`; here they only lose known values, as the model could not edit
        source code in which patterns had been replaced.
        """
        if not isinstance(event, ToolCallFinished):
            return self.value(event)
        return event if event.result.call in self._raw else map_texts(event, self.exact)

    def done(self, done: Done, kind: Kind, call: str) -> Done:
        """A tool's result as the model, the screen and the transcript get it."""
        if kind not in FILE_KINDS:
            return _clean(done, self.text)
        if self.file_reads == "raw" and kind in ("read", "search"):
            self._raw.add(call)
            return done
        return _clean(done, self.exact)

    def find_new_marker(self, changes: ChangeSet) -> str:
        """The path of a file into which a redaction marker would be written, or an empty string."""
        kinds = {shape.kind for shape in secret_patterns.SECRET_PATTERNS} | set(self._names.values())
        for file in changes.files:
            before, after = file.before or b"", file.after or b""
            if b"[redacted " not in after:
                continue
            if Counter(_markers(after, kinds)) - Counter(_markers(before, kinds)):
                return file.path
        return ""


def _clean(done: Done, clean: TextFilter) -> Done:
    blocks: tuple[Block, ...] = map_texts(done.blocks, clean)
    data: Json = map_texts(done.data, clean)
    return replace(done, text=clean(done.text), blocks=blocks, data=data)


def _across_lines(form: str) -> re.Pattern[str]:
    """A pattern for `form` with line breaks anywhere in it."""
    letters = map(re.escape, form.replace("\r", "").replace("\n", ""))
    return re.compile(r"[\r\n]*".join(letters))


def _search_bytes(text: str) -> bytes:
    """`text` for searching, without line breaks. Searching bytes is several times as fast."""
    return text.encode("utf-8", "surrogatepass").translate(None, b"\r\n")


def _markers(raw: bytes, kinds: set[str]) -> list[str]:
    return [name for name in MARKER.findall(raw.decode("utf-8", "replace")) if name in kinds]


def secrets_of(root: str, trusted: bool, ours: Mapping[str, str]) -> dict[str, str]:
    """The variables to redact: `ours` and those of a trusted folder's `.env` files."""
    from cockpit.settings.files import read_dotenv

    variables: dict[str, str] = {}
    for name in DOTENV_FILES if trusted else ():
        variables |= read_dotenv(Path(root) / name)
    return variables | dict(ours)


# How many characters are searched for an unfinished secret, and the most that is ever held back.
LOOKBACK = 600
MAX_HELD_BACK = 16_000
# Text that was already passed on is searched again with the next piece, as a secret may begin in it.
OVERLAP = 24

_CUES = "|".join(
    re.escape(item) for item in sorted({item.cue.strip() for item in SECRET_PATTERNS}, key=len, reverse=True)
)
# A cue and the characters that may belong to its secret. Blanks are allowed around `=` and `:` and after
# `Bearer`.
_OPEN = re.compile(
    rf"""(?:{_CUES})[\w-]*["']?\s{{0,3}}(?:=>|:=|[:=])?\s{{0,3}}["']?(?:bearer|basic|token)?\s?[^\s"'`,;]*\Z""",
    re.IGNORECASE,
)
_OPEN_PEM = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,24}(?:-{0,4}|PRIVATE KEY(?: BLOCK)?-----(?:(?!-----END [A-Z ]*-----)[^\0])*)\Z"
)


@dataclass(slots=True)
class _OpenStream:
    """A stream: the text held back, and the end of the text passed on."""

    held_back: str = ""
    passed_on: str = ""


class RedactedStreams:
    """The open streams of a session, by name. Text that may begin a secret is held back until more
    arrives."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._open: dict[tuple[str, ...], _OpenStream] = {}

    def feed(self, name: tuple[str, ...], piece: str) -> str:
        """The text that may be passed on now, possibly empty."""
        stream = self._open.setdefault(name, _OpenStream())
        text = stream.held_back + piece
        # The secret may have begun in text passed on earlier; a few characters of it reveal nothing.
        cut = max(0, _safe_length(stream.passed_on + text, self._redactor) - len(stream.passed_on))
        stream.held_back = text[cut:]
        return self._passed(stream, text[:cut])

    def end(self, name: tuple[str, ...]) -> str:
        """The text held back, when the stream ends."""
        stream = self._open.pop(name, None)
        return self._passed(stream, stream.held_back) if stream is not None else ""

    def _passed(self, stream: _OpenStream, text: str) -> str:
        """`text` without its secrets, also those that began in text passed on earlier."""
        if not text:
            return ""
        seam, whole = len(stream.passed_on), stream.passed_on + text
        stream.passed_on = whole[-OVERLAP:]
        pieces, at = [], seam
        for start, end, name in self._redactor.spans(whole):
            if end <= at:
                continue
            pieces += [whole[at : max(at, start)], f"[redacted {name}]"]
            at = end
        return "".join([*pieces, whole[at:]])


def _safe_length(text: str, redactor: Redactor) -> int:
    """How much of `text` can be passed on without splitting a secret."""
    tail = max(0, len(text) - LOOKBACK)
    cut = redactor.partial_start(text)
    if match := _OPEN.search(text, tail):
        cut = min(cut, match.start())
    at = text.rfind("-----BEGIN ", max(0, len(text) - MAX_HELD_BACK))
    if at >= 0 and _OPEN_PEM.match(text, at):
        cut = min(cut, at)
    return cut if len(text) - cut <= MAX_HELD_BACK else len(text)
