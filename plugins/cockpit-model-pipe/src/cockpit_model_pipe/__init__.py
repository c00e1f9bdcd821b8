"""Uses any program that answers on stdout as a model. An example of `register_models`.

A model is a function from a request to a stream of parts. This one writes the conversation to the stdin of
a program (`ollama run llama3`, `llm -m ...`, your script) and streams its output.
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


def format_conversation(request: ModelRequest) -> str:
    """The request as plain text."""
    parts = [request.system, *map(format_message, request.messages), request.reminder, "Assistant:"]
    return "\n\n".join(part for part in parts if part)


def format_message(message: Message) -> str:
    match message:
        case UserMessage():
            return f"User: {plain_text(message.content)}"
        case AssistantMessage():
            return f"Assistant: {message.text}"
        case _:
            return f"Result: {getattr(message, 'text', '')}"


async def stream(command: tuple[str, ...], request: ModelRequest) -> AsyncIterator[Delta]:
    """Run the program once and stream its output. Cancelling the request ends the program."""
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
    errors = asyncio.create_task(process.stderr.read())
    try:
        process.stdin.write(format_conversation(request).encode())
        process.stdin.close()
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while piece := await process.stdout.read(4096):
            yield TextPart(decoder.decode(piece))
        if await process.wait() != 0:
            lines = (await errors).decode("utf-8", "replace").strip().splitlines()
            raise ModelFailed("bad_request", lines[-1] if lines else f"exit code {process.returncode}", HINT)
        yield FinishPart("stop")
    finally:
        errors.cancel()
        if process.returncode is None:
            process.kill()
            await process.wait()


@hookimpl
def register_models(register: Register, scope: Scope) -> None:
    configured = scope.settings.get("command")
    command = tuple(str(word) for word in configured) if isinstance(configured, list) else ()

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
            label="Your own program",
            local=True,
            priced=False,
        )
    )
