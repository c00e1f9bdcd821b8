"""Which problems an edit introduces: a moved problem is not new."""

from cockpit.navigation.problem_diff import find_new_problems
from cockpit.protocol.code import ProblemRow

TEXT = b"import os\n\ndef f():\n    return nme\n"


def problem(line: int, message: str = "undefined name nme", path: str = "a.py") -> ProblemRow:
    return ProblemRow(path, line, 5, line, 8, "error", message, "undefined", "ty")


def test_a_problem_that_moved_down_is_not_new() -> None:
    new = b"# one\n# two\n" + TEXT
    assert find_new_problems([problem(4)], [problem(6)], TEXT, new) == ()


def test_the_same_problem_on_another_line_is_new() -> None:
    new = TEXT + b"\ndef g():\n    return nme + 1\n"
    assert find_new_problems([problem(4)], [problem(4), problem(7)], TEXT, new) == (problem(7),)


def test_a_moved_definition_keeps_its_problem() -> None:
    new = b"def f():\n    return nme\n\nimport os\n"
    assert find_new_problems([problem(4)], [problem(2)], TEXT, new) == ()


def test_a_fixed_problem_does_not_hide_another() -> None:
    new = TEXT.replace(b"nme", b"name")
    other = problem(4, "undefined name name")
    assert find_new_problems([problem(4)], [other], TEXT, new) == (other,)


def test_every_problem_of_a_new_file_is_new_and_errors_come_first() -> None:
    warning = ProblemRow("a.py", 1, 1, 1, 2, "warning", "unused", "F401", "ruff")
    assert find_new_problems([], [warning, problem(4)], None, TEXT) == (problem(4), warning)
