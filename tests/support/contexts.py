"""A context for tools that write: the session of `session_view` on a whole local workspace."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.support.session_view import context_on

from cockpit.navigation.navigator import LiveNavigator
from cockpit.plugin.context import Context, RunningCall
from cockpit.plugin.tools import Done, Tool
from cockpit.protocol.messages import Json, ToolCall
from cockpit.workspace.local import LocalWorkspace


def writing_context(root: Path) -> Context:
    """A context on `root`. `context.session.emitted` holds what tools emit."""
    workspace = LocalWorkspace(str(root))
    return replace(context_on(root), workspace=workspace, navigator=LiveNavigator(workspace))


async def previewed_call(tool: Tool, context: Context, /, **arguments: Json) -> tuple[Any, Done]:
    """The tool's preview, and what it does when that preview is approved."""
    assert tool.preview is not None
    preview = await tool.preview(arguments, context)
    progress = context.running().progress
    seal = preview.launch.seal() if preview.launch is not None else ""
    running = RunningCall(ToolCall("c1", tool.name, arguments), preview, progress, seal)
    return preview, await tool.run(arguments, replace(context, call=running))
