"""The model that is used when none is configured: rules for plain requests in English and Chinese, no
network.

`grammar` parses a prompt into `intents`, `conversation` chooses the next tool call or answer from the
messages, `read_steps` and `change_steps` know the calls of each intent, `answers` words the results. There is
no other state.
"""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator

from cockpit.plugin import hookimpl
from cockpit.plugin.models import (
    CallPart,
    Delta,
    FinishPart,
    Model,
    ModelFacts,
    ModelRequest,
    TextPart,
    UsagePart,
)
from cockpit.plugin.values import Register, Scope
from cockpit.protocol.messages import AssistantMessage, Usage

MODEL = "rules"
CHUNK = 400


async def stream(request: ModelRequest) -> AsyncIterator[Delta]:
    """The next reply. Never raises; a prompt that is not understood gets an answer that says so."""
    from cockpit.builtin.models.offline.conversation import next_reply

    # In a thread: parsing a long prompt takes some milliseconds, and the interface runs on this loop.
    turn = await asyncio.to_thread(next_reply, request.messages, bool(request.tools))
    for at in range(0, len(turn.text), CHUNK):
        yield TextPart(turn.text[at : at + CHUNK])
    if turn.call is not None:
        arguments = json.dumps(turn.call.arguments, ensure_ascii=False)
        yield CallPart(0, _call_id(request, arguments), turn.call.tool, arguments)
    yield UsagePart(Usage(requests=1))
    yield FinishPart("tool_calls" if turn.call else "stop")


def _call_id(request: ModelRequest, arguments: str) -> str:
    """An id that is unique in the conversation and equal for an equal request."""
    calls = sum(len(message.calls) for message in request.messages if isinstance(message, AssistantMessage))
    digest = hashlib.sha256(arguments.encode("utf-8", "replace")).hexdigest()[:8]
    return f"offline-{calls}-{len(request.messages)}-{digest}"


async def models() -> tuple[str, ...]:
    return (MODEL,)


@hookimpl
def register_models(register: Register, scope: Scope) -> None:
    register(
        Model(
            name="offline",
            stream=stream,
            models=models,
            facts=lambda model: ModelFacts(window=1_000_000, input_price=0.0, output_price=0.0),
            default=MODEL,
            label="offline (rules, no language model)",
            local=True,
            priced=False,
        )
    )
