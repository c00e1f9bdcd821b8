"""`todo`: the list of steps that the model keeps, shown to users in Work."""

from dataclasses import dataclass
from typing import Annotated, Literal

from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import schema, typed
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Alias, Arguments, Done, Tool
from cockpit.plugin.values import Register, Scope
from cockpit.protocol.events import TodoChanged
from cockpit.protocol.messages import Json
from cockpit.protocol.rows import TodoRow


@dataclass(frozen=True, slots=True)
class TodoStep:
    text: Annotated[str, "what is to be done"]
    status: Literal["pending", "in_progress", "completed"] = "pending"


@dataclass(frozen=True, slots=True)
class UpdateTodo:
    rows: Annotated[list[TodoStep], "the whole list, in order; it replaces the list before"]


async def update_todo(arguments: UpdateTodo, context: Context) -> Done:
    rows = tuple(TodoRow(row.text, row.status) for row in arguments.rows)
    context.session.emit(TodoChanged(rows))
    done = sum(row.status == "completed" for row in rows)
    return Done(f"{done} of {len(rows)} done")


# Other agents' names for the list, for a step's text, and for the tool itself.
LIST_KEYS = ("todos", "plan")
TEXT_KEYS = ("content", "step", "description", "title")
ALIASES = ("TodoWrite", "todowrite", "update_todo", "update_plan", "write_todos")


def normalize_todo(arguments: Arguments) -> Arguments:
    """Translate another agent's list: Claude Code's `todos` of `content`, Codex' `plan` of `step`."""
    normalized = {("rows" if name in LIST_KEYS else name): value for name, value in arguments.items()}
    rows = normalized.get("rows")
    if isinstance(rows, list):
        # opencode keeps cancelled steps in the list.
        steps = [row for row in rows if not isinstance(row, dict) or row.get("status") != "cancelled"]
        normalized["rows"] = [_normalize_step(row) for row in steps]
    return normalized


def _normalize_step(row: Json) -> Json:
    if isinstance(row, str):
        return {"text": row}
    if not isinstance(row, dict) or "text" in row:
        return row
    text = next((row[name] for name in TEXT_KEYS if name in row), None)
    return {"text": text} | {name: row[name] for name in ("status",) if name in row}


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    register(
        Tool(
            name="todo",
            kind="think",
            description="Keep a short list of steps for work that has three or more of them.",
            parameters=schema(UpdateTodo),
            capabilities=frozenset({"none"}),
            run=typed(UpdateTodo, update_todo),
            title=lambda arguments: "todo",
            aliases=tuple(
                Alias(name, (("explanation", ""),), reshape=normalize_todo) for name in ("todo", *ALIASES)
            ),
        )
    )
