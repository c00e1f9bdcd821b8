"""The tools `shell`, which runs a command line, and `job`, which controls background jobs."""

import shlex
import sys
from dataclasses import dataclass
from pathlib import PurePath
from typing import Annotated, Literal

from cockpit.builtin.policy import judge_command
from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import parse, schema, typed
from cockpit.plugin.context import Context, JobView
from cockpit.plugin.tools import Alias, Arguments, Cap, CommandLine, Done, Part, Preview, Tool, ToolFailed
from cockpit.plugin.values import Register, Scope
from cockpit.plugin.workspace import Launch
from cockpit.protocol.messages import Json
from cockpit.workspace.processes.shells import parse_plain_command

MAX_SECONDS = 600.0
# A larger time limit is read as milliseconds, which other agents' shell tools take.
MILLISECONDS_THRESHOLD = 3600.0
HEAD_START_SECONDS = 0.3


@dataclass(frozen=True, slots=True)
class ShellArguments:
    command: str
    seconds: Annotated[float, "time limit, at most 600"] = 30.0
    background: Annotated[bool, "start a job; see `job`"] = False
    cwd: str = ""


@dataclass(frozen=True, slots=True)
class JobArguments:
    action: Literal["wait", "output", "write", "cancel", "list"]
    id: str = ""
    text: Annotated[str, "for write, with its newline"] = ""
    seconds: Annotated[float, "for wait"] = 30.0
    cursor: Annotated[int, "for output: where to continue"] = 0


async def run_shell(arguments: ShellArguments, context: Context) -> Done:
    if not arguments.command.strip():
        raise ToolFailed("`command` is empty; write what to run")
    processes = context.workspace.processes
    running = context.running()
    launch = running.preview.launch if running.preview is not None else None
    if launch is None:
        raise ToolFailed("this command was not approved; call the tool again")
    if arguments.background:
        job = await processes.start_sealed(launch, running.seal, label=arguments.command)
        view = await processes.wait(job, HEAD_START_SECONDS)
        output, _ = await processes.output(job)
        return Done(f"{_describe_job(view)}\n{output}".rstrip(), data={"job": job})
    seconds = _clamp_seconds(arguments.seconds)
    ended = await processes.run_sealed(launch, running.seal, seconds=seconds, on_output=running.progress)
    note, code = f"exit code {ended.code}", None if ended.timed_out else ended.code
    if ended.timed_out:
        note = f"stopped after {seconds:g} s: give more seconds, or run it with background=true"
    text = f"{_end_with_newline(ended.output)}[{note}]"
    data: Json = {"exit_code": code, "timed_out": ended.timed_out}
    return Done(text, data=data, is_error=code != 0, isolation=ended.isolation)


def _end_with_newline(output: str) -> str:
    return output if not output or output.endswith("\n") else output + "\n"


def _clamp_seconds(seconds: float) -> float:
    if seconds > MILLISECONDS_THRESHOLD:
        seconds /= 1000
    return min(max(seconds, 1.0), MAX_SECONDS)


async def preview(arguments: Arguments, context: Context) -> Preview:
    parsed = parse(ShellArguments, arguments)
    root = context.workspace.root
    folder = context.workspace.resolve(parsed.cwd, "read") if parsed.cwd.strip() else root
    argv = parse_plain_command(parsed.command)
    line = CommandLine(parsed.command, "powershell" if sys.platform == "win32" else "bash", folder)
    judged = await judge_command(line, context)
    launch = Launch(context.workspace.processes.shell(judged.script), folder, judged.environment)
    first = parsed.command.strip().split("\n", 1)[0]
    return Preview(
        title=f"$ {first}",
        parts=(Part("command", parsed.command, "" if folder == root else f"in {folder}"),),
        argv=(argv,) if argv else (),
        paths=(folder,) if parsed.cwd.strip() else (),
        line=line,
        launch=launch,
    )


