"""Recorded output of real test runners is parsed."""

from pathlib import Path

import pytest

from cockpit.builtin.tools.run_tests import outcomes, reports
from cockpit.builtin.tools.run_tests.outcomes import FailedCase, RunOutcome

RECORDED = Path(__file__).parents[3] / "recordings" / "run_tests"


def recorded(name: str) -> str:
    return (RECORDED / name).read_text("utf-8")


def numbers(found: RunOutcome) -> tuple[int, int, int, int]:
    return found.passed, found.failed, found.skipped, found.errors


def places(found: RunOutcome) -> list[str]:
    shown = outcomes.make_paths_relative(found, "/project", ".")
    return [f"{one.place} {one.name}" for one in shown.failures]


def test_pytest_report_is_parsed() -> None:
    found = reports.parse_junit(recorded("pytest.xml"))
    assert numbers(found) == (2, 4, 2, 1)
    assert places(found) == [
        "test_sample.py:13 test_prices_are_rounded",
        "test_sample.py:18 test_names[中文]",
        "test_sample.py:23 test_needs_database",
        "test_sample.py:42 TestGroup.test_raises",
        "test_sample.py:47 Old.test_old",
    ]
    assert found.failures[3].message == "ValueError: bad value: 3"
    assert found.failures[2].is_error


def test_pytest_report_of_a_failed_import_is_parsed() -> None:
    found = reports.parse_junit(recorded("pytest_collection_error.xml"))
    assert numbers(found) == (0, 0, 0, 1)
    assert places(found) == ["test_broken_import.py:1 test_broken_import"]
    assert "No module named 'nothing_of_that_name'" in found.failures[0].message


def test_pytest_text_is_parsed_without_a_report() -> None:
    found = reports.parse_pytest_text(recorded("pytest.txt"))
    assert numbers(found) == (2, 4, 2, 1)
    assert [one.name for one in found.failures][:2] == ["test_prices_are_rounded", "test_names[中文]"]


def test_unittest_text_is_parsed() -> None:
    found = reports.parse_unittest(recorded("unittest.txt"))
    assert numbers(found) == (1, 3, 2, 2)
    assert places(found) == [
        "test_gone.py:1 test_gone",
        "test_money.py:13 test_money.Money.test_breaks",
        "test_money.py:26 test_money.Money.test_each [n=2]",
        "test_money.py:26 test_money.Money.test_each [n=3]",
        "test_money.py:10 test_money.Money.test_rounds",
    ]
    assert found.failures[-1].message == "AssertionError: 2 != 3 : half up"


@pytest.mark.parametrize(("name", "file"), [("jest", "t/cart.test.js"), ("vitest", "t/cart.test.mjs")])
def test_javascript_report_is_parsed(name: str, file: str) -> None:
    found = reports.parse_javascript(recorded(f"{name}.json"))
    assert numbers(found) == (1, 2, 2, 1)
    lines = (4, 10) if name == "jest" else (5, 11)
    said = places(found)
    assert f"{file}:{lines[0]} cart > rounds prices" in said
    assert f"{file}:{lines[1]} throws" in said
    assert any("broken.test" in one for one in said)
    thrown = next(one for one in found.failures if one.name == "throws")
    assert thrown.message == "TypeError: no such item: 3"


def test_cargo_text_of_several_binaries_is_parsed() -> None:
    found = reports.parse_cargo(recorded("cargo.txt"))
    assert numbers(found) == (2, 4, 1, 0)
    assert places(found) == [
        " tests::fails_with_result",
        "src/lib.rs:21 tests::panics_not",
        "src/lib.rs:12 tests::rounds",
        "tests/api.rs:4 unwraps",
    ]
    assert found.failures[2].message.startswith("assertion `left == right` failed: half up")


def test_cargo_compile_errors_are_reported() -> None:
    found = reports.parse_cargo(recorded("cargo_compile.txt"))
    assert numbers(found) == (0, 0, 0, 1)
    assert places(found) == ["src/lib.rs:1 compile error"]
    assert "cannot find value `c`" in found.failures[0].message


def test_go_events_are_parsed() -> None:
    found = reports.parse_go(recorded("go_test.jsonl"), "example.com/money")
    assert numbers(found) == (1, 1, 1, 1)
    assert places(found) == [
        "money_test.go:14 TestRounds/half_up",
        "rates/rates.go:5 example.com/money/rates",
    ]


@pytest.mark.parametrize("text", ["", "<testsuites><testsuite", "no xml"])
def test_truncated_report_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="incomplete"):
        reports.parse_junit(text)


@pytest.mark.parametrize("text", ["", 'nonsense\n{}\n{"Action":', "\x00\xff"])
def test_unrelated_text_gives_no_tests_instead_of_an_error(text: str) -> None:
    for found in (
        reports.parse_unittest(text),
        reports.parse_cargo(text),
        reports.parse_go(text),
        reports.parse_pytest_text(text),
    ):
        assert found.total == 0


def test_text_starts_with_the_counts_that_are_not_zero() -> None:
    found = RunOutcome(5, 1, 0, 0, 0.5, (FailedCase("test_x", "a.py", 3, "E1\nE2"),))
    assert outcomes.format_outcome(found, "pytest", "r1").splitlines() == [
        "pytest: 1 failed, 5 passed in 0.50 s",
        "FAILED a.py:3 test_x",
        "    E1",
        "    E2",
        'the whole output: read_result("r1")',
    ]


def test_paths_become_relative_to_the_root() -> None:
    found = RunOutcome(failures=(FailedCase("t", "/root/web/a.test.js", 1), FailedCase("u", "b.py", 2)))
    shown = outcomes.make_paths_relative(found, "/root/web", "web")
    assert [one.path for one in shown.failures] == ["web/a.test.js", "web/b.py"]
