"""The `scripted` model, which plays a JSON script. For tests, demos and snapshots.

{"steps": [{"text": "I look.", "calls": [{"name": "read", "arguments": {"path": "a.py"}}]},
           {"fault": {"fault": "rate_limited", "retry_after": 0.1}},
           {"text": "Done.", "chunks": 3, "delay_ms": 20}],
 "others": {"regular expression": [{"text": "The reviewer's answer."}]}}

A step has: text, thoughts, calls, chunks (a number of pieces, or the pieces themselves), delay_ms (between
pieces), finish, usage {input, output, cached, cost}, repeat, gate (a file that must exist before the step
begins), cut (the stream ends without a finish), fault {fault, message, hint, retry_after} (after the text).
`others` has scripts for other conversations, such as subagents and summaries: the key is a regular expression
for the system message or the first prompt.

The position in the script is computed from the request: step n follows n answers of the model. A retry and a
session resumed in another process therefore get the same answer. Call ids contain the step's number, so that
the position survives compaction. Steps that are not answers (`fault`, `cut`) are played once per process.
"""

import asyncio
import hashlib
import json
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import cast

from cockpit.plugin import hookimpl
from cockpit.plugin.models import (
    CallPart,
    Delta,
    Fault,
    FinishPart,
    Model,
    ModelFacts,
    ModelFailed,
    ModelRequest,
    TextPart,
    ThoughtPart,
    UsagePart,
)
from cockpit.plugin.values import Register, Scope
from cockpit.protocol.content import plain_text
from cockpit.protocol.messages import AssistantMessage, Finish, Json, Message, Usage, UserMessage

GATE_POLL_SECONDS = 0.01
END_OF_SCRIPT = "(end of script)"
CALL_ID_PATTERN = re.compile(r"scripted-(\d+)-")
ScriptStep = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class ScriptAnswer:
    """A step that is an answer, and the faults that are played before it."""

    step: ScriptStep
    before: tuple[tuple[int, ScriptStep], ...]


def read_script(path: Path) -> Mapping[str, tuple[ScriptAnswer, ...]]:
    """The answers of each conversation by pattern, empty for the main one. Raises `ModelFailed`."""
    try:
        loaded = json.loads(path.read_bytes())
        steps = loaded["steps"] if "steps" in loaded else loaded["turns"]
        tracks = {"": _parse_track(steps)}
        tracks |= {pattern: _parse_track(inner) for pattern, inner in loaded.get("others", {}).items()}
        for pattern in tracks:
            re.compile(pattern)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, re.error) as error:
        reason = f"the script {path} cannot be played: {type(error).__name__}: {error}"
        raise ModelFailed("bad_request", reason, 'write it as {"steps": [{"text": "..."}]}') from error
    return tracks


def _parse_track(steps: list[ScriptStep]) -> tuple[ScriptAnswer, ...]:
    """The steps as answers, with `repeat` expanded and faults attached to the answer that follows."""
    answers: list[ScriptAnswer] = []
    before: list[tuple[int, ScriptStep]] = []
    steps_with_repeats = [step for step in steps for _ in range(int(cast("int", step.get("repeat", 1))))]
    for number, step in enumerate(steps_with_repeats):
        if step.get("fault") or step.get("cut"):
            before.append((number, step))
        else:
            answers.append(ScriptAnswer(step, tuple(before)))
            before = []
    if before:
        answers.append(ScriptAnswer({"text": END_OF_SCRIPT}, tuple(before)))
    return tuple(answers)


@dataclass(frozen=True, slots=True)
class ScriptPlayer:
    """Plays one script. `played` are the faults played so far, as (pattern, conversation, step)."""

    path: str
    root: str
    played: set[tuple[str, str, int]]

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        path = Path(request.root or self.root) / self.path
        tracks = await asyncio.to_thread(read_script, path)
        # The first prompt of the user identifies the conversation.
        prompts = (message for message in request.messages if isinstance(message, UserMessage))
        first = next((plain_text(prompt.content) for prompt in prompts), "")
        opening = f"{request.system}\n{first}"
        pattern = next((known for known in tracks if known and re.search(known, opening)), "")
        track, position = tracks[pattern], _count_answers(request.messages)
        answer = track[position] if position < len(track) else ScriptAnswer({"text": END_OF_SCRIPT}, ())
        conversation = hashlib.sha256(f"{path}{first}".encode("utf-8", "replace")).hexdigest()[:6]
        step = self._next(answer, pattern, conversation)
        gate = step.get("gate")
        while isinstance(gate, str):
            if (path.parent / gate).exists():
                break
            await asyncio.sleep(GATE_POLL_SECONDS)
        async for delta in _play_step(step, f"scripted-{position}-{conversation}"):
            yield delta

    def _next(self, answer: ScriptAnswer, pattern: str, conversation: str) -> ScriptStep:
        """The next fault that was not played yet, or else the answer."""
        for number, step in answer.before:
            if (pattern, conversation, number) not in self.played:
                self.played.add((pattern, conversation, number))
                return step
        return answer.step


