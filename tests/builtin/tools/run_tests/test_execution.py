"""Which runner a project has, and its command line."""

import json

import pytest

from cockpit.builtin.tools.run_tests import execution
from cockpit.builtin.tools.run_tests.execution import Runner, RunnerProject


def project(
    sample: str = "", folder: str = ".", names: tuple[str, ...] = (), **manifests: str
) -> RunnerProject:
    named = {name.replace("__", "."): text for name, text in manifests.items()}
    return RunnerProject(folder, named, frozenset((*names, *named)), sample)


PACKAGE = json.dumps({"devDependencies": {"vitest": "2"}})


@pytest.mark.parametrize(
    ("runner_project", "runner"),
    [
        (project(pyproject__toml="[tool.pytest.ini_options]"), "pytest"),
        (project(setup__cfg="[tool:pytest]"), "pytest"),
        (project(pyproject__toml="", sample="import unittest"), "unittest"),
        (project(pyproject__toml=""), "pytest"),
        (project(sample="def test_x(): pass"), "pytest"),
        (project(package__json=PACKAGE), "vitest"),
        (project(package__json='{"scripts": {"test": "jest --ci"}}'), "jest"),
        (project(package__json="{}", names=("jest.config.js",)), "jest"),
        (project(package__json="not json"), None),
        (project(go__mod="module x"), "go"),
        (project(Cargo__toml=""), "cargo"),
        (project(package__json=PACKAGE, pyproject__toml="[tool.pytest]"), "pytest"),
        (project(), None),
    ],
)
def test_runner_is_detected_from_the_manifests(runner_project: RunnerProject, runner: Runner | None) -> None:
    assert execution.detect_runner(runner_project) == runner


def tail(runner: Runner, target: str, runner_project: RunnerProject | None = None) -> tuple[str, ...]:
    argv = execution.build_command(runner, runner_project or project(), target, "/root", "/report").argv
    return argv[1:]


def test_command_lines_for_paths_and_for_test_names() -> None:
    assert tail("pytest", "tests/test_a.py::test_x")[-1] == "tests/test_a.py::test_x"
    assert tail("pytest", "rounds")[-2:] == ("-k", "rounds")
    assert tail("unittest", "tests/test_a.py")[-1] == "tests.test_a"
    assert tail("unittest", "tests/")[-3:] == ("tests", "-t", ".")
    assert tail("jest", "t/cart.test.js")[-1] == "t/cart.test.js"
    assert tail("vitest", "rounds")[-2:] == ("-t", "rounds")
    assert tail("go", "rates/rates_test.go") == ("test", "-json", "./rates")
    assert tail("go", "TestRounds") == ("test", "-json", "-run", "TestRounds", "./...")
    assert tail("cargo", "tests/api.rs")[-2:] == ("--test", "api")


def test_target_is_relative_to_the_folder_of_the_project() -> None:
    runner_project = project(folder="web", package__json=PACKAGE)
    command = execution.build_command("vitest", runner_project, "web/t/a.test.ts", "/root", "/report")
    assert command.folder == "web"
    assert command.argv[-1] == "t/a.test.ts"
    assert (
        execution.build_command("vitest", runner_project, "web", "/root", "/report").argv[-1]
        == "--outputFile=/report"
    )


def test_interpreter_of_the_virtual_environment_is_used() -> None:
    names = frozenset({".venv"})
    assert execution.find_interpreter(names, "/root", is_windows=False) == "/root/.venv/bin/python"
    assert execution.find_interpreter(names, "C:/root", is_windows=True) == "C:/root/.venv/Scripts/python.exe"
