"""Runs a project's tests: finds the project of a target, detects its runner, builds the command and reads the
output.

Start at `choose_command`, which the preview and the run share.
"""

import asyncio
import hashlib
import json
import re
import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal, get_args

from cockpit.builtin.tools.run_tests import outcomes, reports
from cockpit.builtin.tools.run_tests.outcomes import RunOutcome
from cockpit.builtin.tools.text_reads import read_text
from cockpit.errors import CockpitError
from cockpit.plugin.context import Context, Files, PathRefused, ProcessResult
from cockpit.plugin.tools import Done, Part, Preview, ToolFailed
from cockpit.plugin.workspace import Launch
from cockpit.workspace.sandbox.host_view import consume_scratch_file, prepare_scratch_file, scratch_file_path

Runner = Literal["pytest", "unittest", "jest", "vitest", "go", "cargo"]
RUNNERS: tuple[Runner, ...] = get_args(Runner)
MANIFESTS = (
    "pyproject.toml",
    "pytest.ini",
    "setup.cfg",
    "tox.ini",
    "setup.py",
    "requirements.txt",
    "package.json",
    "go.mod",
    "Cargo.toml",
)
PYTEST_MENTION = re.compile(r"\[tool\.pytest|\[tool:pytest\]|\[pytest\]|^\s*[\"']?pytest\b", re.M)
MISSING_MODULE = re.compile(r"No module named '?(pytest)\b")
TEST_FOLDERS = (".", "tests", "test")
TEST_FILE = re.compile(r"(test_.*|.*_test)\.py$")
ENVIRONMENT_FOLDERS = (".venv", "venv", "env")
TAIL_LINES = 20


@dataclass(frozen=True, slots=True)
class RunnerProject:
    """The folder whose tests are run, relative to the root. `manifests` are the texts of the MANIFESTS it
    has, `names` all files in it, `sample` the text of a test file."""

    folder: str
    manifests: Mapping[str, str]
    names: frozenset[str]
    sample: str = ""


@dataclass(frozen=True, slots=True)
class RunnerCommand:
    """The command line, its folder, and the file for the runner's report (empty if it writes none)."""

    runner: Runner
    argv: tuple[str, ...]
    folder: str
    report: str = ""


def detect_runner(project: RunnerProject) -> Runner | None:
    """The runner that the project's manifests indicate, or None."""
    if "Cargo.toml" in project.manifests:
        return "cargo"
    if "go.mod" in project.manifests:
        return "go"
    python = _python_runner(project)
    if "package.json" in project.manifests and not (python and "pyproject.toml" in project.manifests):
        return _javascript_runner(project) or python
    return python


def _python_runner(project: RunnerProject) -> Runner | None:
    text = "\n".join(project.manifests.get(name, "") for name in MANIFESTS[:6])
    if "pytest.ini" in project.manifests or "conftest.py" in project.names or PYTEST_MENTION.search(text):
        return "pytest"
    if not project.sample and not any(name in project.manifests for name in MANIFESTS[:6]):
        return None
    is_unittest = "unittest" in project.sample and "pytest" not in project.sample
    return "unittest" if is_unittest else "pytest"


def _javascript_runner(project: RunnerProject) -> Runner | None:
    try:
        manifest = json.loads(project.manifests["package.json"])
    except ValueError:
        manifest = {}
    if not isinstance(manifest, dict):
        return None
    script = str((manifest.get("scripts") or {}).get("test", ""))
    depends = {**(manifest.get("dependencies") or {}), **(manifest.get("devDependencies") or {})}
    configured = {name.split(".")[0] for name in project.names if ".config." in name}
    if "vitest" in script or "vitest" in depends or "vitest" in configured:
        return "vitest"
    is_jest = "jest" in script or "jest" in depends or "jest" in manifest or "jest" in configured
    return "jest" if is_jest else None


def build_command(
    runner: Runner, project: RunnerProject, target: str, root: str, report: str
) -> RunnerCommand:
    """Build the command line. `target` is empty, a path in the project, or the name of a test."""
    in_project = target if project.folder == "." else target.removeprefix(project.folder + "/")
    in_project = "" if in_project.strip("/") in ("", ".", project.folder) else in_project
    folder = root if project.folder == "." else f"{root}/{project.folder}"
    python = find_interpreter(project.names, folder)
    argv: tuple[str, ...]
    options: tuple[str, ...]
    match runner:
        case "pytest":
            options = ("-q", "--color=no", "-o", "junit_family=xunit2", f"--junitxml={report}")
            argv = (python, "-m", "pytest", *options, *_name_option("-k", in_project))
        case "unittest":
            argv = (python, "-m", "unittest", *_unittest_options(in_project))
        case "jest":
            options = ("--json", "--testLocationInResults", f"--outputFile={report}")
            argv = ("npx", "--no-install", "jest", *options, *_name_option("-t", in_project))
        case "vitest":
            options = ("run", "--reporter=json", f"--outputFile={report}")
            argv = ("npx", "--no-install", "vitest", *options, *_name_option("-t", in_project))
        case "go":
            argv = ("go", "test", "-json", *_go_options(in_project))
        case "cargo":
            argv = ("cargo", "test", "--no-fail-fast", "--color=never", *_cargo_options(in_project))
    leaves_report = runner in ("pytest", "jest", "vitest")
    return RunnerCommand(runner, argv, project.folder, report if leaves_report else "")


