"""Text is cleaned for terminals: control characters, lines, length."""

from cockpit.protocol.safe_text import clean, clean_output, single_line


def test_cleaning_keeps_text_and_removes_control_characters() -> None:
    assert clean("a\tb\nc") == "a\tb\nc"
    assert clean("x\x1b[31my\x07\u202ez\x9b") == "x�[31my��z�"
    assert clean("한국어 👩‍👩‍👧") == "한국어 👩‍👩‍👧"


def test_output_loses_colours_and_shows_lines_as_they_ended() -> None:
    assert clean_output("\x1b[1;31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x07") == "red link"
    assert clean_output("10%\r50%\r100%\ndone\r\n") == "100%\ndone\n"
    assert clean_output("ab\b\bcd") == "cd" and clean_output("\b\b") == ""


def test_one_line_is_one_line() -> None:
    assert single_line("a\n b\x1b[2J  c") == "a b c"
    assert len(single_line("x" * 900)) == 400
