"""Recorded output of real test runners is parsed."""

from pathlib import Path

import pytest

from cockpit.builtin.tools.run_tests import outcomes, reports
from cockpit.builtin.tools.run_tests.outcomes import FailedCase, RunOutcome

RECORDED = Path(__file__).parents[3] / "recordings" / "run_tests"


def recorded(name: str) -> str:
    return (RECORDED / name).read_text("utf-8")


def numbers(outcome: RunOutcome) -> tuple[int, int, int, int]:
    return outcome.passed, outcome.failed, outcome.skipped, outcome.errors


def places(outcome: RunOutcome) -> list[str]:
    shown = outcomes.make_paths_relative(outcome, "/project", ".")
    return [f"{case.place} {case.name}" for case in shown.failures]


def test_pytest_report_is_parsed() -> None:
    outcome = reports.parse_junit(recorded("pytest.xml"))
    assert numbers(outcome) == (2, 4, 2, 1)
    assert places(outcome) == [
        "test_sample.py:13 test_prices_are_rounded",
        "test_sample.py:18 test_names[中文]",
        "test_sample.py:23 test_needs_database",
        "test_sample.py:42 TestGroup.test_raises",
        "test_sample.py:47 Old.test_old",
    ]
    assert outcome.failures[3].message == "ValueError: bad value: 3"
    assert outcome.failures[2].is_error


def test_pytest_report_of_a_failed_import_is_parsed() -> None:
    outcome = reports.parse_junit(recorded("pytest_collection_error.xml"))
    assert numbers(outcome) == (0, 0, 0, 1)
    assert places(outcome) == ["test_broken_import.py:1 test_broken_import"]
    assert "No module named 'nothing_of_that_name'" in outcome.failures[0].message


def test_pytest_text_is_parsed_without_a_report() -> None:
    outcome = reports.parse_pytest_text(recorded("pytest.txt"))
    assert numbers(outcome) == (2, 4, 2, 1)
    assert [case.name for case in outcome.failures][:2] == ["test_prices_are_rounded", "test_names[中文]"]


def test_unittest_text_is_parsed() -> None:
    outcome = reports.parse_unittest(recorded("unittest.txt"))
    assert numbers(outcome) == (1, 3, 2, 2)
    assert places(outcome) == [
        "test_gone.py:1 test_gone",
        "test_money.py:13 test_money.Money.test_breaks",
        "test_money.py:26 test_money.Money.test_each [n=2]",
        "test_money.py:26 test_money.Money.test_each [n=3]",
        "test_money.py:10 test_money.Money.test_rounds",
    ]
    assert outcome.failures[-1].message == "AssertionError: 2 != 3 : half up"


@pytest.mark.parametrize(("name", "file"), [("jest", "t/cart.test.js"), ("vitest", "t/cart.test.mjs")])
def test_javascript_report_is_parsed(name: str, file: str) -> None:
    outcome = reports.parse_javascript(recorded(f"{name}.json"))
    assert numbers(outcome) == (1, 2, 2, 1)
    lines = (4, 10) if name == "jest" else (5, 11)
    failures = places(outcome)
    assert f"{file}:{lines[0]} cart > rounds prices" in failures
    assert f"{file}:{lines[1]} throws" in failures
    assert any("broken.test" in case for case in failures)
    thrown = next(case for case in outcome.failures if case.name == "throws")
    assert thrown.message == "TypeError: no such item: 3"


def test_cargo_text_of_several_binaries_is_parsed() -> None:
    outcome = reports.parse_cargo(recorded("cargo.txt"))
    assert numbers(outcome) == (2, 4, 1, 0)
    assert places(outcome) == [
        " tests::fails_with_result",
        "src/lib.rs:21 tests::panics_not",
        "src/lib.rs:12 tests::rounds",
        "tests/api.rs:4 unwraps",
    ]
    assert outcome.failures[2].message.startswith("assertion `left == right` failed: half up")


def test_cargo_compile_errors_are_reported() -> None:
    outcome = reports.parse_cargo(recorded("cargo_compile.txt"))
    assert numbers(outcome) == (0, 0, 0, 1)
    assert places(outcome) == ["src/lib.rs:1 compile error"]
    assert "cannot find value `c`" in outcome.failures[0].message


def test_go_events_are_parsed() -> None:
    outcome = reports.parse_go(recorded("go_test.jsonl"), "example.com/money")
    assert numbers(outcome) == (1, 1, 1, 1)
    assert places(outcome) == [
        "money_test.go:14 TestRounds/half_up",
        "rates/rates.go:5 example.com/money/rates",
    ]


@pytest.mark.parametrize("text", ["", "<testsuites><testsuite", "no xml"])
def test_truncated_report_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="incomplete"):
        reports.parse_junit(text)


@pytest.mark.parametrize("text", ["", 'nonsense\n{}\n{"Action":', "\x00\xff"])
def test_unrelated_text_gives_no_tests_instead_of_an_error(text: str) -> None:
    for outcome in (
        reports.parse_unittest(text),
        reports.parse_cargo(text),
        reports.parse_go(text),
        reports.parse_pytest_text(text),
    ):
        assert outcome.total == 0


def test_text_starts_with_the_counts_that_are_not_zero() -> None:
    outcome = RunOutcome(5, 1, 0, 0, 0.5, (FailedCase("test_x", "a.py", 3, "E1\nE2"),))
    assert outcomes.format_outcome(outcome, "pytest", "r1").splitlines() == [
        "pytest: 1 failed, 5 passed in 0.50 s",
        "FAILED a.py:3 test_x",
        "    E1",
        "    E2",
        'the whole output: read_result("r1")',
    ]


def test_paths_become_relative_to_the_root() -> None:
    outcome = RunOutcome(failures=(FailedCase("t", "/root/web/a.test.js", 1), FailedCase("u", "b.py", 2)))
    shown = outcomes.make_paths_relative(outcome, "/root/web", "web")
    assert [case.path for case in shown.failures] == ["web/a.test.js", "web/b.py"]