def _name_option(option: str, target: str) -> tuple[str, ...]:
    """A path as it is, or the name of a test behind the runner's option for names."""
    if not target:
        return ()
    return (target,) if is_path_target(target) else (option, target)


def _unittest_options(target: str) -> tuple[str, ...]:
    if not target:
        return ("discover", "-v")
    if target.endswith("/") or (is_path_target(target) and not target.endswith(".py") and "::" not in target):
        return ("discover", "-v", "-s", target.rstrip("/"), "-t", ".")
    if is_path_target(target):
        module = str(PurePosixPath(target.split("::")[0]).with_suffix("")).replace("/", ".")
        return ("-v", ".".join([module, *target.split("::")[1:]]))
    return ("discover", "-v", "-k", target)


def _go_options(target: str) -> tuple[str, ...]:
    if not target:
        return ("./...",)
    if is_path_target(target):
        folder = str(PurePosixPath(target).parent) if target.endswith(".go") else target.rstrip("/")
        return ("." if folder == "." else f"./{folder.removeprefix('./')}",)
    return ("-run", target, "./...")


def _cargo_options(target: str) -> tuple[str, ...]:
    if not target.endswith(".rs"):
        return (target,) if target else ()
    stem = PurePosixPath(target).stem
    return ("--test", stem) if target.startswith("tests/") else (stem,)


def is_path_target(target: str) -> bool:
    """Whether `target` is written like a path (or a pytest node id) rather than a test's name."""
    return "/" in target or "\\" in target or "::" in target or bool(re.search(r"\.\w{1,4}$", target))


def find_interpreter(names: frozenset[str], folder: str, is_windows: bool = sys.platform == "win32") -> str:
    """The project's Python: that of its virtual environment, else the first on the path. `folder` is the
    absolute folder of the project, `names` are the files in it."""
    inside = "Scripts/python.exe" if is_windows else "bin/python"
    for name in ENVIRONMENT_FOLDERS:
        if name in names:
            return f"{folder.rstrip('/')}/{name}/{inside}"
    on_path = ("python", "py") if is_windows else ("python3", "python")
    return next((path for name in on_path if (path := shutil.which(name))), sys.executable)


async def find_project(target: str, files: Files) -> RunnerProject:
    """The nearest folder above `target` with a manifest, or the root. Without a target, a root without
    manifests is replaced by the one child folder that has some. Raises `ToolFailed` if several children
    have."""
    for folder in _parent_folders(target):
        project = await _read_project(folder, files)
        if project is not None and project.manifests:
            return project
    root = await _read_project(".", files) or RunnerProject(".", {}, frozenset())
    if target:
        return root
    below = [name for name in sorted(root.names) if not name.startswith(".")]
    projects = [child for name in below if (child := await _read_project(name, files)) and child.manifests]
    if len(projects) == 1 and not root.sample:
        return projects[0]
    if projects and not root.sample:
        folders = ", ".join(child.folder for child in projects[:8])
        raise ToolFailed(f"several projects are here; name one as `target`: {folders}")
    return root


def _parent_folders(target: str) -> list[str]:
    path = PurePosixPath(target.split("::")[0]) if "/" in target or "." in target else PurePosixPath()
    if path.is_absolute() or ".." in path.parts:
        return ["."]
    return [str(folder) for folder in (path, *path.parents)] if target else ["."]


async def _read_project(folder: str, files: Files) -> RunnerProject | None:
    try:
        kinds = {entry.path.rsplit("/", 1)[-1]: entry.kind for entry in await files.entries(folder, True)}
        names = kinds.keys() | await _find_environments(folder, files)
    except (OSError, PathRefused):
        return None
    present = [name for name in MANIFESTS if kinds.get(name) == "file"]
    manifests = {name: await read_text(_join_path(folder, name), files) for name in present}
    return RunnerProject(folder, manifests, frozenset(names), await _read_sample(folder, files))


async def _find_environments(folder: str, files: Files) -> set[str]:
    # A virtual environment is nearly always ignored, so no listing shows it.
    environments = set()
    for name in ENVIRONMENT_FOLDERS:
        with suppress(OSError, PathRefused):
            await files.stat(_join_path(folder, f"{name}/pyvenv.cfg"))
            environments.add(name)
    return environments


async def _read_sample(folder: str, files: Files) -> str:
    for name in TEST_FOLDERS:
        with suppress(OSError, PathRefused):
            for entry in await files.entries(_join_path(folder, name)):
                if entry.kind == "file" and TEST_FILE.search(entry.path):
                    return await read_text(entry.path, files)
    return ""


