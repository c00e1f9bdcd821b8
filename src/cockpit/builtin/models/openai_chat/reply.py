"""Reads one reply: the JSON chunks of a server in, deltas out. Knows no connection.

Vendors differ in many details; each is named where it is handled. A completion that is not streamed is read
as one chunk, so both forms give equal deltas.
"""

import json
import re
import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from cockpit.builtin.models.openai_chat.text_calls import TextRecovery
from cockpit.plugin.models import CallPart, Delta, TextPart, ThoughtPart
from cockpit.protocol.messages import Finish, Json, Usage

SURROGATE_PATTERN = re.compile("[\ud800-\udfff]")


@dataclass(slots=True)
class PartialCall:
    """A tool call while its fragments arrive. `server_id` is its id on the wire. `announced` means that a
    delta with its id and name was emitted; arguments that arrive before are only in `pieces`."""

    index: int
    id: str
    server_id: str = ""
    name: str = ""
    announced: bool = False
    pieces: list[str] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        try:
            json.loads("".join(self.pieces))
        except (ValueError, RecursionError):
            return False
        return True


class CallAssembler:
    """Assembles the tool calls of one reply. An id that is among the `used_ids` of the conversation is
    changed, because results are matched by id."""

    def __init__(self, used_ids: Collection[str] = ()) -> None:
        self._used_ids = set(used_ids)
        self._open: list[PartialCall] = []
        self._slots: dict[object, PartialCall] = {}

    @property
    def count(self) -> int:
        return len(self._open)

    def add_fragment(self, fragment: Mapping[str, Json]) -> list[CallPart]:
        """Read one entry of `tool_calls`."""
        function = fragment.get("function")
        # Some servers put name and arguments next to the id.
        inner = function if isinstance(function, Mapping) else fragment
        name = _get_text(inner, "name")
        call = self._select_call(fragment.get("index"), _get_text(fragment, "id"), name)
        piece = inner.get("arguments")
        if isinstance(piece, Mapping):
            # Ollama and others send arguments as an object.
            piece = json.dumps(piece, ensure_ascii=False, separators=(",", ":"))
        if isinstance(piece, str) and piece:
            call.pieces.append(repair_surrogates(piece))
        else:
            piece = ""
        call.name = call.name or name
        if not call.name:
            return []
        if not call.announced:
            call.announced = True
            return [CallPart(call.index, call.id, call.name, "".join(call.pieces))]
        return [CallPart(call.index, arguments=call.pieces[-1])] if piece else []

    def add_complete(self, name: str, arguments: str) -> CallPart:
        """Add a call that was recovered from text."""
        call = self._begin(None, "")
        call.name, call.announced = name, True
        call.pieces.append(arguments)
        return CallPart(call.index, call.id, name, arguments)

    def end(self) -> list[CallPart]:
        """The last parts: `{}` for a call without arguments, and the calls that have no name."""
        remaining: list[CallPart] = []
        for call in self._open:
            written = "".join(call.pieces)
            if not call.announced:
                remaining.append(CallPart(call.index, call.id, "", written or "{}"))
            elif not written.strip():
                remaining.append(CallPart(call.index, arguments="{}"))
        return remaining

    def _select_call(self, index: Json, call_id: str, name: str) -> PartialCall:
        """The call that a fragment belongs to: by index, else by id, else the last call unless complete. A
        new id with a known index is another call: Gemini gives every call the index 0."""
        if isinstance(index, int):
            call = self._slots.get(index)
            if call is None or (call_id and call.server_id and call_id != call.server_id):
                return self._begin(index, call_id)
            return call
        if call_id:
            return self._slots.get(call_id) or self._begin(call_id, call_id)
        last = self._open[-1] if self._open else None
        if last is None or (name and last.name and (name != last.name or last.is_complete)):
            return self._begin(None, "")
        return last

    def _begin(self, slot: object, call_id: str) -> PartialCall:
        free_id = call_id or f"call_{uuid.uuid4().hex[:20]}"
        if free_id in self._used_ids:
            free_id = f"{call_id}-{uuid.uuid4().hex[:8]}"
        self._used_ids.add(free_id)
        call = PartialCall(len(self._open), free_id, call_id)
        self._open.append(call)
        if slot is not None:
            self._slots[slot] = call
        return call


