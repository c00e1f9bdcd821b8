"""One reply: the chunks of a server's answer in, the deltas of a model out. Knows no connection.

Vendors differ, and each difference met is named at its line. A reply that came whole (no stream) is
read as one chunk, so both give equal turns.
"""

import json
from collections.abc import Collection, Mapping

from cockpit.builtin.openai_chat.calls import Calls, mended
from cockpit.builtin.openai_chat.recovery import Recovery
from cockpit.plugin.models import Delta, TextPart, ThoughtPart
from cockpit.protocol.messages import Finish, Json, Usage

FINISHES: Mapping[str, Finish] = {
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


class NotChunk(Exception):
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
        self._recovery = Recovery(tools)
        self._calls = Calls(taken)
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
            raise NotChunk(text[:200]) from error
        for line in text.split("\n"):
            self.read(name, line)

    def take(self, chunk: Json, is_error: bool = False) -> None:
        """One decoded chunk, or a whole completion. Raises `NotChunk`."""
        if not isinstance(chunk, Mapping):
            raise NotChunk(str(chunk)[:200])
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
            self.finish = FINISHES.get(reason, "stop")
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
        return mended(text)

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


def usage_of(raw: Mapping[str, Json] | None) -> Usage | None:
    """Tokens as vendors count them; `input` holds the `cached` ones. None when nothing was said."""
    if raw is None:
        return None
    details = raw.get("prompt_tokens_details")
    inner = details if isinstance(details, Mapping) else {}
    return Usage(
        input=_count(raw, "prompt_tokens", "input_tokens"),
        output=_count(raw, "completion_tokens", "output_tokens"),
        # OpenAI and most; DeepSeek; Moonshot.
        cached=_count(inner, "cached_tokens") or _count(raw, "prompt_cache_hit_tokens", "cached_tokens"),
        requests=1,
    )


def _count(raw: Mapping[str, Json], *names: str) -> int:
    for name in names:
        value = raw.get(name)
        if isinstance(value, int | float) and value > 0:
            return int(value)
    return 0
