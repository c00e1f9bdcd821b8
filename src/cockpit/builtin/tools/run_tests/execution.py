"""Which program runs a project's tests, and with what command line. Reads manifests, runs nothing.

Finds the folder whose tests a target belongs to, and reads what it says of itself.

One run of a project's tests: the command, the run itself, what was found in its output.
"""

import asyncio
import hashlib
import json
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal, get_args

from cockpit.builtin.tools.run_tests import outcomes
from cockpit.builtin.tools.run_tests.outcomes import RunOutcome
from cockpit.builtin.tools.run_tests.reports import (
    parse_cargo,
    parse_go,
    parse_javascript,
    parse_junit,
    parse_pytest_text,
    parse_unittest,
)
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


@dataclass(frozen=True, slots=True)
class RunnerProject:
    """The folder whose tests are run: `folder` relative to the root ("." is the root).

    `manifests` are the texts of those MANIFESTS it has; `names` everything that lies in it;
    `sample` is the text of one of its test files, or empty.
    """

    folder: str
    manifests: Mapping[str, str]
    names: frozenset[str]
    sample: str = ""


@dataclass(frozen=True, slots=True)
class RunnerCommand:
    """What will be run, in which folder, and where the runner leaves its report ("" for none)."""

    runner: Runner
    argv: tuple[str, ...]
    folder: str
    report: str = ""


def detect_runner(project: RunnerProject) -> Runner | None:
    """The runner a project's manifests name, or None."""
    if "Cargo.toml" in project.manifests:
        return "cargo"
    if "go.mod" in project.manifests:
        return "go"
    python = _python_runner(project)
    if python and ("pyproject.toml" in project.manifests or "package.json" not in project.manifests):
        return python
    if "package.json" in project.manifests:
        return _javascript_runner(project) or python
    return python


def _python_runner(project: RunnerProject) -> Runner | None:
    said = "\n".join(project.manifests.get(name, "") for name in MANIFESTS[:6])
    if "pytest.ini" in project.manifests or "conftest.py" in project.names or PYTEST_MENTION.search(said):
        return "pytest"
    is_python = any(name in project.manifests for name in MANIFESTS[:6]) or project.sample
    if not is_python:
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
    """The command line. `target` is empty, a path in the project, or a test's name."""
    in_project = target if project.folder == "." else target.removeprefix(project.folder + "/")
    build: Mapping[Runner, Callable[[str, RunnerProject, str, str], tuple[str, ...]]] = {
        "pytest": _pytest_argv,
        "unittest": _unittest_argv,
        "jest": _jest_argv,
        "vitest": _vitest_argv,
        "go": _go_argv,
        "cargo": _cargo_argv,
    }
    in_project = "" if in_project.strip("/") in ("", ".", project.folder) else in_project
    argv = build[runner](in_project, project, root, report)
    leaves_report = runner in ("pytest", "jest", "vitest")
    return RunnerCommand(runner, argv, project.folder, report if leaves_report else "")


def is_path_target(target: str) -> bool:
    """Whether `target` is written like a path (or a pytest node id) rather than a test's name."""
    return "/" in target or "\\" in target or "::" in target or bool(re.search(r"\.\w{1,4}$", target))


def find_interpreter(names: frozenset[str], folder: str, is_windows: bool = sys.platform == "win32") -> str:
    """The Python of the project: its own virtual environment's, else the first on the path.

    `folder` is the absolute folder of the project, `names` what lies in it.
    """
    inside = "Scripts/python.exe" if is_windows else "bin/python"
    for name in (".venv", "venv", "env"):
        if name in names:
            return f"{folder.rstrip('/')}/{name}/{inside}"
    on_path = ("python", "py") if is_windows else ("python3", "python")
    return next((found for name in on_path if (found := shutil.which(name))), sys.executable)


def _project_python(project: RunnerProject, root: str) -> str:
    folder = root if project.folder == "." else f"{root}/{project.folder}"
    return find_interpreter(project.names, folder)


def _pytest_argv(target: str, project: RunnerProject, root: str, report: str) -> tuple[str, ...]:
    base = (_project_python(project, root), "-m", "pytest", "-q", "--color=no", "-o", "junit_family=xunit2")
    chosen = () if not target else (target,) if is_path_target(target) else ("-k", target)
    return (*base, f"--junitxml={report}", *chosen)


def _unittest_argv(target: str, project: RunnerProject, root: str, report: str) -> tuple[str, ...]:
    base = (_project_python(project, root), "-m", "unittest")
    if not target:
        return (*base, "discover", "-v")
    if target.endswith("/") or (is_path_target(target) and not target.endswith(".py") and "::" not in target):
        return (*base, "discover", "-v", "-s", target.rstrip("/"), "-t", ".")
    if is_path_target(target):
        module = str(PurePosixPath(target.split("::")[0]).with_suffix("")).replace("/", ".")
        return (*base, "-v", ".".join([module, *target.split("::")[1:]]))
    return (*base, "discover", "-v", "-k", target)