def _join_path(folder: str, name: str) -> str:
    parts = [part for part in (folder, name) if part != "."]
    return "/".join(parts) or "."


def preview_command(command: RunnerCommand, root: str) -> Preview:
    folder = "" if command.folder == "." else f"in {command.folder}"
    return Preview(
        title=f"run the tests with {command.runner}",
        parts=(Part("run", " ".join(command.argv), folder),),
        argv=(command.argv,),
        lift=f"run_tests {command.runner} *",
        launch=Launch(command.argv, _absolute_folder(command, root)),
    )


async def run_command(command: RunnerCommand, seconds: float, context: Context) -> Done:
    """Run the approved command. Raises `ToolFailed`, also if `command` differs from it."""
    running = context.running()
    launch = running.preview.launch if running.preview is not None else None
    cwd = _absolute_folder(command, context.workspace.root)
    if launch is None or (launch.argv, launch.cwd) != (command.argv, cwd):
        raise ToolFailed("the project changed after the approval; call the tool again")
    if command.report:
        await asyncio.to_thread(prepare_scratch_file, command.report)
    pieces: list[str] = []

    def on_output(text: str) -> None:
        pieces.append(text)
        running.progress(text)

    try:
        ended = await context.workspace.processes.run_sealed(
            launch, running.seal, seconds=seconds, on_output=on_output
        )
        report = await asyncio.to_thread(consume_scratch_file, command.report)
    except CockpitError as error:
        raise ToolFailed(f"{error.message}; install it or name another `runner`") from error
    log = "".join(pieces) or ended.output
    go_mod = ""
    if command.runner == "go":
        go_mod = await read_text(_join_path(command.folder, "go.mod"), context.workspace.files)
    outcome = outcomes.make_paths_relative(
        read_outcome(command.runner, report, log, go_mod), cwd, command.folder
    )
    return _build_result(command, ended, outcome, log, context)


def _absolute_folder(command: RunnerCommand, root: str) -> str:
    return root if command.folder == "." else f"{root}/{command.folder}"


def read_outcome(runner: Runner, report: str, log: str, go_mod: str = "") -> RunOutcome:
    """The outcome of a finished run, from its report if there is one, else from its output."""
    match runner:
        case "pytest":
            try:
                return reports.parse_junit(report)
            except ValueError:
                return reports.parse_pytest_text(log)
        case "jest" | "vitest":
            try:
                return reports.parse_javascript(report)
            except ValueError:
                return RunOutcome(note=f"{runner} left no report")
        case "unittest":
            return reports.parse_unittest(log)
        case "go":
            module = re.search(r"^module\s+(\S+)", go_mod, re.M)
            return reports.parse_go(log, module[1] if module else "")
        case "cargo":
            return reports.parse_cargo(log)


def _build_result(
    command: RunnerCommand, ended: ProcessResult, outcome: RunOutcome, log: str, context: Context
) -> Done:
    handle = context.session.results.keep(log)
    text = outcomes.format_outcome(outcome, command.runner, handle)
    if ended.timed_out:
        text = f"stopped after {ended.seconds:.0f} s; give more `seconds` or a smaller `target`\n{text}"
    elif MISSING_MODULE.search(log) and not outcome.total:
        text = (
            f"{command.argv[0]} has no pytest; install it there ({command.argv[0]} -m pip install pytest) "
            f'or set runner="unittest"'
        )
    elif not outcome.total:
        tail = "\n".join(log.rstrip().splitlines()[-TAIL_LINES:])
        text = f"{text}\nexit code {ended.code}; the end of its output:\n{tail}"
    is_error = ended.timed_out or (not outcome.total and ended.code != 0)
    data = outcomes.outcome_as_json(outcome, command.runner, command.argv, handle)
    return Done(text, data=data, is_error=is_error, isolation=ended.isolation)


async def choose_command(target: str, requested: Runner | Literal["auto"], context: Context) -> RunnerCommand:
    """The command that runs `target`. Raises `ToolFailed`."""
    target = target.strip().replace("\\", "/")
    if target.startswith("-"):
        raise ToolFailed(f"`target` {target!r} starts with a dash; name a file, a folder or a test")
    root = context.workspace.root.replace("\\", "/").rstrip("/")
    target = target.removeprefix(root + "/").removeprefix("./")
    project = await find_project(target, context.workspace.files)
    runner = detect_runner(project) if requested == "auto" else requested
    if runner is None:
        raise ToolFailed(
            f"no test runner detected; set `runner` to one of {', '.join(RUNNERS)}, or use shell"
        )
    # The report is a scratch file outside the project that a sandboxed program may write. Its name depends
    # only on the call, so that the approved command and the command that runs are equal.
    call = f"{context.session.id} {context.session.agent} {runner} {target}"
    name = hashlib.sha256(call.encode()).hexdigest()[:16]
    report = scratch_file_path(context.workspace.root, f"{name}.report")
    return build_command(runner, project, target, root, report)
