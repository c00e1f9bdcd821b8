"""`todo`: the list the model keeps for itself and people see in Work."""

from dataclasses import dataclass
from typing import Annotated, Literal

from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import schema, typed
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Alias, Done, Tool
from cockpit.plugin.values import Register, Scope
from cockpit.protocol.events import TodoChanged
from cockpit.protocol.rows import TodoRow


@dataclass(frozen=True, slots=True)
class Row:
    text: Annotated[str, "what is to be done"]
    status: Literal["pending", "in_progress", "completed"] = "pending"


@dataclass(frozen=True, slots=True)
class Todo:
    rows: Annotated[list[Row], "the whole list, in order; it replaces the one before"]


async def write(arguments: Todo, context: Context) -> Done:
    rows = tuple(TodoRow(row.text, row.status) for row in arguments.rows)
    context.session.emit(TodoChanged(rows))
    done = sum(row.status == "completed" for row in rows)
    return Done(f"{done} of {len(rows)} done")


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    register(
        Tool(
            name="todo",
            kind="think",
            description="Keep a short list of steps for work that has three or more of them.",
            parameters=schema(Todo),
            capabilities=frozenset({"none"}),
            run=typed(Todo, write),
            title=lambda arguments: "todo",
            aliases=(Alias("TodoWrite", (("todos", "rows"),)), Alias("update_todo", ())),
        )
    )