async def run_job(arguments: JobArguments, context: Context) -> Done:
    processes = context.workspace.processes
    if arguments.action != "list" and not arguments.id:
        raise ToolFailed("`id` is missing; list the jobs with action=list")
    match arguments.action:
        case "list":
            rows = [f"{_describe_job(view)}  $ {view.command}" for view in processes.jobs()]
            return Done("\n".join(rows) or "no job was started")
        case "cancel":
            return Done(_describe_job(await processes.cancel(arguments.id)))
        case "wait":
            seconds = _clamp_seconds(arguments.seconds)
        case "output":
            seconds = 0.0
        case "write":
            await processes.write(arguments.id, arguments.text)
            seconds = HEAD_START_SECONDS
    view = await processes.wait(arguments.id, seconds)
    output, cursor = await processes.output(view.id, max(arguments.cursor, 0))
    note = f"{_describe_job(view)}; go on with cursor={cursor}" if view.running else _describe_job(view)
    data: Json = {"job": view.id, "running": view.running, "exit_code": view.code, "cursor": cursor}
    return Done(f"{_end_with_newline(output)}[{note}]", data=data)


def _describe_job(view: JobView) -> str:
    return f"{view.id} is running" if view.running else f"{view.id} ended with exit code {view.code}"


# The names other agents use for this tool and its arguments. Codex calls it "shell" too, with a list as
# command.
SHELL_NAMES = (
    "shell Bash bash Shell run_command exec_command exec_shell run_shell_command execute_command "
    "shell_command"
)
RENAMED_ARGUMENTS = (
    ("cmd", "command"),
    *((name, "seconds") for name in ("timeout", "timeout_ms")),
    *((name, "background") for name in ("run_in_background", "is_background")),
    *((name, "cwd") for name in ("workdir", "working_directory")),
    *((name, "") for name in ("description", "explanation", "justification", "login")),
)
SHELL_PROGRAMS = frozenset({"bash", "sh", "zsh"})
SCRIPT_FLAGS = frozenset({"-c", "-lc", "-cl"})


def reshape_command(arguments: Arguments) -> Arguments:
    """Join Codex's command, a list of words, into a line; `bash -lc SCRIPT` becomes SCRIPT."""
    return {
        name: _join_words(value) if name in ("command", "cmd") else value for name, value in arguments.items()
    }


def _join_words(command: Json) -> Json:
    if not isinstance(command, list) or not all(isinstance(word, str) for word in command):
        return command
    words = [str(word) for word in command]
    if len(words) == 3 and PurePath(words[0]).name in SHELL_PROGRAMS and words[1] in SCRIPT_FLAGS:
        return words[2]
    return shlex.join(words)


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    register(
        Tool(
            name="shell",
            kind="execute",
            description="Run a command line. No terminal: nothing interactive.",
            parameters=schema(ShellArguments),
            capabilities=frozenset({"code.exec"}),
            run=typed(ShellArguments, run_shell),
            title=lambda arguments: f"$ {arguments.get('command', '')}".split("\n", 1)[0],
            preview=preview,
            cap=Cap(size=30_000, entries=4_000, shape="head and tail"),
            aliases=tuple(
                Alias(name, RENAMED_ARGUMENTS, reshape=reshape_command) for name in SHELL_NAMES.split()
            ),
            keywords=("run", "command", "bash", "terminal", "execute"),
            seconds=MAX_SECONDS + 30,
        )
    )
    register(
        Tool(
            name="job",
            kind="execute",
            description="Wait for, read, write to or cancel a background job of `shell`.",
            parameters=schema(JobArguments),
            capabilities=frozenset({"proc.signal"}),
            run=typed(JobArguments, run_job),
            title=lambda arguments: f"job {arguments.get('action', '')} {arguments.get('id', '')}".strip(),
            deferred=True,
            polling=True,
            cap=Cap(size=30_000, entries=4_000, shape="head and tail"),
            aliases=(
                Alias("BashOutput", (("bash_id", "id"), ("filter", "")), (("action", "output"),)),
                Alias("KillShell", (("shell_id", "id"),), (("action", "cancel"),)),
                Alias("KillBash", (("shell_id", "id"),), (("action", "cancel"),)),
            ),
            keywords=("background", "process", "kill", "wait", "output"),
            seconds=MAX_SECONDS + 30,
        )
    )
