"""Keys and tokens taken out of text before anybody sees it: known values exactly, others by their shape.

Known are the secret variables of the environment and of a trusted folder's `.env` files, and the keys that
cockpit keeps. Each is replaced by `[redacted NAME]`. What a tool read of a file for the model to edit
loses known values only (`file_reads`). Owns no stream (`secrets_stream`) and writes nothing.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeVar

from cockpit.plugin.changes import ChangeSet
from cockpit.plugin.tools import Done
from cockpit.protocol.content import Block
from cockpit.protocol.events import Event, ToolCallFinished
from cockpit.protocol.messages import Json, Kind
from cockpit.safety import secrets
from cockpit.safety.walking import Clean, walked
from cockpit.settings import keys
from cockpit.workspace.environment import is_secret

T = TypeVar("T")
MARKER = re.compile(r"\[redacted ([^\[\]\n]{1,80})\]")
READS: tuple[Kind, ...] = ("read", "search", "edit", "delete", "move")
DOTENV = (".env", ".env.local", ".env.development", ".env.production", ".env.test", ".env.staging")


class Redactor:
    """The secrets of one session. `use` replaces what it knows."""

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
        """Know these variables (those with secret names), and the saved keys, from now on."""
        self._own = {
            value.strip(): name
            for name, value in environment.items()
            if is_secret(name) and secrets.is_worth(name, value.strip())
        }
        self._compile()

    def _compile(self) -> None:
        known = keys.known()
        self._keys = len(known)
        values = {key: f"{name} key" for key, name in known.items() if secrets.is_worth("", key)}
        values |= self._own
        found = {form: name for value, name in values.items() for form in secrets.forms(value)}
        # The longest first: one value may hold another.
        self._names = {form: found[form] for form in sorted(found, key=len, reverse=True)}
        self._searched = tuple((form, _bytes_of(form)) for form in self._names)
        self._bounds = frozenset(form[at : at + 4] for form in self._names for at in range(len(form) - 3))

    def spans(self, text: str) -> list[tuple[int, int, str]]:
        """Where secrets stand in `text`, known ones and others: start, end, name; some may overlap."""
        whole = _bytes_of(text)
        found = [
            (match.start(), match.end(), self._names[form])
            for form, raw in self._searched
            if raw in whole
            for match in _broken(form).finditer(text)
        ]
        return sorted([*found, *secrets.spans(text)])

    def text(self, text: str) -> str:
        """`text` without known values and without what looks like a secret."""
        return self._shapes(self.exact(text))

    def exact(self, text: str) -> str:
        """`text` without the known values, whole, encoded, or broken over lines."""
        if self._keys != len(keys.known()):
            self._compile()
        if not self._searched:
            return text
        whole = _bytes_of(text)
        for form, raw in self._searched:
            if raw in whole:
                text = self._taken(text, form)
        return text

    def _taken(self, text: str, form: str) -> str:
        """`text` without `form`, also where lines were broken inside it."""
        end = f"[redacted {self._names[form]}]"
        plain = text.replace(form, end)
        return _broken(form).sub(lambda _: end, plain) if "\n" in plain else plain

    def _shapes(self, text: str) -> str:
        found = secrets.spans(text)
        for start, end, kind in reversed(found):
            text = f"{text[:start]}[redacted {kind}]{text[end:]}"
        return text

    def begins(self, text: str) -> int:
        """Where the last characters of `text` could be the beginning of a known value (4 or more of it);
        its length where they could not. For text that comes in pieces."""
        if text[-4:] not in self._bounds:
            return len(text)
        longest = max(map(len, self._names), default=0)
        for at in range(max(0, len(text) - longest), len(text) - 3):
            tail = text[at:]
            if any(form.startswith(tail) for form in self._names):
                return at
        return len(text)

    def value(self, value: T) -> T:
        """A value of the protocol with every text in it as `text` makes it."""
        return walked(value, self.text)

    def event(self, event: Event) -> Event:
        """An event as it may be written and shown. A result was looked at by `done`; its shapes stay, or
        the model could not edit the source it read."""
        if not isinstance(event, ToolCallFinished):
            return self.value(event)
        return event if event.result.call in self._raw else walked(event, self.exact)

    def done(self, done: Done, kind: Kind, call: str) -> Done:
        """A tool's result as the model, the screen and the transcript get it."""
        if kind not in READS:
            return _clean(done, self.text)
        if self.file_reads == "raw" and kind in ("read", "search"):
            self._raw.add(call)
            return done
        return _clean(done, self.exact)

    def spoilt(self, changes: ChangeSet) -> str:
        """The path of a file into which a marker of ours would be written, or nothing."""
        kinds = {shape.kind for shape in secrets.SHAPES} | set(self._names.values())
        for file in changes.files:
            before, after = file.before or b"", file.after or b""
            if b"[redacted " not in after:
                continue
            old, new = (_markers(raw, kinds) for raw in (before, after))
            if any(new.count(one) > old.count(one) for one in set(new)):
                return file.path
        return ""


def _clean(done: Done, clean: Clean) -> Done:
    blocks: tuple[Block, ...] = walked(done.blocks, clean)
    data: Json = walked(done.data, clean)
    return replace(done, text=clean(done.text), blocks=blocks, data=data)


def _broken(form: str) -> re.Pattern[str]:
    """`form` with line ends anywhere inside it."""
    letters = map(re.escape, form.replace("\r", "").replace("\n", ""))
    return re.compile(r"[\r\n]*".join(letters))


def _bytes_of(text: str) -> bytes:
    """`text` for searching: without its line ends. Bytes are searched several times as fast."""
    return text.encode("utf-8", "surrogatepass").translate(None, b"\r\n")


def _markers(raw: bytes, kinds: set[str]) -> list[str]:
    return [name for name in MARKER.findall(raw.decode("utf-8", "replace")) if name in kinds]


def secrets_of(root: str, trusted: bool, ours: Mapping[str, str]) -> dict[str, str]:
    """The variables to look for: `ours`, and those of a trusted folder's `.env` files."""
    from cockpit.settings.files import dotenv

    found: dict[str, str] = {}
    for name in DOTENV if trusted else ():
        found |= dotenv(Path(root) / name)
    return found | dict(ours)
