"""`hello`: a tool that greets, and a command that lists who was greeted. An example of `register_tools`.

Read it from the end upwards: the two hooks register values, the values name functions, the functions do
the work. Nothing runs when this module is imported.
"""

from dataclasses import dataclass
from typing import Annotated

from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import schema, typed
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Done, Tool, ToolFailed
from cockpit.plugin.values import Command, CommandAnswer, Invoked, Register, Scope, Show
from cockpit.protocol.content import Text


@dataclass(frozen=True, slots=True)
class Hello:
    """The tool's arguments. The JSON Schema for the model is derived from these fields."""

    name: Annotated[str, "who to greet"]
    loud: Annotated[bool, "in capitals"] = False


async def hello(arguments: Hello, context: Context) -> Done:
    """Greet, and store the name. `text` goes to the model, `data` is for scripts."""
    name = arguments.name.strip()
    if not name:
        # An error names the next step: the model reads it and tries again.
        raise ToolFailed("`name` is empty; write who to greet")
    word = context.settings.get("greeting", "Hello")
    text = f"{word}, {name}!"
    context.running().progress(f"greeting {name}\n")
    greeted = _read_greeted(context)
    context.session.store("project").save("greeted", [*greeted, name])
    return Done(text.upper() if arguments.loud else text, data={"greeted": len(greeted) + 1})


async def show_greeted(invoked: Invoked, context: Context) -> CommandAnswer:
    """`/hello`: a local command, whose answer is shown and never sent to a model."""
    names = _read_greeted(context)
    return Show((Text(", ".join(names) if names else "Nobody was greeted in this folder yet."),))


def _read_greeted(context: Context) -> list[str]:
    """The names greeted in this folder. Each plugin has its own documents."""
    names = context.session.store("project").load("greeted")
    return [str(name) for name in names] if isinstance(names, list) else []


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    register(
        Tool(
            name="hello",
            kind="think",
            description="Greet somebody by name.",
            parameters=schema(Hello),
            capabilities=frozenset({"none"}),
            run=typed(Hello, hello),
            title=lambda arguments: f"hello {arguments.get('name', '')}",
        )
    )


@hookimpl
def register_commands(register: Register, scope: Scope) -> None:
    register(Command("hello", "List who was greeted in this folder", show_greeted))
