"""The `code_actions` tool: lists, previews and applies what the language servers offer for some lines."""

from dataclasses import dataclass, replace
from typing import Annotated

from cockpit.builtin.tools import file_changes
from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import parse, schema
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Arguments, Done, Preview, Tool, ToolFailed
from cockpit.plugin.values import Register, Scope
from cockpit.protocol.messages import Json


@dataclass(frozen=True, slots=True)
class CodeActionsArguments:
    path: str
    first: Annotated[int, "line, from 1"]
    last: Annotated[int, "line; 0 is `first`"] = 0
    action: Annotated[str, "the id of a listed action to do; empty: list them"] = ""
    apply: Annotated[bool, "false: only show what it would change"] = True


async def preview(arguments: Arguments, context: Context) -> Preview:
    parsed = parse(CodeActionsArguments, arguments)
    if not parsed.action or not parsed.apply:
        return Preview(f"actions for {parsed.path}", paths=(context.workspace.resolve(parsed.path, "read"),))
    return await _plan_action(parsed, context)


async def _plan_action(parsed: CodeActionsArguments, context: Context) -> Preview:
    edits = await context.navigator.action(parsed.action)
    shown = await file_changes.preview_edits(context, f"action {parsed.action} in {parsed.path}", edits)
    return replace(shown, whole=True)


async def run(arguments: Arguments, context: Context) -> Done:
    parsed = parse(CodeActionsArguments, arguments)
    if not parsed.action:
        return await _list_actions(parsed, context)
    if parsed.apply:
        return await file_changes.apply_previewed(arguments, context, preview)
    return file_changes.describe_preview(await _plan_action(parsed, context))


async def _list_actions(parsed: CodeActionsArguments, context: Context) -> Done:
    last = parsed.last or parsed.first
    if not 0 < parsed.first <= last:
        raise ToolFailed(f"invalid lines {parsed.first} to {last}; count from 1, `last` not before `first`")
    content = await file_changes.read_current(context, parsed.path)
    if content is None:
        raise ToolFailed(f"{parsed.path} does not exist; use `glob` or `list` to see what does")
    if last > (count := content.count(b"\n") + 1):
        raise ToolFailed(f"{parsed.path} has no line {last}; it ends with line {count}")
    actions = await context.navigator.actions(parsed.path, parsed.first, last)
    if not actions:
        return Done(f"nothing is offered for lines {parsed.first} to {last} of {parsed.path}")
    lines = [f"{row.id}: {row.title} ({row.kind or 'action'}, {row.server})" for row in actions]
    rows: list[Json] = [{"id": row.id, "title": row.title, "kind": row.kind} for row in actions]
    return Done("\n".join(lines), data={"actions": rows})


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    register(
        Tool(
            name="code_actions",
            kind="edit",
            description="List, show and do what the language servers offer for some lines: fixes, imports.",
            parameters=schema(CodeActionsArguments),
            capabilities=frozenset({"fs.read", "fs.write"}),
            run=run,
            title=lambda arguments: f"actions for {arguments.get('path', '')}",
            preview=preview,
            is_concurrent=lambda arguments: not arguments.get("action") or arguments.get("apply") is False,
            deferred=True,
            keywords=("lsp", "quick fix", "refactor", "imports", "organize"),
        )
    )