def _jest_argv(target: str, project: RunnerProject, root: str, report: str) -> tuple[str, ...]:
    base = ("npx", "--no-install", "jest", "--json", "--testLocationInResults", f"--outputFile={report}")
    return (*base, *(() if not target else (target,) if is_path_target(target) else ("-t", target)))


def _vitest_argv(target: str, project: RunnerProject, root: str, report: str) -> tuple[str, ...]:
    base = ("npx", "--no-install", "vitest", "run", "--reporter=json", f"--outputFile={report}")
    return (*base, *(() if not target else (target,) if is_path_target(target) else ("-t", target)))


def _go_argv(target: str, project: RunnerProject, root: str, report: str) -> tuple[str, ...]:
    if not target:
        return ("go", "test", "-json", "./...")
    if is_path_target(target):
        folder = str(PurePosixPath(target).parent) if target.endswith(".go") else target.rstrip("/")
        return ("go", "test", "-json", "." if folder == "." else f"./{folder.removeprefix('./')}")
    return ("go", "test", "-json", "-run", target, "./...")


def _cargo_argv(target: str, project: RunnerProject, root: str, report: str) -> tuple[str, ...]:
    base = ("cargo", "test", "--no-fail-fast", "--color=never")
    if not target:
        return base
    if target.endswith(".rs"):
        stem = PurePosixPath(target).stem
        return (*base, "--test", stem) if target.startswith("tests/") else (*base, stem)
    return (*base, target)


TEST_FOLDERS = (".", "tests", "test")
TEST_FILE = re.compile(r"(test_.*|.*_test)\.py$")


async def find_project(target: str, files: Files) -> RunnerProject:
    """The nearest folder above `target` with a manifest; the root when none has one.

    A root without manifests but with exactly one child that has some stands for that child.
    Raises `ToolFailed` when several children could be meant.
    """
    for folder in _parent_folders(target):
        found = await _read_project(folder, files)
        if found is not None and found.manifests:
            return found
    root = await _read_project(".", files) or RunnerProject(".", {}, frozenset())
    if target:
        return root
    below = [name for name in sorted(root.names) if not name.startswith(".")]
    projects = [one for name in below if (one := await _read_project(name, files)) and one.manifests]
    if len(projects) == 1 and not root.sample:
        return projects[0]
    if projects and not root.sample:
        named = ", ".join(one.folder for one in projects[:8])
        raise ToolFailed(f"several projects lie here; say which as `target`: {named}")
    return root


def _parent_folders(target: str) -> list[str]:
    path = PurePosixPath(target.split("::")[0]) if "/" in target or "." in target else PurePosixPath()
    if path.is_absolute() or ".." in path.parts:
        return ["."]
    return [str(folder) for folder in (path, *path.parents)] if target else ["."]


async def _read_project(folder: str, files: Files) -> RunnerProject | None:
    try:
        names = frozenset(entry.path.rsplit("/", 1)[-1] for entry in await files.entries(folder, True))
        kinds = {entry.path.rsplit("/", 1)[-1]: entry.kind for entry in await files.entries(folder, True)}
        names |= await _find_environments(folder, files)
    except (OSError, PathRefused):
        return None
    manifests = {
        name: await _read_text(_join_path(folder, name), files)
        for name in MANIFESTS
        if name in names and kinds.get(name) == "file"
    }
    return RunnerProject(folder, manifests, names, await _read_sample(folder, files))


async def _find_environments(folder: str, files: Files) -> frozenset[str]:
    # A virtual environment is nearly always ignored, so that no listing shows it.
    found = set()
    for name in (".venv", "venv", "env"):
        try:
            await files.stat(_join_path(folder, f"{name}/pyvenv.cfg"))
        except (OSError, PathRefused):
            continue
        found.add(name)
    return frozenset(found)


async def _read_sample(folder: str, files: Files) -> str:
    for name in TEST_FOLDERS:
        try:
            entries = await files.entries(_join_path(folder, name))
        except (OSError, PathRefused):
            continue
        for entry in entries:
            if entry.kind == "file" and TEST_FILE.search(entry.path):
                return await _read_text(entry.path, files)
    return ""


async def _read_text(path: str, files: Files) -> str:
    try:
        return (await files.read(path)).decode("utf-8", "replace")
    except (OSError, PathRefused):
        return ""


def _join_path(folder: str, name: str) -> str:
    parts = [part for part in (folder, name) if part != "."]
    return "/".join(parts) or "."


MISSING_MODULE = re.compile(r"No module named '?(pytest)\b")
TAIL_LINES = 20


