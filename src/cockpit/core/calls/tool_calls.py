"""The tool calls of one answer, from start to result: each call has exactly one result.

Neighbouring calls that are safe together run together, with results in call order; all others run alone. The
order for one call: guards, arguments, preview, deciders, rules and mode, approval, mark, run, redact, cap,
result. Calls made by plugins go through the same order; their results are not part of the conversation.
"""

import asyncio
import os
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from cockpit.core.agent.agent import Agent
from cockpit.core.agent.guards import run_guards
from cockpit.core.agent.plugin_context import build_context
from cockpit.core.agent.turn_limits import LimitReached, LoopGuard
from cockpit.core.calls.call_permission import Permission, permit_call
from cockpit.core.calls.rewind import run_with_checkpoint, warm_checkpoints
from cockpit.core.permission.verdicts import MCP_START_SECONDS, is_outside_text
from cockpit.core.plugins.toolbox import check_arguments
from cockpit.core.transcript.log import new_id
from cockpit.core.transcript.session_store import cap_output
from cockpit.errors import CockpitError
from cockpit.plugin.context import Context, PlanRefused, RunningCall
from cockpit.plugin.safety import Guarded
from cockpit.plugin.tools import Arguments, ArgumentsInvalid, Done, Preview, Tool
from cockpit.plugin.values import Renderer
from cockpit.protocol.content import Block
from cockpit.protocol.events import ToolCallFinished, ToolCallProgressed, ToolCallStarted
from cockpit.protocol.mcp_names import is_mcp_name
from cockpit.protocol.messages import AskedBy, Json, Outcome, ToolCall, ToolResult
from cockpit.safety.audit_log import AuditFailed
from cockpit.suggestions import did_you_mean


def render_result(agent: Agent, tool: Tool, call: ToolCall, result: ToolResult) -> tuple[Block, ...]:
    """The blocks of the tool's renderer, or the result's own when there is none or it fails."""
    renderer = agent.services.catalog.get(Renderer, tool.name)
    if renderer is None:
        return result.blocks
    try:
        return renderer.render(call, result)
    # Plugin code: a renderer that raises leaves the tool's own blocks.
    except (Exception, SystemExit) as error:
        agent.warn(f"the renderer of {tool.name} failed: {error}", call=call.id)
        return result.blocks


FinishCall = Callable[[ToolResult], None]
MAX_NAVIGATED_FILES = 8
CANCELLED_TEXT = "cancelled by the user; what it did before that is not undone"


async def run_calls(agent: Agent, calls: tuple[ToolCall, ...], guard: LoopGuard) -> list[ToolResult]:
    """Run `calls` and emit a result for each, also when cancelled."""
    open_calls = {call.id: call for call in calls}
    results: list[ToolResult] = []

    def finish(result: ToolResult) -> None:
        if open_calls.pop(result.call, None) is None:
            return
        results.append(result)
        audit_end(agent, result)
        agent.emit(ToolCallFinished(result), result.call)

    try:
        for batch in _group_calls(agent, calls):
            await _run_batch(agent, batch, guard, finish)
            await agent.services.log.sync()
    finally:
        for call in tuple(open_calls.values()):
            finish(ToolResult(call.id, call.name, "cancelled", CANCELLED_TEXT))
    return results


def audit_end(agent: Agent, result: ToolResult) -> None:
    """Write the end of a call to the audit log. A failure is reported; the next call, whose decision cannot
    be written either, will not run."""
    services = agent.services
    try:
        services.audit.finished(agent.path, result)
    except AuditFailed as error:
        agent.warn(error.message, error.hint, "audit", result.call)
    else:
        services.log.anchor(services.audit.head)


async def _run_batch(agent: Agent, batch: list[ToolCall], guard: LoopGuard, finish: FinishCall) -> None:
    if len(batch) == 1:
        finish(await run_call(agent, batch[0], guard))
        return
    tasks = [asyncio.create_task(run_call(agent, call, guard)) for call in batch]
    try:
        for task in tasks:
            finish(await task)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _group_calls(agent: Agent, calls: tuple[ToolCall, ...]) -> Iterator[list[ToolCall]]:
    """Groups of neighbouring calls that may run together; every other call alone."""
    together: list[ToolCall] = []
    for call in calls:
        found = agent.toolbox.find(call.name, call.arguments)
        if found is not None and not call.problem and _is_concurrent(*found):
            together.append(call)
            continue
        if together:
            yield together
            together = []
        yield [call]
    if together:
        yield together


def _is_concurrent(tool: Tool, arguments: Arguments) -> bool:
    try:
        return tool.is_concurrent(arguments)
    # Plugin code, asked before the arguments were checked.
    except (Exception, SystemExit):
        return False


