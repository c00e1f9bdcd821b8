"""Chooses a model and sends it one request.

Choosing: names and tiers, readiness, the fallback list and the circuit breaker. A request is streamed,
retried, passed to the next fallback, and ends as one whole message. An interrupted stream is an error, and
none of its calls runs.
"""

import asyncio
import json
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import cast

from cockpit.core.plugins.catalog import PluginCatalog
from cockpit.core.transcript.log import SessionLog, new_id
from cockpit.core.transcript.transcript import AnswerDraft
from cockpit.errors import CockpitError
from cockpit.plugin.models import (
    RETRIED,
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
from cockpit.protocol.events import Event, MessageFinished, TextDelta, ThoughtDelta, Warned
from cockpit.protocol.messages import AssistantMessage, Finish, Json, ToolCall, Usage
from cockpit.settings.files import EffectiveSettings
from cockpit.suggestions import closest_names

TIERS = ("fast", "default", "medium", "strong")
OFFLINE_MODEL = "offline"
MAX_FAILURES = 3
FAILURE_WINDOW = 60.0
REST_SECONDS = 30.0
COUNTED_FAULTS: frozenset[Fault] = frozenset(
    {"overloaded", "connection", "interrupted", "malformed", "rate_limited"}
)


class ModelUnknown(CockpitError):
    """No provider or model has that name."""


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model of a provider."""

    provider: Model
    id: str

    @property
    def name(self) -> str:
        return f"{self.provider.name}:{self.id}" if self.id else self.provider.name

    @property
    def facts(self) -> ModelFacts:
        return self.provider.facts(self.id)


@dataclass(slots=True)
class CircuitBreaker:
    """Stops asking a model that fails: after 3 failures in 60 s it rests for 30 s, then one request probes
    it. A model whose key was refused rests until `forgive`. Shared by all sessions of a deck."""

    clock: Callable[[], float] = time.monotonic
    _failures: dict[str, list[float]] = field(default_factory=dict)
    _opened: dict[str, float] = field(default_factory=dict)
    _refused: dict[str, str] = field(default_factory=dict)

    def resting(self, name: str) -> str:
        """Why `name` must not be asked now, or an empty string."""
        if name in self._refused:
            return self._refused[name]
        opened = self._opened.get(name)
        if opened is None:
            return ""
        left = REST_SECONDS - (self.clock() - opened)
        if left > 0:
            return f"{name} failed {MAX_FAILURES} times; it rests for {left:.0f} s more"
        # The probe: until it is answered, other requests keep waiting.
        self._opened[name] = self.clock()
        self._failures[name] = self._failures.get(name, [])[-(MAX_FAILURES - 1) :]
        return ""

    def failed(self, name: str, fault: Fault, message: str) -> None:
        if fault == "auth":
            self._refused[name] = message
            return
        if fault not in COUNTED_FAULTS:
            return
        now = self.clock()
        recent = [at for at in self._failures.get(name, []) if now - at <= FAILURE_WINDOW] + [now]
        self._failures[name] = recent
        if len(recent) >= MAX_FAILURES:
            self._opened[name] = now

    def answered(self, name: str) -> None:
        for table in (self._failures, self._opened, self._refused):
            table.pop(name, None)

    def forgive(self) -> None:
        """Keys or models have changed: try every refused model again."""
        self._refused.clear()
        self._opened.clear()


def choose_model(catalog: PluginCatalog, settings: EffectiveSettings, name: str) -> ModelChoice:
    """The model `name` means: `provider:model`, `provider`, a tier, or empty for the default. Raises
    `ModelUnknown`."""
    if name in TIERS or not name:
        tiers = settings.table("models.tiers")
        meant = str(tiers.get(name or "default") or settings.text("models.default"))
        if meant and meant != name:
            return choose_model(catalog, settings, meant)
        return first_ready_model(catalog)
    provider_name, _, model_id = name.partition(":")
    provider = catalog.get(Model, provider_name)
    if provider is None:
        names = [model.name for model in catalog.all(Model)]
        near = closest_names(provider_name, names, limit=3) or names
        raise ModelUnknown(
            f"there is no model provider called {provider_name}",
            f"name the model as provider:model; providers: {', '.join(near)}",
        )
    return ModelChoice(provider, model_id or provider.default)


def first_ready_model(catalog: PluginCatalog) -> ModelChoice:
    """The first provider that has its key, or the offline model."""
    for provider in catalog.all(Model):
        if provider.local or provider.name in (OFFLINE_MODEL, "scripted") or not provider.default:
            continue
        if not provider.ready():
            return ModelChoice(provider, provider.default)
    offline = catalog.get(Model, OFFLINE_MODEL)
    if offline is None:
        raise ModelUnknown("no model is configured and the offline model is switched off", "/connect")
    return ModelChoice(offline, offline.default)


def model_candidates(
    catalog: PluginCatalog, settings: EffectiveSettings, name: str
) -> tuple[ModelChoice, ...]:
    """The model `name` means, followed by its fallbacks without repetition."""
    choices: dict[str, ModelChoice] = {}
    for other in (name, *settings.words("models.fallback")):
        choice = choose_model(catalog, settings, other)
        choices.setdefault(choice.name, choice)
    return tuple(choices.values())


MAX_ATTEMPTS = 4
MAX_RETRY_WAIT = 60.0
# Blocking the event loop for longer would delay the echo of keys noticeably.
LOOP_SLICE_SECONDS = 0.008
DRAFT_SECONDS = 0.25
CUT_OFF_NOTE = (
    "[The answer was cut off by the output limit while it wrote a tool call; that call was not run.]"
)


@dataclass(frozen=True, slots=True)
class RequestContext:
    """What a request needs besides its content. Without `log` the answer is not part of the conversation."""

    log: SessionLog | None
    agent: str
    breaker: CircuitBreaker
    spend: Callable[[Usage], None]

    def emit(self, event: Event) -> None:
        if self.log is not None:
            self.log.emit(event, self.agent)


@dataclass(slots=True)
class _GrowingAnswer:
    """An answer while it is streamed."""

    id: str
    text: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: dict[int, list[str]] = field(default_factory=dict)
    finish: Finish | None = None
    drafted: tuple[int, int] = (0, 0)


async def request_answer(
    choices: tuple[ModelChoice, ...], build: Callable[[ModelChoice], ModelRequest], streaming: RequestContext
) -> AssistantMessage:
    """The answer of the first model that gives one. Raises `ModelFailed` when none does."""
    failure: ModelFailed | None = None
    for choice in choices:
        if resting := streaming.breaker.resting(choice.name):
            failure = failure or ModelFailed("overloaded", resting, "wait, or choose another with /model")
            continue
        try:
            return await _ask_with_retries(choice, build(choice), streaming)
        except ModelFailed as error:
            if error.fault == "context_overflow":
                raise
            failure = error
            if choice is not choices[-1]:
                streaming.emit(Warned(str(error), "trying the next model", choice.name))
    if failure is None:
        raise ModelFailed("unknown_model", "there is no model to ask", "/connect")
    raise failure


async def _ask_with_retries(
    choice: ModelChoice, request: ModelRequest, streaming: RequestContext
) -> AssistantMessage:
    for attempt in range(1, MAX_ATTEMPTS + 1):
        try:
            message = await _ask_once(choice, request, streaming)
        except ModelFailed as error:
            streaming.breaker.failed(choice.name, error.fault, error.message)
            wait = _retry_wait(error, attempt)
            if wait is None:
                raise
            text = f"{error.message}; trying again in {wait:.1f} s ({attempt} of {MAX_ATTEMPTS - 1})"
            streaming.emit(Warned(text, "Esc stops", choice.name))
            await asyncio.sleep(wait)
        else:
            streaming.breaker.answered(choice.name)
            return message
    raise AssertionError("the last attempt returns or raises")


def _retry_wait(error: ModelFailed, attempt: int) -> float | None:
    """Seconds until the next attempt, or None when there is none."""
    if error.fault not in RETRIED or attempt >= MAX_ATTEMPTS:
        return None
    if error.retry_after is not None:
        return error.retry_after if error.retry_after <= MAX_RETRY_WAIT else None
    return float(0.5 * 2 ** (attempt - 1)) * random.uniform(0.8, 1.2)


async def _ask_once(
    choice: ModelChoice, request: ModelRequest, streaming: RequestContext
) -> AssistantMessage:
    answer = _GrowingAnswer(new_id())
    stream = choice.provider.stream(request)
    try:
        await _read_stream(stream, answer, streaming)
    except (ModelFailed, asyncio.CancelledError):
        _emit_partial(answer, choice, streaming)
        raise
    finally:
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()
    if answer.finish is None:
        _emit_partial(answer, choice, streaming)
        raise ModelFailed("interrupted", f"{choice.name} stopped in the middle of its answer")
    message = _finish_answer(answer, choice)
    streaming.emit(MessageFinished(answer.id, message))
    return message


async def _read_stream(
    stream: AsyncIterator[Delta], answer: _GrowingAnswer, streaming: RequestContext
) -> None:
    sliced = drafted = time.monotonic()
    async for delta in stream:
        _apply_delta(delta, answer, streaming)
        now = time.monotonic()
        if now - drafted >= DRAFT_SECONDS:
            drafted = now
            _write_draft(answer, streaming)
        if now - sliced >= LOOP_SLICE_SECONDS:
            await asyncio.sleep(0)
            sliced = time.monotonic()


def _apply_delta(delta: Delta, answer: _GrowingAnswer, streaming: RequestContext) -> None:
    match delta:
        case TextPart(text) if text:
            answer.text.append(text)
            streaming.emit(TextDelta(answer.id, text))
        case ThoughtPart(text) if text:
            answer.thoughts.append(text)
            streaming.emit(ThoughtDelta(answer.id, text))
        case TextPart() | ThoughtPart():
            pass
        case CallPart():
            call = answer.calls.setdefault(delta.index, ["", "", ""])
            call[0] = call[0] or delta.id
            call[1] = call[1] or delta.name
            call[2] += delta.arguments
        case UsagePart(usage):
            streaming.spend(usage)
        case FinishPart(finish):
            answer.finish = finish


def _write_draft(answer: _GrowingAnswer, streaming: RequestContext) -> None:
    """Write what arrived since the last draft, so that a crash loses at most a quarter of a second."""
    texts, thoughts = answer.drafted
    answer.drafted = len(answer.text), len(answer.thoughts)
    text, thought = "".join(answer.text[texts:]), "".join(answer.thoughts[thoughts:])
    if streaming.log is not None and (text or thought):
        streaming.log.draft(AnswerDraft(answer.id, text, thought, streaming.agent))


def _emit_partial(answer: _GrowingAnswer, choice: ModelChoice, streaming: RequestContext) -> None:
    if not answer.text and not answer.thoughts:
        return
    text, thoughts = "".join(answer.text), "".join(answer.thoughts)
    message = AssistantMessage(text, (), thoughts, "interrupted", choice.name)
    streaming.emit(MessageFinished(answer.id, message))


def _finish_answer(answer: _GrowingAnswer, choice: ModelChoice) -> AssistantMessage:
    text, finish = "".join(answer.text), answer.finish or "stop"
    calls: list[ToolCall] = []
    if finish == "length" and answer.calls:
        text = f"{text}\n{CUT_OFF_NOTE}" if text else CUT_OFF_NOTE
    elif finish != "content_filter":
        taken: set[str] = set()
        calls = [_build_call(answer.calls[index], taken, answer.id) for index in sorted(answer.calls)]
    return AssistantMessage(text, tuple(calls), "".join(answer.thoughts), finish, choice.name)


def _build_call(pieces: list[str], taken: set[str], message: str) -> ToolCall:
    """Build a call from its pieces. A missing or repeated id is replaced."""
    id, name, raw = pieces
    if not id or id in taken:
        id = f"{id or 'call'}-{message}-{len(taken)}"
    taken.add(id)
    if not name:
        return ToolCall(id, "unnamed", {}, "the call has no tool name; name one of the tools")
    try:
        arguments = json.loads(raw) if raw.strip() else {}
    except (ValueError, RecursionError) as error:
        return ToolCall(id, name, {}, f"the arguments are not JSON ({error}); send one JSON object")
    if isinstance(arguments, str):
        # Some servers encode the arguments twice.
        with suppress(ValueError):
            arguments = json.loads(arguments)
    if not isinstance(arguments, dict):
        return ToolCall(id, name, {}, "the arguments must be one JSON object")
    return ToolCall(id, name, cast("dict[str, Json]", arguments))
