"""The tool calls of one reply, put together from fragments. Knows no text and no connection.

Servers differ in what they leave out: the index, the id, the fragments. Each case is named below.

One reply: the chunks of a server's answer in, the deltas of a model out. Knows no connection.

Vendors differ, and each difference met is named at its line. A reply that came whole (no stream) is
read as one chunk, so both give equal turns.
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


class CallAssembler:
    """The calls of one reply. `taken` are the ids of the conversation so far: an id that comes again
    is changed, because results are matched to calls by id."""

    def __init__(self, taken: Collection[str] = ()) -> None:
        self._taken = set(taken)
        self._open: list[PartialCall] = []
        self._slots: dict[object, PartialCall] = {}

    @property
    def count(self) -> int:
        return len(self._open)

    def fragment(self, fragment: Mapping[str, Json]) -> list[CallPart]:
        """One entry of `tool_calls`."""
        function = fragment.get("function")
        # Some servers put name and arguments beside the id.
        inner = function if isinstance(function, Mapping) else fragment
        name = _get_text(inner, "name")
        call = self._call_for(fragment.get("index"), _get_text(fragment, "id"), name)
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

    def _call_for(self, index: Json, call_id: str, name: str) -> PartialCall:
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

    def _begin(self, slot: object, call_id: str) -> PartialCall:
        call = PartialCall(len(self._open), self._free_id(call_id), call_id)
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


def repair_surrogates(text: str) -> str:
    r"""`text` with its surrogates (`\ud83d`) joined to characters or replaced: half a character can be
    neither stored nor drawn."""
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
    # The server gave up in the middle: Zhipu, DeepSeek, OpenRouter.
    "network_error": "interrupted",
    "insufficient_system_resource": "interrupted",
    "error": "interrupted",
}


class MalformedChunk(Exception):
    """An event that is no JSON object."""


class Reply:
    """Reads one reply. `tools` are the names that were sent, `taken` the call ids of the
    conversation: an id that comes again is changed, because results are matched by id."""

    def __init__(self, tools: Collection[str] = (), taken: Collection[str] = ()) -> None:
        self.done = False
        self.finish: Finish | None = None
        self.usage: Mapping[str, Json] | None = None
        self.error: Json = None
        self.has_choices = False
        self.has_text = False
        self._recovery = TextRecovery(tools)
        self._calls = CallAssembler(taken)
        self._out: list[Delta] = []
        self._run: list[str] = []
        self._run_is_thought = False
        self._cut = ""
        self._thoughts: list[str] = []

    def read(self, name: str, text: str) -> None:
        """One event of the stream. Raises `NotChunk`."""
        if text.startswith("[DONE]"):
            self.done = True
            return
        if not text.strip():
            return
        try:
            chunk = json.loads(text)
        except (ValueError, RecursionError) as error:
            self._read_lines(name, text, error)
            return
        self.take(chunk, is_error=name == "error")

    def _read_lines(self, name: str, text: str, error: Exception) -> None:
        # Servers that leave out the blank line between two events.
        if "\n" not in text:
            raise MalformedChunk(text[:200]) from error
        for line in text.split("\n"):
            self.read(name, line)

    def take(self, chunk: Json, is_error: bool = False) -> None:
        """One decoded chunk, or a whole completion. Raises `NotChunk`."""
        if not isinstance(chunk, Mapping):
            raise MalformedChunk(str(chunk)[:200])
        if is_error or chunk.get("error") or chunk.get("object") == "error":
            self.error = chunk.get("error") or chunk
            return
        usage = chunk.get("usage")
        if isinstance(usage, Mapping):
            self.usage = usage
        choices = chunk.get("choices")
        if not isinstance(choices, list) or not choices:
            return
        choice = choices[0]
        if not isinstance(choice, Mapping):
            return
        self.has_choices = True
        delta = choice.get("delta")
        if not isinstance(delta, Mapping):
            # A whole completion. (Perplexity repeats the text so far in a `message` beside `delta`.)
            delta = choice.get("message")
        if isinstance(delta, Mapping):
            self._delta(delta)
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self.finish = FINISH_REASONS.get(reason, "stop")
        # Moonshot puts the usage into the choice.
        inner = choice.get("usage")
        if isinstance(inner, Mapping):
            self.usage = inner

    def _delta(self, delta: Mapping[str, Json]) -> None:
        # DeepSeek and Moonshot say reasoning_content, OpenRouter, Groq and vLLM reasoning.
        thought = delta.get("reasoning_content") or delta.get("reasoning")
        if thought and isinstance(thought, str):
            self._say(thought, True)
        content = delta.get("content")
        if content:
            if isinstance(content, str):
                self._say(content, False)
            else:
                self._parts(content)
        refusal = delta.get("refusal")
        if refusal and isinstance(refusal, str):
            self._say(refusal, False)
        calls = delta.get("tool_calls")
        if isinstance(calls, list) and calls:
            self._flush()
            for call in calls:
                if isinstance(call, Mapping):
                    self._out += self._calls.fragment(call)
        legacy = delta.get("function_call")
        if isinstance(legacy, Mapping):
            self._flush()
            self._out += self._calls.fragment({"index": 0, "function": dict(legacy)})

    def _parts(self, content: Json) -> None:
        """Mistral sends content as a list of typed parts, thoughts among them."""
        for part in content if isinstance(content, list) else ():
            if not isinstance(part, Mapping):
                continue
            thinking = part.get("thinking")
            if isinstance(thinking, list):
                inner = [one.get("text") for one in thinking if isinstance(one, Mapping)]
                thinking = "".join(one for one in inner if isinstance(one, str))
            text = part.get("text")
            if isinstance(thinking, str) and thinking:
                self._say(thinking, True)
            elif isinstance(text, str) and text:
                self._say(text, False)

    def _say(self, text: str, is_thought: bool) -> None:
        if self._run and is_thought is not self._run_is_thought:
            self._flush()
        self._run_is_thought = is_thought
        self._run.append(text)

    def _flush(self) -> None:
        """Give out what was said since the last time, as one part."""
        if not self._run:
            return
        text = self._mended("".join(self._run))
        self._run.clear()
        if not text:
            return
        if self._run_is_thought:
            self._give([ThoughtPart(text)])
        else:
            self._give(self._recovery.feed(text))

    def _give(self, deltas: list[Delta]) -> None:
        for delta in deltas:
            if isinstance(delta, ThoughtPart):
                self._thoughts.append(delta.text)
            elif isinstance(delta, TextPart) and not self.has_text:
                self.has_text = not delta.text.isspace()
        self._out += deltas

    def _mended(self, text: str) -> str:
        r"""`text` without half characters: servers split `\ud83d\ude00` between two chunks, and a
        lone half can be neither stored nor drawn."""
        text, self._cut = self._cut + text, ""
        if "\ud800" <= text[-1] <= "\udbff":
            text, self._cut = text[:-1], text[-1]
        return repair_surrogates(text)

    def collect(self) -> list[Delta]:
        """The deltas since the last time; neighbours of one kind are one."""
        self._flush()
        out, self._out = self._out, []
        return out

    def end(self) -> list[Delta]:
        """What the end of the reply brings, without usage and finish; sets `finish`."""
        if self._cut:
            self._run.append("\ufffd")
            self._cut = ""
        self._flush()
        is_whole = self.finish in ("stop", "tool_calls")
        owed, written = self._recovery.end(is_whole and not self._calls.count)
        self._give(owed)
        for made in written:
            self._out.append(self._calls.whole(made.name, made.arguments))
        self._settle()
        return self.collect()

    def _settle(self) -> None:
        # `[DONE]` without a reason is an end only where no call could have been cut off.
        if self.finish is None and self.done and self.has_text and not self._calls.count:
            self.finish = "stop"
        if self.finish in ("stop", "tool_calls"):
            self._out += self._calls.end()
            self.finish = "tool_calls" if self._calls.count else "stop"
        if self.finish == "stop" and not self.has_text and self._thoughts:
            # An answer of thoughts alone: they are the answer.
            self._out.append(TextPart("".join(self._thoughts).strip()))


def parse_usage(raw: Mapping[str, Json] | None) -> Usage | None:
    """Tokens as vendors count them; `input` holds the `cached` ones. None when nothing was said."""
    if raw is None:
        return None
    details = raw.get("prompt_tokens_details")
    inner = details if isinstance(details, Mapping) else {}
    return Usage(
        input=_first_count(raw, "prompt_tokens", "input_tokens"),
        output=_first_count(raw, "completion_tokens", "output_tokens"),
        # OpenAI and most; DeepSeek; Moonshot.
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
