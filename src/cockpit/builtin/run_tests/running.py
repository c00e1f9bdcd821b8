"""One run of a project's tests: the command, the run itself, what was found in its output."""

import asyncio
import hashlib
import re
from typing import Literal

from cockpit.builtin.run_tests import outcomes, runners
from cockpit.builtin.run_tests.cargo_text import parse_cargo
from cockpit.builtin.run_tests.go_json import parse_go
from cockpit.builtin.run_tests.javascript import parse_javascript
from cockpit.builtin.run_tests.junit import parse_junit, parse_pytest_text
from cockpit.builtin.run_tests.outcomes import Outcomes
from cockpit.builtin.run_tests.project import find_project
from cockpit.builtin.run_tests.runners import Command, Runner
from cockpit.builtin.run_tests.unittest_text import parse_unittest
from cockpit.errors import CockpitError
from cockpit.plugin.context import Context, Ended
from cockpit.plugin.launching import Launch
from cockpit.plugin.tools import Done, Part, Preview, ToolFailed
from cockpit.workspace.sandbox.scratch import make_room, scratch_file, take

MISSING_MODULE = re.compile(r"No module named '?(pytest)\b")
TAIL = 20


def previewed(chosen: Command, root: str) -> Preview:
    shown = " ".join(chosen.argv)
    where = "" if chosen.folder == "." else f"in {chosen.folder}"
    return Preview(
        title=f"run the tests with {chosen.runner}",
        parts=(Part("run", shown, where),),
        argv=(chosen.argv,),
        lift=f"run_tests {chosen.runner} *",
        launch=Launch(chosen.argv, _folder(chosen, root)),
    )


async def run(chosen: Command, seconds: float, context: Context) -> Done:
    """Run what was approved. Raises `ToolFailed`, also when `chosen` is not that any more."""
    running = context.running()
    launch = running.preview.launch if running.preview is not None else None
    cwd = _folder(chosen, context.workspace.root)
    if launch is None or (launch.argv, launch.cwd) != (chosen.argv, cwd):
        raise ToolFailed("the project changed since this was approved; call it again")
    if chosen.report:
        await asyncio.to_thread(make_room, chosen.report)
    pieces: list[str] = []

    def heard(text: str) -> None:
        pieces.append(text)
        running.progress(text)

    try:
        ended = await context.workspace.processes.run_sealed(
            launch, running.seal, seconds=seconds, on_output=heard
        )
        report = await asyncio.to_thread(take, chosen.report)
    except CockpitError as error:
        raise ToolFailed(f"{error.message}; install it or name another `runner`") from error
    log = "".join(pieces) or ended.output
    module = await _go_module(chosen, context)
    found = outcomes.relative_to(read(chosen, ended, report, log, module), cwd, chosen.folder)
    return _done(chosen, ended, found, log, context)


def _folder(chosen: Command, root: str) -> str:
    return root if chosen.folder == "." else f"{root}/{chosen.folder}"


def read(chosen: Command, ended: Ended, report: str, log: str, module: str = "") -> Outcomes:
    """The outcomes of a run that is over: from its report where it left one, else from its text."""
    match chosen.runner:
        case "pytest":
            try:
                return parse_junit(report)
            except ValueError:
                return parse_pytest_text(log)
        case "jest" | "vitest":
            try:
                return parse_javascript(report)
            except ValueError:
                return Outcomes(note=f"{chosen.runner} left no report")
        case "unittest":
            return parse_unittest(log)
        case "go":
            return parse_go(log, module)
        case "cargo":
            return parse_cargo(log)


def _done(chosen: Command, ended: Ended, found: Outcomes, log: str, context: Context) -> Done:
    handle = context.session.results.keep(log)
    said = outcomes.text(found, chosen.runner, handle)
    if ended.timed_out:
        said = f"stopped after {ended.seconds:.0f} s; give more `seconds` or a smaller `target`\n{said}"
    elif MISSING_MODULE.search(log) and not found.total:
        said = (
            f"{chosen.argv[0]} has no pytest; install it there ({chosen.argv[0]} -m pip install pytest) "
            f'or say runner="unittest"'
        )
    elif not found.total:
        tail = "\n".join(log.rstrip().splitlines()[-TAIL:])
        said = f"{said}\nexit code {ended.code}; the end of its output:\n{tail}"
    is_error = ended.timed_out or (not found.total and ended.code != 0)
    data = outcomes.as_json(found, chosen.runner, chosen.argv, handle)
    return Done(said, data=data, is_error=is_error, isolation=ended.isolation)


async def command(target: str, wanted: Runner | Literal["auto"], context: Context) -> Command:
    """What would run `target`. Raises `ToolFailed`."""
    target = target.strip().replace("\\", "/")
    if target.startswith("-"):
        raise ToolFailed(f"`target` {target!r} starts with a dash; name a file, a folder or a test")
    root = context.workspace.root.replace("\\", "/").rstrip("/")
    target = target.removeprefix(root + "/").removeprefix("./")
    project = await find_project(target, context.workspace.files)
    runner = runners.detect(project) if wanted == "auto" else wanted
    if runner is None:
        raise ToolFailed(
            "no manifest here names a test runner cockpit can read "
            f"({', '.join(runners.RUNNERS)}); say `runner`, or use shell"
        )
    return runners.command(runner, project, target, root, _report(target, runner, context))


def _report(target: str, runner: Runner, context: Context) -> str:
    """A file outside of the project, so that nothing there changes, where a held program may write. The
    same for the same call: what was approved is what runs."""
    asked = f"{context.session.id} {context.session.agent} {runner} {target}"
    name = hashlib.sha256(asked.encode()).hexdigest()[:16]
    return scratch_file(context.workspace.root, f"{name}.report")


async def _go_module(chosen: Command, context: Context) -> str:
    if chosen.runner != "go":
        return ""
    manifest = "go.mod" if chosen.folder == "." else f"{chosen.folder}/go.mod"
    try:
        text = (await context.workspace.files.read(manifest)).decode("utf-8", "replace")
    except OSError:
        return ""
    found = re.search(r"^module\s+(\S+)", text, re.M)
    return found[1] if found else ""