def preview_command(chosen: RunnerCommand, root: str) -> Preview:
    shown = " ".join(chosen.argv)
    where = "" if chosen.folder == "." else f"in {chosen.folder}"
    return Preview(
        title=f"run the tests with {chosen.runner}",
        parts=(Part("run", shown, where),),
        argv=(chosen.argv,),
        lift=f"run_tests {chosen.runner} *",
        launch=Launch(chosen.argv, _absolute_folder(chosen, root)),
    )


async def run_command(chosen: RunnerCommand, seconds: float, context: Context) -> Done:
    """Run what was approved. Raises `ToolFailed`, also when `chosen` is not that any more."""
    running = context.running()
    launch = running.preview.launch if running.preview is not None else None
    cwd = _absolute_folder(chosen, context.workspace.root)
    if launch is None or (launch.argv, launch.cwd) != (chosen.argv, cwd):
        raise ToolFailed("the project changed since this was approved; call it again")
    if chosen.report:
        await asyncio.to_thread(prepare_scratch_file, chosen.report)
    pieces: list[str] = []

    def heard(text: str) -> None:
        pieces.append(text)
        running.progress(text)

    try:
        ended = await context.workspace.processes.run_sealed(
            launch, running.seal, seconds=seconds, on_output=heard
        )
        report = await asyncio.to_thread(consume_scratch_file, chosen.report)
    except CockpitError as error:
        raise ToolFailed(f"{error.message}; install it or name another `runner`") from error
    log = "".join(pieces) or ended.output
    module = await _go_module(chosen, context)
    found = outcomes.make_paths_relative(read_outcome(chosen, ended, report, log, module), cwd, chosen.folder)
    return _build_result(chosen, ended, found, log, context)


def _absolute_folder(chosen: RunnerCommand, root: str) -> str:
    return root if chosen.folder == "." else f"{root}/{chosen.folder}"


def read_outcome(
    chosen: RunnerCommand, ended: ProcessResult, report: str, log: str, module: str = ""
) -> RunOutcome:
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
                return RunOutcome(note=f"{chosen.runner} left no report")
        case "unittest":
            return parse_unittest(log)
        case "go":
            return parse_go(log, module)
        case "cargo":
            return parse_cargo(log)


def _build_result(
    chosen: RunnerCommand, ended: ProcessResult, found: RunOutcome, log: str, context: Context
) -> Done:
    handle = context.session.results.keep(log)
    said = outcomes.format_outcome(found, chosen.runner, handle)
    if ended.timed_out:
        said = f"stopped after {ended.seconds:.0f} s; give more `seconds` or a smaller `target`\n{said}"
    elif MISSING_MODULE.search(log) and not found.total:
        said = (
            f"{chosen.argv[0]} has no pytest; install it there ({chosen.argv[0]} -m pip install pytest) "
            f'or say runner="unittest"'
        )
    elif not found.total:
        tail = "\n".join(log.rstrip().splitlines()[-TAIL_LINES:])
        said = f"{said}\nexit code {ended.code}; the end of its output:\n{tail}"
    is_error = ended.timed_out or (not found.total and ended.code != 0)
    data = outcomes.outcome_as_json(found, chosen.runner, chosen.argv, handle)
    return Done(said, data=data, is_error=is_error, isolation=ended.isolation)


async def choose_command(target: str, wanted: Runner | Literal["auto"], context: Context) -> RunnerCommand:
    """What would run `target`. Raises `ToolFailed`."""
    target = target.strip().replace("\\", "/")
    if target.startswith("-"):
        raise ToolFailed(f"`target` {target!r} starts with a dash; name a file, a folder or a test")
    root = context.workspace.root.replace("\\", "/").rstrip("/")
    target = target.removeprefix(root + "/").removeprefix("./")
    project = await find_project(target, context.workspace.files)
    runner = detect_runner(project) if wanted == "auto" else wanted
    if runner is None:
        raise ToolFailed(
            "no manifest here names a test runner cockpit can read "
            f"({', '.join(RUNNERS)}); say `runner`, or use shell"
        )
    return build_command(runner, project, target, root, _report_path(target, runner, context))


def _report_path(target: str, runner: Runner, context: Context) -> str:
    """A file outside of the project, so that nothing there changes, where a held program may write. The
    same for the same call: what was approved is what runs."""
    asked = f"{context.session.id} {context.session.agent} {runner} {target}"
    name = hashlib.sha256(asked.encode()).hexdigest()[:16]
    return scratch_file_path(context.workspace.root, f"{name}.report")


async def _go_module(chosen: RunnerCommand, context: Context) -> str:
    if chosen.runner != "go":
        return ""
    manifest = "go.mod" if chosen.folder == "." else f"{chosen.folder}/go.mod"
    try:
        text = (await context.workspace.files.read(manifest)).decode("utf-8", "replace")
    except OSError:
        return ""
    found = re.search(r"^module\s+(\S+)", text, re.M)
    return found[1] if found else ""