def _count_answers(messages: tuple[Message, ...]) -> int:
    assistant = (message for message in messages if isinstance(message, AssistantMessage))
    answers = [message for message in assistant if message.finish != "interrupted"]
    for at in range(len(answers) - 1, -1, -1):
        for call in answers[at].calls:
            if numbered := CALL_ID_PATTERN.match(call.id):
                return int(numbered[1]) + len(answers) - at
    return len(answers)


async def _play_step(step: ScriptStep, call_id: str) -> AsyncIterator[Delta]:
    delay = _read_number(step, "delay_ms") / 1000
    for thought in _split_text(step, "thoughts"):
        yield ThoughtPart(thought)
        await asyncio.sleep(delay)
    for text in _split_text(step, "text"):
        yield TextPart(text)
        await asyncio.sleep(delay)
    calls = step.get("calls")
    for index, call in enumerate(calls if isinstance(calls, list) else ()):
        for part in _build_call_parts(cast("ScriptStep", call), index, f"{call_id}-{index}"):
            yield part
            await asyncio.sleep(delay)
    fault = step.get("fault")
    if isinstance(fault, Mapping):
        raise _build_failure(fault)
    if step.get("cut"):
        return
    usage = step.get("usage")
    table = usage if isinstance(usage, Mapping) else {}
    counts = {key: int(_read_number(table, key)) for key in ("input", "output", "cached")}
    cost = None if table.get("cost", 0.0) is None else _read_number(table, "cost")
    yield UsagePart(Usage(**counts, cost=cost, requests=1))
    yield FinishPart(cast("Finish", step.get("finish") or ("tool_calls" if calls else "stop")))


def _split_text(step: ScriptStep, key: str) -> list[str]:
    text, chunks = step.get(key), step.get("chunks")
    if isinstance(chunks, list) and key == "text":
        return [str(chunk) for chunk in chunks]
    if not isinstance(text, str) or not text:
        return []
    count = max(1, min(chunks, len(text))) if isinstance(chunks, int) else 1
    edges = [len(text) * at // count for at in range(count + 1)]
    return [text[start:end] for start, end in pairwise(edges)]


def _build_call_parts(call: ScriptStep, index: int, call_id: str) -> list[CallPart]:
    """A call in two fragments, as servers send it. Arguments given as text are sent unchanged."""
    arguments = call.get("arguments", {})
    written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    half = len(written) // 2
    return [
        CallPart(index, str(call.get("id") or call_id), str(call["name"]), written[:half]),
        CallPart(index, arguments=written[half:]),
    ]


def _build_failure(fault: Mapping[str, Json]) -> ModelFailed:
    wait = fault.get("retry_after")
    return ModelFailed(
        cast("Fault", fault.get("fault", "overloaded")),
        str(fault.get("message", "the script fails here")),
        str(fault.get("hint", "")),
        float(wait) if isinstance(wait, int | float) else None,
    )


def _read_number(table: Mapping[str, Json], key: str) -> float:
    value = table.get(key)
    return float(value) if isinstance(value, int | float) else 0.0


@hookimpl
def register_models(register: Register, scope: Scope) -> None:
    named = scope.settings.get("script") or scope.environment.get("COCKPIT_SCRIPT", "")
    path = named if isinstance(named, str) else ""
    player = ScriptPlayer(path, scope.root, set())

    async def models() -> tuple[str, ...]:
        return ("script",)

    register(
        Model(
            name="scripted",
            stream=player.stream,
            models=models,
            ready=lambda: "" if path else "no script is configured; set COCKPIT_SCRIPT to the path of one",
            facts=lambda model: ModelFacts(128_000, input_price=0.0, output_price=0.0),
            default="script",
            label="A script",
            priced=False,
        )
    )
