"""The `run_tests` tool: runs the project's tests and reports what failed, where and why.

`execution` chooses and runs the command, `reports` parses the output of each runner, `outcomes` formats the
result. They are imported with the first call, because registering the tool needs none of them.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import parse, schema, typed
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Alias, Arguments, Done, Preview, Tool
from cockpit.plugin.values import Register, Scope


@dataclass(frozen=True, slots=True)
class RunTestsArguments:
    target: Annotated[str, "a folder, a file, a node id or a test's name; empty for all"] = ""
    runner: Literal["auto", "pytest", "unittest", "jest", "vitest", "go", "cargo"] = "auto"
    seconds: int = 600


async def preview(arguments: Arguments, context: Context) -> Preview:
    from cockpit.builtin.tools.run_tests import execution

    parsed = parse(RunTestsArguments, arguments)
    command = await execution.choose_command(parsed.target, parsed.runner, context)
    return execution.preview_command(command, context.workspace.root)


async def run(arguments: RunTestsArguments, context: Context) -> Done:
    from cockpit.builtin.tools.run_tests import execution

    command = await execution.choose_command(arguments.target, arguments.runner, context)
    return await execution.run_command(command, float(arguments.seconds), context)


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    register(
        Tool(
            name="run_tests",
            kind="execute",
            description=(
                "Run the project's tests (pytest, unittest, jest, vitest, go, cargo): "
                "counts, and each failure with path:line and message."
            ),
            parameters=schema(RunTestsArguments),
            capabilities=frozenset({"code.exec"}),
            run=typed(RunTestsArguments, run),
            title=lambda arguments: f"run tests {arguments.get('target', '')}".rstrip(),
            preview=preview,
            seconds=3600.0,
            aliases=(Alias("RunTests"), Alias("test", (("path", "target"),))),
            keywords=("test", "pytest", "jest", "vitest", "cargo", "go"),
        )
    )