def repair_surrogates(text: str) -> str:
    r"""Join the surrogates (`\ud83d`) in `text` to characters, or replace lone ones."""
    if text.isascii() or not SURROGATE_PATTERN.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _get_text(fragment: Mapping[str, Json], key: str) -> str:
    value = fragment.get(key)
    return value if isinstance(value, str) else ""


FINISH_REASONS: Mapping[str, Finish] = {
    "stop": "stop",
    "end_turn": "stop",
    "eos": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "tool_use": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "model_context_window_exceeded": "length",
    "content_filter": "content_filter",
    "sensitive": "content_filter",
    "safety": "content_filter",
    "refusal": "content_filter",
    # Zhipu, DeepSeek and OpenRouter: the server failed within the reply.
    "network_error": "interrupted",
    "insufficient_system_resource": "interrupted",
    "error": "interrupted",
}


class MalformedChunk(Exception):
    """An event that is not a JSON object."""


class Reply:
    """Reads one reply. `tools` are the tool names of the request, `used_ids` the call ids of the
    conversation."""

    def __init__(self, tools: Collection[str] = (), used_ids: Collection[str] = ()) -> None:
        self.done = False
        self.finish: Finish | None = None
        self.usage: Mapping[str, Json] | None = None
        self.error: Json = None
        self.has_choices = False
        self.has_text = False
        self._recovery = TextRecovery(tools)
        self._calls = CallAssembler(used_ids)
        self._out: list[Delta] = []
        self._text_run: list[str] = []
        self._run_is_thought = False
        self._half_surrogate = ""
        self._thoughts: list[str] = []

    def read(self, name: str, text: str) -> None:
        """Read one event of the stream. Raises `MalformedChunk`."""
        if text.startswith("[DONE]"):
            self.done = True
            return
        if not text.strip():
            return
        try:
            chunk = json.loads(text)
        except (ValueError, RecursionError) as error:
            # Some servers leave out the blank line between two events.
            if "\n" not in text:
                raise MalformedChunk(text[:200]) from error
            for line in text.split("\n"):
                self.read(name, line)
            return
        self.take(chunk, is_error=name == "error")

    def take(self, chunk: Json, is_error: bool = False) -> None:
        """Read one decoded chunk or a whole completion. Raises `MalformedChunk`."""
        if not isinstance(chunk, Mapping):
            raise MalformedChunk(str(chunk)[:200])
        if is_error or chunk.get("error") or chunk.get("object") == "error":
            self.error = chunk.get("error") or chunk
            return
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        # Moonshot sends the usage in the choice.
        for usage in (chunk.get("usage"), choice.get("usage") if isinstance(choice, Mapping) else None):
            if isinstance(usage, Mapping):
                self.usage = usage
        if not isinstance(choice, Mapping):
            return
        self.has_choices = True
        delta = choice.get("delta")
        if not isinstance(delta, Mapping):
            # A whole completion. (Perplexity repeats the text so far in a `message` next to `delta`.)
            delta = choice.get("message")
        if isinstance(delta, Mapping):
            self._delta(delta)
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self.finish = FINISH_REASONS.get(reason, "stop")

    def _delta(self, delta: Mapping[str, Json]) -> None:
        # DeepSeek and Moonshot send reasoning_content; OpenRouter, Groq and vLLM send reasoning.
        self._collect_text(delta.get("reasoning_content") or delta.get("reasoning"), True)
        content = delta.get("content")
        self._collect_text(content, False)
        if isinstance(content, list):
            self._collect_parts(content)
        self._collect_text(delta.get("refusal"), False)
        calls = delta.get("tool_calls")
        if isinstance(calls, list) and calls:
            self._flush()
            for call in calls:
                if isinstance(call, Mapping):
                    self._out += self._calls.add_fragment(call)
        legacy = delta.get("function_call")
        if isinstance(legacy, Mapping):
            self._flush()
            self._out += self._calls.add_fragment({"index": 0, "function": dict(legacy)})

    def _collect_parts(self, content: list[Json]) -> None:
        """Read content that is a list of typed parts, as Mistral sends it."""
        for part in content:
            if not isinstance(part, Mapping):
                continue
            thinking = part.get("thinking")
            if isinstance(thinking, list):
                inner = [block.get("text") for block in thinking if isinstance(block, Mapping)]
                thinking = "".join(text for text in inner if isinstance(text, str))
            is_thought = isinstance(thinking, str) and bool(thinking)
            self._collect_text(thinking if is_thought else part.get("text"), is_thought)

    def _collect_text(self, text: Json, is_thought: bool) -> None:
        if not isinstance(text, str) or not text:
            return
        if self._text_run and is_thought is not self._run_is_thought:
            self._flush()
        self._run_is_thought = is_thought
        self._text_run.append(text)

    def _flush(self) -> None:
        if not self._text_run:
            return
        text = self._join_surrogates("".join(self._text_run))
        self._text_run.clear()
        if not text:
            return
        self._emit([ThoughtPart(text)] if self._run_is_thought else self._recovery.feed(text))

    def _emit(self, deltas: list[Delta]) -> None:
        for delta in deltas:
            if isinstance(delta, ThoughtPart):
                self._thoughts.append(delta.text)
            elif isinstance(delta, TextPart) and not self.has_text:
                self.has_text = not delta.text.isspace()
        self._out += deltas

    def _join_surrogates(self, text: str) -> str:
        r"""Join a surrogate pair (`\ud83d\ude00`) that the server split between two chunks."""
        text, self._half_surrogate = self._half_surrogate + text, ""
        if "\ud800" <= text[-1] <= "\udbff":
            text, self._half_surrogate = text[:-1], text[-1]
        return repair_surrogates(text)

    def collect(self) -> list[Delta]:
        """The deltas since the last call; adjacent text is one delta."""
        self._flush()
        out, self._out = self._out, []
        return out

    def end(self) -> list[Delta]:
        """The last deltas, without usage and finish; sets `finish`."""
        if self._half_surrogate:
            self._text_run.append("\ufffd")
            self._half_surrogate = ""
        self._flush()
        is_complete = self.finish in ("stop", "tool_calls")
        remaining, written = self._recovery.end(is_complete and not self._calls.count)
        self._emit(remaining)
        self._out += [self._calls.add_complete(call.name, call.arguments) for call in written]
        # `[DONE]` without a finish reason ends the reply only if no call could have been cut off.
        if self.finish is None and self.done and self.has_text and not self._calls.count:
            self.finish = "stop"
        if self.finish in ("stop", "tool_calls"):
            self._out += self._calls.end()
            self.finish = "tool_calls" if self._calls.count else "stop"
        if self.finish == "stop" and not self.has_text and self._thoughts:
            # A reply that has only thoughts: they are the answer.
            self._out.append(TextPart("".join(self._thoughts).strip()))
        return self.collect()


def parse_usage(raw: Mapping[str, Json] | None) -> Usage | None:
    """The usage, or None if the server sent none. `input` includes the `cached` tokens."""
    if raw is None:
        return None
    details = raw.get("prompt_tokens_details")
    inner = details if isinstance(details, Mapping) else {}
    return Usage(
        input=_first_count(raw, "prompt_tokens", "input_tokens"),
        output=_first_count(raw, "completion_tokens", "output_tokens"),
        # In this order: OpenAI and most others, DeepSeek, Moonshot.
        cached=_first_count(inner, "cached_tokens")
        or _first_count(raw, "prompt_cache_hit_tokens", "cached_tokens"),
        requests=1,
    )


def _first_count(raw: Mapping[str, Json], *names: str) -> int:
    for name in names:
        value = raw.get(name)
        if isinstance(value, int | float) and value > 0:
            return int(value)
    return 0
