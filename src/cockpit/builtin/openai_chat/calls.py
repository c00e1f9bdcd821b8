"""The tool calls of one reply, put together from fragments. Knows no text and no connection.

Servers differ in what they leave out: the index, the id, the fragments. Each case is named below.
"""

import json
import re
import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from cockpit.plugin.models import CallPart
from cockpit.protocol.messages import Json

SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(slots=True)
class OpenCall:
    """A call as its fragments come. `server_id` is the id it has on the wire, `said` whether its id
    and name were given out; what came before its name is only in `pieces`."""

    index: int
    id: str
    server_id: str = ""
    name: str = ""
    said: bool = False
    pieces: list[str] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        try:
            json.loads("".join(self.pieces))
        except (ValueError, RecursionError):
            return False
        return True


class Calls:
    """The calls of one reply. `taken` are the ids of the conversation so far: an id that comes again
    is changed, because results are matched to calls by id."""

    def __init__(self, taken: Collection[str] = ()) -> None:
        self._taken = set(taken)
        self._open: list[OpenCall] = []
        self._slots: dict[object, OpenCall] = {}

    @property
    def count(self) -> int:
        return len(self._open)

    def fragment(self, fragment: Mapping[str, Json]) -> list[CallPart]:
        """One entry of `tool_calls`."""
        function = fragment.get("function")
        # Some servers put name and arguments beside the id.
        inner = function if isinstance(function, Mapping) else fragment
        name = _text(inner, "name")
        call = self._call_for(fragment.get("index"), _text(fragment, "id"), name)
        piece = inner.get("arguments")
        if isinstance(piece, Mapping):
            # Ollama and others send arguments as an object.
            piece = json.dumps(piece, ensure_ascii=False, separators=(",", ":"))
        if isinstance(piece, str) and piece:
            call.pieces.append(mended(piece))
        else:
            piece = ""
        call.name = call.name or name
        if not call.name:
            return []
        if not call.said:
            call.said = True
            return [CallPart(call.index, call.id, call.name, "".join(call.pieces))]
        return [CallPart(call.index, arguments=call.pieces[-1])] if piece else []

    def whole(self, name: str, arguments: str) -> CallPart:
        """A call that was recovered from text."""
        call = self._begin(None, "")
        call.name, call.said = name, True
        call.pieces.append(arguments)
        return CallPart(call.index, call.id, name, arguments)

    def end(self) -> list[CallPart]:
        """What the end owes: `{}` for a call that takes no arguments, and calls that got no name."""
        owed: list[CallPart] = []
        for call in self._open:
            written = "".join(call.pieces)
            if not call.said:
                owed.append(CallPart(call.index, call.id, "", written or "{}"))
            elif not written.strip():
                owed.append(CallPart(call.index, arguments="{}"))
        return owed

    def _call_for(self, index: Json, call_id: str, name: str) -> OpenCall:
        """By index; a new id under an old index is another call (Gemini counts every call as 0).
        Without index by id. Without both it goes on with the last call, unless that is whole."""
        if isinstance(index, int):
            call = self._slots.get(index)
            if call is None or (call_id and call.server_id and call_id != call.server_id):
                return self._begin(index, call_id)
            return call
        if call_id:
            return self._slots.get(call_id) or self._begin(call_id, call_id)
        last = self._open[-1] if self._open else None
        if last is None or (name and last.name and (name != last.name or last.is_whole)):
            return self._begin(None, "")
        return last

    def _begin(self, slot: object, call_id: str) -> OpenCall:
        call = OpenCall(len(self._open), self._free_id(call_id), call_id)
        self._open.append(call)
        if slot is not None:
            self._slots[slot] = call
        return call

    def _free_id(self, call_id: str) -> str:
        if not call_id:
            call_id = f"call_{uuid.uuid4().hex[:20]}"
        elif call_id in self._taken:
            call_id = f"{call_id}-{uuid.uuid4().hex[:8]}"
        self._taken.add(call_id)
        return call_id


def mended(text: str) -> str:
    r"""`text` with its surrogates (`\ud83d`) joined to characters or replaced: half a character can be
    neither stored nor drawn."""
    if text.isascii() or not SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _text(fragment: Mapping[str, Json], key: str) -> str:
    value = fragment.get(key)
    return value if isinstance(value, str) else ""
