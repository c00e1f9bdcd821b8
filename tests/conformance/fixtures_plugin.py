"""What the suite's server scenarios want to find, as a plugin: tools and prompts with the names and answers
that they look for. Registered for `cockpit mcp-serve`, which serves them as any other."""

import asyncio
import base64
import struct
import zlib
from collections.abc import Mapping
from functools import partial

from cockpit.plugin import hookimpl
from cockpit.plugin.context import Context
from cockpit.plugin.origin import Origin
from cockpit.plugin.tools import Arguments, Done, Tool, ToolFailed
from cockpit.plugin.values import AsPrompt, Command, Invoked, Register, Scope, Skill
from cockpit.protocol.content import Image
from cockpit.protocol.events import FormField, Warned
from cockpit.protocol.messages import Json

NOTHING: Mapping[str, Json] = {"type": "object", "properties": {}}
# The suite gives its listener time to hear each one.
BETWEEN = 0.05
HEADED: Mapping[str, Json] = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    "required": ["region"],
}
RICH: Mapping[str, Json] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


async def simple_text(arguments: Arguments, context: Context) -> Done:
    return Done("This is a simple text response for testing.")


async def image(arguments: Arguments, context: Context) -> Done:
    return Done("a red pixel", (Image("image/png", _pixel(), "a red pixel"),))


async def fails(arguments: Arguments, context: Context) -> Done:
    raise ToolFailed("This tool intentionally returns an error for testing")


async def progress(arguments: Arguments, context: Context) -> Done:
    for percent in (0, 50, 100):
        context.running().progress(f"{percent} %\n")
        await asyncio.sleep(BETWEEN)
    return Done("done")


async def logs(arguments: Arguments, context: Context) -> Done:
    for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        context.session.emit(Warned(text))
        await asyncio.sleep(BETWEEN)
    return Done("done")


async def elicits(arguments: Arguments, context: Context) -> Done:
    fields = (
        FormField("username", "username", "text", True, note="User's response"),
        FormField("email", "email", "text", True, note="User's email address"),
    )
    return await _asked(context, str(arguments["message"]), fields)


async def defaults(arguments: Arguments, context: Context) -> Done:
    options = ("active", "inactive", "pending")
    fields = (
        FormField("name", "name", "text", default="John Doe"),
        FormField("age", "age", "integer", default=30),
        FormField("score", "score", "number", default=95.5),
        FormField("status", "status", "choice", options=options, default="active"),
        FormField("verified", "verified", "yes_no", default=True),
    )
    return await _asked(context, "Please review", fields)


async def enums(arguments: Arguments, context: Context) -> Done:
    plain, values = ("option1", "option2", "option3"), ("value1", "value2", "value3")
    first = ("First Option", "Second Option", "Third Option")
    fields = (
        FormField("untitledSingle", "one", "choice", options=plain),
        FormField("titledSingle", "one", "choice", options=values, labels=first),
        FormField("untitledMulti", "some", "choices", options=plain),
        FormField("titledMulti", "some", "choices", options=values, labels=first),
    )
    return await _asked(context, "Please choose", fields)


async def name(arguments: Arguments, context: Context) -> Done:
    return await _asked(
        context, "What is your name?", (FormField("name", "name", "text", True),), "user_name"
    )


async def confirm(arguments: Arguments, context: Context) -> Done:
    done = await _asked(context, "Please confirm", (FormField("ok", "ok", "yes_no", True),), "confirm")
    return Done(f"state-ok {done.text}")


async def rounds(arguments: Arguments, context: Context) -> Done:
    await _asked(context, "Step 1: what is your name?", (FormField("name", "name", "text", True),), "step1")
    return await _asked(
        context, "Step 2: your colour?", (FormField("color", "colour", "text", True),), "step2"
    )


async def _asked(context: Context, question: str, fields: tuple[FormField, ...], source: str = "") -> Done:
    answer = await context.session.ask_form(question, fields, source=source)
    return Done(f"User response: action={answer.action}, content={dict(answer.values)}")


async def simple_prompt(invoked: Invoked, context: Context) -> AsPrompt:
    return AsPrompt("This is a simple prompt for testing.")


def _title(name: str, arguments: Arguments) -> str:
    return name


def _pixel() -> str:
    """A PNG of one red pixel, as base64."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        whole = kind + content
        return struct.pack(">I", len(content)) + whole + struct.pack(">I", zlib.crc32(whole))

    head = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    body = zlib.compress(b"\0\xff\0\0")
    parts = (chunk(b"IHDR", head), chunk(b"IDAT", body), chunk(b"IEND", b""))
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(parts)).decode()


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    message: Mapping[str, Json] = {
        "type": "object",
        "properties": {"message": {"type": "string"}},
        "required": ["message"],
    }
    rows = (
        ("test_simple_text", NOTHING, simple_text),
        ("test_image_content", NOTHING, image),
        ("test_error_handling", NOTHING, fails),
        ("test_tool_with_progress", NOTHING, progress),
        ("test_tool_with_logging", NOTHING, logs),
        ("test_elicitation", message, elicits),
        ("test_elicitation_sep1034_defaults", NOTHING, defaults),
        ("test_elicitation_sep1330_enums", NOTHING, enums),
        ("test_input_required_result_elicitation", NOTHING, name),
        ("test_input_required_result_request_state", NOTHING, confirm),
        ("test_input_required_result_tampered_state", NOTHING, confirm),
        ("test_input_required_result_multi_round", NOTHING, rounds),
        ("test_missing_capability", NOTHING, name),
        ("test_streaming_elicitation", NOTHING, name),
        ("test_logging_tool", NOTHING, logs),
        ("test_headers", HEADED, simple_text),
        ("json_schema_2020_12_tool", RICH, simple_text),
    )
    for title, parameters, run in rows:
        register(
            Tool(
                name=title,
                kind="think",
                description=f"For the conformance suite: {title}.",
                parameters=parameters,
                capabilities=frozenset({"ask.person"}),
                run=run,
                title=partial(_title, title),
            )
        )


@hookimpl
def register_commands(register: Register, scope: Scope) -> None:
    written = Origin("fixtures", "plugin")
    register(Command("test_simple_prompt", "A prompt", simple_prompt, origin=written))


@hookimpl
def register_skills(register: Register, scope: Scope) -> None:
    body = "Prompt with arguments: arg1='$arg1', arg2='$arg2'"
    register(Skill("test_prompt_with_arguments", "A prompt", lambda: body, arguments=("arg1", "arg2")))
