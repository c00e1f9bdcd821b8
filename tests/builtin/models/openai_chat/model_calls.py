"""Calls a model of `openai_chat` and joins its deltas as the core does."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

from cockpit.builtin.models import openai_chat
from cockpit.plugin.models import (
    CallPart,
    Delta,
    FinishPart,
    Model,
    ModelRequest,
    TextPart,
    ThoughtPart,
    ToolSchema,
    UsagePart,
)
from cockpit.plugin.values import Scope
from cockpit.protocol.content import Text
from cockpit.protocol.messages import Finish, Json, Message, Usage, UserMessage

READ = ToolSchema("read", "read a file", {"type": "object", "properties": {"path": {"type": "string"}}})
KEY = "sk-test-0123456789abcdef"


@dataclass
class Turn:
    """What a reply came to."""

    text: str = ""
    thoughts: str = ""
    calls: dict[int, list[str]] = field(default_factory=dict)
    finish: Finish | None = None
    usage: Usage | None = None
    deltas: list[Delta] = field(default_factory=list)

    def take(self, delta: Delta) -> None:
        self.deltas.append(delta)
        match delta:
            case TextPart(text):
                self.text += text
            case ThoughtPart(text):
                self.thoughts += text
            case CallPart(index, call_id, name, arguments):
                call = self.calls.setdefault(index, ["", "", ""])
                self.calls[index] = [call[0] + call_id, call[1] + name, call[2] + arguments]
            case UsagePart(usage):
                self.usage = usage
            case FinishPart(finish):
                self.finish = finish

    @property
    def named(self) -> list[tuple[str, str]]:
        """(name, arguments) of each call."""
        return [(name, arguments) for _, name, arguments in self.calls.values()]


class Models:
    """A `register` that keeps what is registered."""

    def __init__(self) -> None:
        self.by_name: dict[str, Model] = {}

    def __call__(self, value: object) -> None:
        assert isinstance(value, Model)
        self.by_name[value.name] = value

    def changed(self) -> None: ...


def provider(
    name: str, environment: Mapping[str, str], settings: Mapping[str, Json] | None = None, root: str = "."
) -> Model:
    """The registered provider `name`."""
    models = Models()
    scope = Scope(root, True, settings or {}, "", "", environment)
    openai_chat.register_models(models, scope)
    return models.by_name[name]


def openai(base_url: str, key: str = KEY) -> Model:
    return provider("openai", {"OPENAI_API_KEY": key, "OPENAI_BASE_URL": base_url})


def request(*messages: Message, **fields: object) -> ModelRequest:
    values: dict[str, object] = {"model": "m-1", "system": "Be brief.", "tools": (READ,), **fields}
    return ModelRequest(messages=messages or (UserMessage((Text("hello"),)),), **values)


async def ask(model: Model, asked: ModelRequest | None = None, turn: Turn | None = None) -> Turn:
    """The whole reply. What came before a failure is in `turn`."""
    turn = turn or Turn()
    stream: AsyncIterator[Delta] = model.stream(asked or request())
    async for delta in stream:
        turn.take(delta)
    return turn