async def run_call(agent: Agent, call: ToolCall, guard: LoopGuard, asked_by: AskedBy = "model") -> ToolResult:
    """Run one call through the whole order. Raises nothing but cancellation."""
    started = time.monotonic()
    found = await _find_tool(agent, call)
    if found is None or call.problem:
        agent.emit(ToolCallStarted(call, "other", call.name, asked_by), call.id)
        if found is not None:
            guard.misread(found[0].name, call.problem)
        return _result(call, "error", call.problem) if call.problem else _unknown_tool(agent, call)
    tool, arguments = found
    call = replace(call, name=tool.name, arguments=arguments)
    agent.emit(ToolCallStarted(call, tool.kind, _call_title(tool, call), asked_by), call.id)
    warm_checkpoints(agent, tool)
    try:
        result = await _run_checked(agent, tool, call, guard, asked_by)
    except ArgumentsInvalid as error:
        guard.misread(tool.name, str(error))
        result = _result(call, "error", f"the arguments are invalid: {error}")
    except PlanRefused as error:
        result = _result(call, "denied", error.message)
    except LimitReached as error:
        guard.call_limit = error if error.limit == "tool_calls" else guard.call_limit
        result = _result(call, "error", f"not run: {error.message}")
    except AuditFailed as error:
        agent.warn(error.message, error.hint, "audit", call.id)
        result = _result(call, "error", f"not run: {error}")
    except CockpitError as error:
        result = _result(call, "error", str(error))
    except TimeoutError:
        result = _result(call, "error", f"stopped after its time limit of {tool.seconds:g} s")
    # Plugin code: whatever a tool raises (also `sys.exit`) is a result; the traceback goes to the log.
    except (Exception, SystemExit) as error:
        text = f"{tool.name} failed: {type(error).__name__}: {error}"
        agent.warn(text, traceback.format_exc(limit=-6), tool.name, call.id)
        result = _result(call, "error", text)
    result = replace(result, seconds=round(time.monotonic() - started, 3))
    if result.outcome != "error":
        return result
    outcome = await run_guards(agent, Guarded("tool_failure", result.text, call, call.name), call=call.id)
    return replace(result, text="\n\n".join((result.text, *outcome.added)))


async def _run_checked(
    agent: Agent, tool: Tool, call: ToolCall, guard: LoopGuard, asked_by: AskedBy
) -> ToolResult:
    running = RunningCall(call, None, _progress_reporter(agent, call))
    context = build_context(agent, agent.services.catalog.owner(Tool, tool.name), running)
    if agent.halt and asked_by != "person":
        return _result(call, "denied", f"not run: the turn was ended by {agent.halt}")
    guarded = Guarded("tool_call", call=call, tool=tool.name, facts={"asked_by": asked_by})
    outcome = await run_guards(agent, guarded, call=call.id)
    if refusal := outcome.refusal or outcome.halt:
        return _result(call, "denied", f"refused by {refusal}")
    call = outcome.guarded.call or call
    check_arguments(tool, call.arguments)
    if asked_by == "model" and (repeated := guard.repeats(tool, call.arguments)):
        return _result(call, "repeated", repeated)
    running = replace(running, call=call)
    # Rules judge the named files, hidden ones too; the preview of a change must not show hidden content.
    bare = replace(context, workspace=agent.workspace, navigator=agent.navigator, call=None)
    looking = replace(context if tool.kind in ("edit", "delete", "move") else bare, call=running)
    preview = await tool.preview(call.arguments, looking) if tool.preview else None
    if problem := _marker_problem(agent, preview):
        return _result(call, "error", problem)
    permitted = await permit_call(agent, tool, call, preview, bare, outcome.asks, asked_by)
    if not permitted.allowed:
        return _result(call, "denied", permitted.reason)
    # The user may have edited hunks in which secrets were redacted.
    if problem := _marker_problem(agent, permitted.preview):
        return _result(call, "error", problem)
    agent.budget.spend_call()
    run = partial(_run_tool, agent, tool, call, permitted, context)
    # What the user runs is not undone by a rewind.
    ran = await (run_with_checkpoint(agent, tool, call, permitted, run) if asked_by != "person" else run())
    done = agent.services.redactor.done(ran, tool.kind, call.id)
    notes = (*outcome.added, *((permitted.note,) if permitted.note else ()))
    done = replace(done, text="\n\n".join((done.text, *notes)))
    return await _finish_result(agent, tool, call, done, permitted, guard)


async def _run_tool(
    agent: Agent, tool: Tool, call: ToolCall, permitted: Permission, context: Context
) -> Done:
    """Run the tool's function. Before that, write its decision and, when it can change something, its mark to
    disk, both at once because each takes as long as the disk."""
    if tool.is_concurrent(call.arguments):
        await agent.services.audit.sync()
    else:
        agent.services.log.mark(call.id)
        await asyncio.gather(agent.services.audit.sync(), agent.services.log.sync())
    reads = agent.folder.reads
    stamp = await reads.stamp(tool, permitted.preview, context)
    if (cached := reads.find(call, stamp)) is not None:
        return cached
    left = agent.budget.seconds_left()
    seconds = tool.seconds if left is None else min(tool.seconds, left)
    running = RunningCall(call, permitted.preview, _progress_reporter(agent, call), permitted.seal)
    async with asyncio.timeout(seconds):
        done = await tool.run(call.arguments, replace(context, call=running))
    reads.store(call, stamp, done)
    if tool.kind in ("read", "edit"):
        # Questions about these files are likely.
        for path in _touched_files(tool, permitted.preview, context.workspace.root):
            context.navigator.seen(path)
    return done


