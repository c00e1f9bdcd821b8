"""Which program runs a project's tests, and with what command line. Reads manifests, runs nothing."""

import json
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal, get_args

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
PYTEST_HINT = re.compile(r"\[tool\.pytest|\[tool:pytest\]|\[pytest\]|^\s*[\"']?pytest\b", re.M)


@dataclass(frozen=True, slots=True)
class Project:
    """The folder whose tests are run: `folder` relative to the root ("." is the root).

    `manifests` are the texts of those MANIFESTS it has; `names` everything that lies in it;
    `sample` is the text of one of its test files, or empty.
    """

    folder: str
    manifests: Mapping[str, str]
    names: frozenset[str]
    sample: str = ""


@dataclass(frozen=True, slots=True)
class Command:
    """What will be run, in which folder, and where the runner leaves its report ("" for none)."""

    runner: Runner
    argv: tuple[str, ...]
    folder: str
    report: str = ""


def detect(project: Project) -> Runner | None:
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


def _python_runner(project: Project) -> Runner | None:
    said = "\n".join(project.manifests.get(name, "") for name in MANIFESTS[:6])
    if "pytest.ini" in project.manifests or "conftest.py" in project.names or PYTEST_HINT.search(said):
        return "pytest"
    is_python = any(name in project.manifests for name in MANIFESTS[:6]) or project.sample
    if not is_python:
        return None
    is_unittest = "unittest" in project.sample and "pytest" not in project.sample
    return "unittest" if is_unittest else "pytest"


def _javascript_runner(project: Project) -> Runner | None:
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


def command(runner: Runner, project: Project, target: str, root: str, report: str) -> Command:
    """The command line. `target` is empty, a path in the project, or a test's name."""
    in_project = target if project.folder == "." else target.removeprefix(project.folder + "/")
    build: Mapping[Runner, Callable[[str, Project, str, str], tuple[str, ...]]] = {
        "pytest": _pytest,
        "unittest": _unittest,
        "jest": _jest,
        "vitest": _vitest,
        "go": _go,
        "cargo": _cargo,
    }
    in_project = "" if in_project.strip("/") in ("", ".", project.folder) else in_project
    argv = build[runner](in_project, project, root, report)
    leaves_report = runner in ("pytest", "jest", "vitest")
    return Command(runner, argv, project.folder, report if leaves_report else "")


def is_path(target: str) -> bool:
    """Whether `target` is written like a path (or a pytest node id) rather than a test's name."""
    return "/" in target or "\\" in target or "::" in target or bool(re.search(r"\.\w{1,4}$", target))


def interpreter(names: frozenset[str], folder: str, is_windows: bool = sys.platform == "win32") -> str:
    """The Python of the project: its own virtual environment's, else the first on the path.

    `folder` is the absolute folder of the project, `names` what lies in it.
    """
    inside = "Scripts/python.exe" if is_windows else "bin/python"
    for name in (".venv", "venv", "env"):
        if name in names:
            return f"{folder.rstrip('/')}/{name}/{inside}"
    on_path = ("python", "py") if is_windows else ("python3", "python")
    return next((found for name in on_path if (found := shutil.which(name))), sys.executable)


def _python(project: Project, root: str) -> str:
    folder = root if project.folder == "." else f"{root}/{project.folder}"
    return interpreter(project.names, folder)


def _pytest(target: str, project: Project, root: str, report: str) -> tuple[str, ...]:
    base = (_python(project, root), "-m", "pytest", "-q", "--color=no", "-o", "junit_family=xunit2")
    chosen = () if not target else (target,) if is_path(target) else ("-k", target)
    return (*base, f"--junitxml={report}", *chosen)


def _unittest(target: str, project: Project, root: str, report: str) -> tuple[str, ...]:
    base = (_python(project, root), "-m", "unittest")
    if not target:
        return (*base, "discover", "-v")
    if target.endswith("/") or (is_path(target) and not target.endswith(".py") and "::" not in target):
        return (*base, "discover", "-v", "-s", target.rstrip("/"), "-t", ".")
    if is_path(target):
        module = str(PurePosixPath(target.split("::")[0]).with_suffix("")).replace("/", ".")
        return (*base, "-v", ".".join([module, *target.split("::")[1:]]))
    return (*base, "discover", "-v", "-k", target)


def _jest(target: str, project: Project, root: str, report: str) -> tuple[str, ...]:
    base = ("npx", "--no-install", "jest", "--json", "--testLocationInResults", f"--outputFile={report}")
    return (*base, *(() if not target else (target,) if is_path(target) else ("-t", target)))


def _vitest(target: str, project: Project, root: str, report: str) -> tuple[str, ...]:
    base = ("npx", "--no-install", "vitest", "run", "--reporter=json", f"--outputFile={report}")
    return (*base, *(() if not target else (target,) if is_path(target) else ("-t", target)))


def _go(target: str, project: Project, root: str, report: str) -> tuple[str, ...]:
    if not target:
        return ("go", "test", "-json", "./...")
    if is_path(target):
        folder = str(PurePosixPath(target).parent) if target.endswith(".go") else target.rstrip("/")
        return ("go", "test", "-json", "." if folder == "." else f"./{folder.removeprefix('./')}")
    return ("go", "test", "-json", "-run", target, "./...")


def _cargo(target: str, project: Project, root: str, report: str) -> tuple[str, ...]:
    base = ("cargo", "test", "--no-fail-fast", "--color=never")
    if not target:
        return base
    if target.endswith(".rs"):
        stem = PurePosixPath(target).stem
        return (*base, "--test", stem) if target.startswith("tests/") else (*base, stem)
    return (*base, target)
