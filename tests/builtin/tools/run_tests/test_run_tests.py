"""The tool itself, on projects whose tests really run."""

import sys
from pathlib import Path

import pytest
from tests.support.session_view import call, context_on, registered

from cockpit.builtin.tools import run_tests
from cockpit.plugin.tools import ToolFailed

TOOL = registered(run_tests)["run_tests"]
SAMPLE = "def test_good(): pass\ndef test_bad():\n    assert 1 == 2, 'one is not two'\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "root"
    (root / "tests").mkdir(parents=True)
    (root / "tests/test_a.py").write_text(SAMPLE)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    monkeypatch.setenv("COCKPIT_HOME", str(tmp_path / "home"))
    # The project's pytest needs none of the plugins of this environment, which take seconds to load.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    return root


async def test_failing_test_is_reported_with_place_and_message(project: Path) -> None:
    context = context_on(project)
    done = await call(TOOL, context)
    assert done.text.splitlines()[0].startswith("pytest: 1 failed, 1 passed in ")
    assert "FAILED tests/test_a.py:3 test_bad" in done.text
    assert "one is not two" in done.text
    assert not done.is_error
    assert isinstance(done.data, dict)
    assert done.data["failed"] == 1
    assert "test_bad" in context.session.results.page(str(done.data["log"]), 0, 10_000)[0]


async def test_no_report_is_left_behind(project: Path, tmp_path: Path) -> None:
    await call(TOOL, context_on(project))
    assert not list((tmp_path / "home").rglob("*.report"))
    assert not list(project.rglob("*.report"))


async def test_one_test_runs_by_name(project: Path) -> None:
    done = await call(TOOL, context_on(project), target="test_good")
    assert done.text.startswith("pytest: 1 passed in ")


async def test_unittest_project_runs_with_unittest(project: Path) -> None:
    lines = [
        "import unittest",
        "",
        "class T(unittest.TestCase):",
        "    def test_no(self):",
        "        self.fail()",
    ]
    (project / "tests/test_a.py").write_text("\n".join(lines))
    (project / "tests/__init__.py").touch()
    done = await call(TOOL, context_on(project))
    assert done.text.splitlines()[0].startswith("unittest: 1 failed in ")
    assert "tests/test_a.py:5" in done.text


async def test_preview_shows_the_command_line(project: Path) -> None:
    assert TOOL.preview is not None
    preview = await TOOL.preview({"target": "tests"}, context_on(project))
    assert preview.argv[0][1:3] == ("-m", "pytest")
    assert preview.argv[0][-1] == "tests"
    assert preview.lift == "run_tests pytest *"


async def test_run_over_its_time_limit_is_stopped_and_reported(project: Path) -> None:
    (project / "tests/test_a.py").write_text("import threading\ndef test_x(): threading.Event().wait(60)\n")
    done = await call(TOOL, context_on(project), seconds=3)
    assert done.is_error
    assert "give more `seconds`" in done.text


async def test_run_without_tests_is_not_a_success(project: Path) -> None:
    (project / "tests/test_a.py").write_text("x = 1\n")
    done = await call(TOOL, context_on(project))
    assert "no tests ran" in done.text
    assert "exit code 5" in done.text


async def test_project_without_a_known_runner_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ToolFailed, match="set `runner`"):
        await call(TOOL, context_on(tmp_path))


async def test_target_like_an_option_is_refused(project: Path) -> None:
    with pytest.raises(ToolFailed, match="starts with a dash"):
        await call(TOOL, context_on(project), target="--pdb")


async def test_missing_runner_is_named(project: Path) -> None:
    with pytest.raises(ToolFailed, match="cargo"):
        await call(TOOL, context_on(project), runner="cargo")


async def test_several_projects_need_a_target(tmp_path: Path) -> None:
    for name in ("api", "web"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "pyproject.toml").write_text("")
    with pytest.raises(ToolFailed, match="api, web"):
        await call(TOOL, context_on(tmp_path))
