"""`code_actions`: what the language servers offer to do for some lines: listed, shown, done."""

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
    action: Annotated[str, "the id of one that was listed: do it; empty: list"] = ""
    apply: Annotated[bool, "false: only show what it would change"] = True


async def preview(arguments: Arguments, context: Context) -> Preview:
    wanted = parse(CodeActionsArguments, arguments)
    if not wanted.action or not wanted.apply:
        return Preview(f"actions for {wanted.path}", paths=(context.workspace.resolve(wanted.path, "read"),))
    return await _plan_action(wanted, context)


async def _plan_action(wanted: CodeActionsArguments, context: Context) -> Preview:
    edits = await context.navigator.action(wanted.action)
    shown = await file_changes.preview_edits(context, f"action {wanted.action} in {wanted.path}", edits)
    return replace(shown, whole=True)


async def run(arguments: Arguments, context: Context) -> Done:
    wanted = parse(CodeActionsArguments, arguments)
    if not wanted.action:
        return await _list_actions(wanted, context)
    if wanted.apply:
        return await file_changes.apply_previewed(arguments, context, preview)
    return file_changes.describe_preview(await _plan_action(wanted, context))


async def _list_actions(wanted: CodeActionsArguments, context: Context) -> Done:
    last = wanted.last or wanted.first
    if not 0 < wanted.first <= last:
        raise ToolFailed(f"lines {wanted.first} to {last} are none; count from 1, `last` not before `first`")
    content = await file_changes.read_current(context, wanted.path)
    if content is None:
        raise ToolFailed(f"there is no file {wanted.path}; `glob` or `list` shows what there is")
    if last > (count := content.count(b"\n") + 1):
        raise ToolFailed(f"{wanted.path} has no line {last}; it ends with line {count}")
    offered = await context.navigator.actions(wanted.path, wanted.first, last)
    if not offered:
        return Done(f"nothing is offered for lines {wanted.first} to {last} of {wanted.path}")
    lines = [f"{one.id}: {one.title} ({one.kind or 'action'}, {one.server})" for one in offered]
    rows: list[Json] = [{"id": one.id, "title": one.title, "kind": one.kind} for one in offered]
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
