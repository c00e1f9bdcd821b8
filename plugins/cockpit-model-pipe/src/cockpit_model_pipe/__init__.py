"""Any program that answers on stdout becomes a model. Teaches `register_models`.

A model is a function from a request to a stream of parts. This one writes the conversation to the stdin of
a program (`ollama run llama3`, `llm -m ...`, a script of yours) and streams what it prints.
"""

import asyncio
import codecs
import shutil
from collections.abc import AsyncIterator

from cockpit.plugin import hookimpl
from cockpit.plugin.models import Delta, FinishPart, Model, ModelFacts, ModelFailed, ModelRequest, TextPart
from cockpit.plugin.values import Register, Scope
from cockpit.protocol.content import plain_text
from cockpit.protocol.messages import AssistantMessage, Message, UserMessage

HINT = 'set [plugins.pipe] command = ["ollama", "run", "llama3"] in your settings'


def conversation(request: ModelRequest) -> str:
    """The request as plain text, the way a program without roles reads it."""
    parts = [request.system, *(said(one) for one in request.messages), request.reminder, "Assistant:"]
    return "\n\n".join(part for part in parts if part)


def said(message: Message) -> str:
    match message:
        case UserMessage():
            return f"User: {plain_text(message.content)}"
        case AssistantMessage():
            return f"Assistant: {message.text}"
        case _:
            return f"Result: {getattr(message, 'text', '')}"


async def stream(command: tuple[str, ...], request: ModelRequest) -> AsyncIterator[Delta]:
    """Run the program once; its output is the answer. A request that is given up ends it."""
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except OSError as error:
        raise ModelFailed("connection", f"{command[0]} cannot be started: {error.strerror}", HINT) from error
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    complaint = asyncio.create_task(process.stderr.read())
    try:
        process.stdin.write(conversation(request).encode())
        process.stdin.close()
        text = codecs.getincrementaldecoder("utf-8")("replace")
        while piece := await process.stdout.read(4096):
            yield TextPart(text.decode(piece))
        if await process.wait() != 0:
            lines = (await complaint).decode("utf-8", "replace").strip().splitlines()
            raise ModelFailed("bad_request", lines[-1] if lines else f"exit code {process.returncode}", HINT)
        yield FinishPart("stop")
    finally:
        complaint.cancel()
        if process.returncode is None:
            process.kill()
            await process.wait()


@hookimpl
def register_models(register: Register, scope: Scope) -> None:
    given = scope.settings.get("command")
    command = tuple(str(word) for word in given) if isinstance(given, list) else ()

    def ready() -> str:
        if not command:
            return HINT
        return "" if shutil.which(command[0]) else f"{command[0]} is not installed"

    async def models() -> tuple[str, ...]:
        return (command[0],) if command else ()

    register(
        Model(
            name="pipe",
            stream=lambda request: stream(command, request),
            models=models,
            ready=ready,
            # A program that only prints cannot call tools.
            facts=lambda model: ModelFacts(tools=False),
            default=command[0] if command else "",
            label="A program of yours",
            local=True,
            priced=False,
        )
    )
