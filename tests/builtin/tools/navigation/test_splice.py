"""Definitions are cut out of bytes and replaced: indentation, line ends, blank lines."""

import pytest

from cockpit.builtin.tools.navigation.splice import DefinitionSlice, cut_definition

CLASS = (
    b"class Cart:\n    def total(self):\n        return 1\n\n    def add(self):\n        return 2\n"
    + b"\n\nX = 1\n"
)


def piece(content: bytes, text: bytes) -> DefinitionSlice:
    at = content.index(text)
    return cut_definition(content, at, at + len(text))


def method() -> DefinitionSlice:
    return piece(CLASS, b"def total(self):\n        return 1")


def test_replacement_gets_the_indentation_of_its_place() -> None:
    new = method().replace("def total(self):\n    if self:\n        return 3\n")
    assert new == CLASS.replace(b"return 1", b"if self:\n            return 3")


def test_indented_text_is_not_indented_again() -> None:
    assert method().replace("    def total(self):\n        return 3") == CLASS.replace(
        b"return 1", b"return 3"
    )


def test_less_indented_lines_of_a_string_stay_unchanged() -> None:
    new = method().replace('    def total(self):\n        return """\nleft\n"""')
    assert b'        return """\nleft\n"""\n\n    def add' in new


def test_before_and_after_use_the_neighbours_blank_lines() -> None:
    text = "def empty(self):\n    return not self"
    written = b"    def empty(self):\n        return not self\n"
    assert method().insert_before(text) == CLASS.replace(b"    def total", written + b"\n    def total")
    last = piece(CLASS, b"def add(self):\n        return 2")
    assert last.insert_after(text) == CLASS.replace(b"return 2\n", b"return 2\n\n" + written)


def test_single_lines_are_inserted_without_a_gap() -> None:
    assert piece(CLASS, b"X = 1").insert_after("Y = 2").endswith(b"\n\nX = 1\nY = 2\n")


def test_crlf_line_ends_are_preserved() -> None:
    content = CLASS.replace(b"\n", b"\r\n")
    cutting = piece(content, b"def total(self):\r\n        return 1")
    new = cutting.insert_after("def empty(self):\n    return 0")
    assert new.count(b"\n") == new.count(b"\r\n") == CLASS.count(b"\n") + 3


@pytest.mark.parametrize(
    ("content", "text", "left"),
    [
        (b"def a():\n    pass\n\n\ndef b():\n    pass\n", b"def a():\n    pass", b"def b():\n    pass\n"),
        (b"X = 1\n\n\ndef b():\n    pass\n", b"def b():\n    pass", b"X = 1\n"),
        (
            b"class A:\n    def b(self):\n        pass\n",
            b"def b(self):\n        pass",
            b"class A:\n    pass\n",
        ),
        (
            b"class A:\n    def b(self): ...\n\n    def c(self): ...\n",
            b"def b(self): ...",
            b"class A:\n    def c(self): ...\n",
        ),
        (b"f(); g(); h()\n", b"g(); ", b"f(); h()\n"),
    ],
)
def test_deletion_leaves_a_valid_file(content: bytes, text: bytes, left: bytes) -> None:
    assert piece(content, text).delete(is_python=True) == left


def test_lines_of_a_definition_count_from_one() -> None:
    assert method().lines == (2, 3)