def _marker_problem(agent: Agent, preview: Preview | None) -> str:
    """Why these changes must not be written: they contain our redaction marker in place of a secret."""
    changes = preview.changes if preview is not None else None
    path = agent.services.redactor.find_new_marker(changes) if changes is not None else ""
    if not path:
        return ""
    return (
        f"nothing was written: the new text of {path} contains a [redacted ...] marker in place of a secret; "
        "leave the lines with the secret as they are (edit around them), or ask the user to edit the file"
    )


def _touched_files(tool: Tool, preview: Preview | None, root: str) -> tuple[str, ...]:
    """The files of the workspace that a call read or changed, relative to `root`."""
    if preview is None or tool.kind not in ("read", "edit", "delete", "move"):
        return ()
    below = (path.removeprefix(root + os.sep) for path in preview.paths if path.startswith(root + os.sep))
    return tuple(path.replace(os.sep, "/") for path in below)[:MAX_NAVIGATED_FILES]


async def _finish_result(
    agent: Agent, tool: Tool, call: ToolCall, done: Done, permitted: Permission, guard: LoopGuard
) -> ToolResult:
    services = agent.services
    text, handle = cap_output(done.text, tool.cap, agent.window(), services.results)
    paths: list[Json] = [*_touched_files(tool, permitted.preview, agent.root)]
    facts: dict[str, Json] = {"is_error": done.is_error, "paths": paths}
    guarded = Guarded("tool_result", text, call, tool.name, facts=facts)
    passed = await run_guards(agent, guarded, call=call.id)
    text = "\n\n".join((passed.guarded.text, *passed.added)) + guard.nudge(tool)
    if passed.refusal:
        return _result(call, "denied", f"the result is held back by {passed.refusal}")
    outcome: Outcome = "error" if done.is_error else "ok"
    if is_outside_text(tool, permitted.sends):
        agent.state.record_outside_text()
    result = ToolResult(call.id, tool.name, outcome, text, done.blocks, handle, isolation=done.isolation)
    return replace(result, blocks=render_result(agent, tool, call, result))


def _call_title(tool: Tool, call: ToolCall) -> str:
    try:
        return tool.title(call.arguments)
    # Plugin code, given arguments that are not checked yet.
    except (Exception, SystemExit):
        return tool.name


def _unknown_tool(agent: Agent, call: ToolCall) -> ToolResult:
    if withheld := agent.toolbox.withheld(call.name):
        return _result(call, "denied", f"not run: {withheld}")
    hint = did_you_mean(agent.toolbox.near(call.name), "tool_search lists the available tools")
    return _result(call, "error", f"there is no tool called {call.name}; {hint}")


def _result(call: ToolCall, outcome: Outcome, text: str) -> ToolResult:
    return ToolResult(call.id, call.name, outcome, text)


def _progress_reporter(agent: Agent, call: ToolCall) -> Callable[[str], None]:
    def progress(text: str) -> None:
        agent.emit(ToolCallProgressed(call.id, text), call.id)

    return progress


MAX_CALL_DEPTH = 4
# Separates the id of a call from that of a call made for it.
NESTED_CALL_SIGN = ">"


async def call_tool_for_plugin(
    agent: Agent, name: str, arguments: Mapping[str, Json], within: str = ""
) -> ToolResult:
    """Run `name` for the plugin function that serves the call `within` (empty for a command or a guard).

    Raises `CockpitError` below a depth of four: a tool that calls itself would not end.
    """
    if within.count(NESTED_CALL_SIGN) >= MAX_CALL_DEPTH:
        raise CockpitError(
            f"{name} was not run: nested calls are limited to {MAX_CALL_DEPTH} levels", "call it yourself"
        )
    call = ToolCall(f"{within or 'plugin'}{NESTED_CALL_SIGN}{new_id()}", name, dict(arguments))
    result = ToolResult(call.id, call.name, "cancelled", "cancelled by the user")
    try:
        result = await run_call(agent, call, LoopGuard(False), "plugin")
    finally:
        audit_end(agent, result)
        agent.emit(ToolCallFinished(result), call.id)
    return result


async def _find_tool(agent: Agent, call: ToolCall) -> tuple[Tool, Arguments] | None:
    """The tool of a call. Waits for an MCP server that is still starting."""
    found = agent.toolbox.find(call.name, call.arguments)
    if found is None and is_mcp_name(call.name):
        await agent.services.connections.settled(MCP_START_SECONDS)
        found = agent.toolbox.find(call.name, call.arguments)
    return found
