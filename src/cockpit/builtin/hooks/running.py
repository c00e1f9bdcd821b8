"""Running one hook: a command, a request over HTTP, a model, a subagent, or a tool of an MCP server.

Nothing here raises for a fault of the hook: it is in the answer.
"""

import asyncio
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from cockpit.builtin.hooks import judging_models, posting
from cockpit.builtin.hooks.telling import Scene, environment_of, scene_of
from cockpit.builtin.judging import judged_line
from cockpit.errors import CockpitError
from cockpit.formats.hook_answers import Answer, failed, late, of_process, of_text
from cockpit.formats.hooks import Hook
from cockpit.plugin.context import Context, Processes
from cockpit.plugin.tools import CommandLine
from cockpit.protocol.messages import Json

FIELD = re.compile(r"\$\{([\w.]+)\}")


async def run(
    hook: Hook,
    told: Mapping[str, Json],
    context: Context,
    environment: Mapping[str, str],
    variables: str = "",
) -> Answer:
    """The answer of a hook to what it is told. `environment` is where a header's variables come from."""
    match hook.kind:
        case "command":
            return await command(hook, told, scene_of(context), context.workspace.processes, variables)
        case "http":
            return await posting.post(hook, told, environment)
        case "mcp_tool":
            return await mcp_tool(hook, told, context)
        case "prompt":
            return await judging_models.prompt(hook, told, context)
        case "agent":
            return await judging_models.agent(hook, told, context)
        case "block":
            return Answer("deny", hook.action_text("reason") or "a hook forbids it")


async def command(
    hook: Hook, told: Mapping[str, Json], scene: Scene, processes: Processes, variables: str = ""
) -> Answer:
    """A process in the session's folder with `told` on its stdin; killed with all it started when its
    time is over. One whose line the policy blocks does not run."""
    argv = argv_of(hook, scene.root)
    if said := await asyncio.to_thread(blocked, hook, argv, scene):
        return late(said)
    try:
        ended = await processes.run(
            argv,
            stdin=json.dumps(told, ensure_ascii=False).encode("utf-8", "replace"),
            seconds=hook.seconds,
            environment=environment_of(hook, scene.root, variables),
            apart=True,
        )
    except CockpitError as error:
        return late(error.message)
    if ended.timed_out:
        return late(f"it did not end within {hook.seconds:g} s and was stopped")
    return of_process(hook.event, ended.code, ended.output, ended.errors)


def argv_of(hook: Hook, root: str, platform: str = sys.platform) -> tuple[str, ...]:
    """What is started: `args` without a shell, else the line in sh (`shell` says bash or powershell)."""
    line, args = hook.action_text("command"), hook.action.get("args")
    variables = environment_of(hook, root)
    if isinstance(args, list):
        return tuple(_filled(str(word), variables) for word in (line, *args))
    shell = hook.action_text("shell") or ("powershell" if platform == "win32" else "sh")
    if shell == "powershell":
        program = shutil.which("pwsh") or shutil.which("powershell") or "powershell"
        return (program, "-NoLogo", "-NoProfile", "-NonInteractive", "-Command", line)
    program = shutil.which(shell) or shutil.which("bash") or "/bin/sh"
    return (program, "-c", line)


def _filled(word: str, variables: Mapping[str, str]) -> str:
    return re.sub(r"\$\{(\w+)\}", lambda found: variables.get(found[1], found[0]), word)


def blocked(hook: Hook, argv: tuple[str, ...], scene: Scene) -> str:
    """Why the policy does not let the line run, empty where it does. Reads the rules in force."""
    powershell = Path(argv[0]).stem.lower() in ("pwsh", "powershell")
    line = shlex.join(argv) if isinstance(hook.action.get("args"), list) else hook.action_text("command")
    asked = CommandLine(line, "powershell" if powershell else "bash", scene.root)
    verdict = judged_line(asked, scene.root, scene.trusted, False).verdict
    return f"the policy blocks it: {verdict.reason}" if verdict.level == "deny" else ""


async def mcp_tool(hook: Hook, told: Mapping[str, Json], context: Context) -> Answer:
    """A tool of an MCP server, called as any other: judged, approved, written down."""
    name = f"mcp__{hook.action_text('server')}__{hook.action_text('tool')}"
    given = hook.action.get("input")
    arguments = cast("Mapping[str, Json]", _inserted(given if isinstance(given, dict) else {}, told))
    try:
        result = await context.session.call_tool(name, arguments)
    except CockpitError as error:
        return failed(error.message)
    if result.outcome != "ok":
        return failed(f"{name}: {result.text[:300]}")
    return of_text(hook.event, result.text)


def _inserted(value: Json, told: Mapping[str, Json]) -> Json:
    """`${tool_input.file_path}` in a text as what the hook is told there."""
    if isinstance(value, str):
        return FIELD.sub(lambda found: _at(told, found[1]), value)
    if isinstance(value, dict):
        return {key: _inserted(one, told) for key, one in value.items()}
    return [_inserted(one, told) for one in value] if isinstance(value, list) else value


def _at(told: Mapping[str, Json], path: str) -> str:
    value: Json = dict(told)
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def new_variables(folder: Path) -> str:
    """An empty file for `CLAUDE_ENV_FILE`, which only the person can read."""
    folder.mkdir(parents=True, exist_ok=True)
    handle, path = tempfile.mkstemp(suffix=".sh", dir=folder)
    os.close(handle)
    return path
