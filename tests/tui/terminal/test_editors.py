"""How each editor is told where to open a file."""

import pytest

from cockpit.tui.terminal.editors import configured_editor, edit_text, editor_command

PLACES: tuple[tuple[str, tuple[str, ...], bool], ...] = (
    ("vim", ("vim", "+call cursor(12,5)", "a.py"), True),
    ("/usr/bin/nvim -p", ("/usr/bin/nvim", "-p", "+call cursor(12,5)", "a.py"), True),
    ("vi", ("vi", "+12", "a.py"), True),
    ("emacs -nw", ("emacs", "-nw", "+12:5", "a.py"), True),
    ("emacsclient -t", ("emacsclient", "-t", "+12:5", "a.py"), True),
    ("emacsclient", ("emacsclient", "+12:5", "a.py"), True),
    ("emacsclient -n", ("emacsclient", "-n", "+12:5", "a.py"), False),
    ("hx", ("hx", "a.py:12:5"), True),
    ("helix", ("helix", "a.py:12:5"), True),
    ("nano", ("nano", "+12,5", "a.py"), True),
    ("micro", ("micro", "+12:5", "a.py"), True),
    ("kak", ("kak", "+12:5", "a.py"), True),
    ("code --wait", ("code", "--goto", "a.py:12:5"), False),
    ("codium -w", ("codium", "--goto", "a.py:12:5"), False),
    ("cursor", ("cursor", "--goto", "a.py:12:5"), False),
    ("idea", ("idea", "--line", "12", "--column", "4", "a.py"), False),
    ("pycharm.sh", ("pycharm.sh", "--line", "12", "--column", "4", "a.py"), False),
    ("zed --wait", ("zed", "a.py:12:5"), False),
    ("subl -w", ("subl", "a.py:12:5"), False),
    ("gvim", ("gvim", "+call cursor(12,5)", "a.py"), False),
    ("ed", ("ed", "a.py"), True),
    ("acme --wait", ("acme", "--wait", "a.py"), True),
    ("notepad", ("notepad", "a.py"), False),
)


@pytest.mark.parametrize(("editor", "argv", "in_terminal"), PLACES, ids=[row[0] for row in PLACES])
def test_each_editor_gets_line_and_column_in_its_own_syntax(
    editor: str, argv: tuple[str, ...], in_terminal: bool
) -> None:
    assert editor_command(editor, "a.py", 12, 5) == (argv, in_terminal)


def test_a_windows_program_is_known_by_its_name() -> None:
    assert editor_command("code.cmd", "a.py", 1, 1) == (("code.cmd", "--goto", "a.py:1:1"), False)


def test_a_place_before_the_file_begins_is_its_first() -> None:
    assert editor_command("vim", "a.py", 0, 0).argv == ("vim", "+call cursor(1,1)", "a.py")


def test_visual_comes_before_editor_and_neither_is_nothing() -> None:
    assert configured_editor({"VISUAL": "code", "EDITOR": "vi"}) == "code"
    assert configured_editor({"VISUAL": " ", "EDITOR": "vi"}) == "vi"
    assert configured_editor({}) == ""


def test_an_editor_that_fails_leaves_the_draft() -> None:
    assert edit_text("cockpit-has-no-such-editor", "draft")[0] == "draft"
    assert "set $EDITOR" in edit_text("cockpit-has-no-such-editor", "draft")[1]
