"""Arguments put into a skill or a command: each dialect's counting, and nothing read twice."""

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.formats.substitution import Dialect, ExpandedTemplate, TemplateValues, expand_template


def claude(text: str, arguments: str = "", *names: str) -> str:
    return expand_template(text, TemplateValues(arguments, names)).text


@pytest.mark.parametrize(
    ("text", "arguments", "becomes"),
    [
        ("Fix $ARGUMENTS now", 'issue "12 b"', 'Fix issue "12 b" now'),
        ("$ARGUMENTS[0] and $ARGUMENTS[1]", 'a "b c"', "a and b c"),
        ("$0, $1", 'a "b c"', "a, b c"),
        ("$0$1", "a b", "ab"),
        ("$00 $0x", "a", "a $0x"),
        ("Compare $0 with $1", "a.py", "Compare a.py with $1"),
        ("Nothing of it", "x y", "Nothing of it\n\nARGUMENTS: x y"),
        ("It costs $5.\n", "x", "It costs $5.\n\nARGUMENTS: x"),
        ("It costs \\$1.00, not $0", "x y", "It costs $1.00, not x"),
        ("\\$ARGUMENTS is $ARGUMENTS; \\$HOME stays", "x", "$ARGUMENTS is x; \\$HOME stays"),
        ("$ARGUMENTSX {{args}}", "x", "$ARGUMENTSX x"),
        ("as $0", "don't split", "as don't"),
        ("Say $ARGUMENTS.", "", "Say ."),
        ("Nothing", "   ", "Nothing"),
    ],
)
def test_claude_counts_arguments_from_zero(text: str, arguments: str, becomes: str) -> None:
    assert claude(text, arguments) == becomes


def test_named_arguments_are_words_by_their_place() -> None:
    text = "From $old to $old-name, $newer, \\$new and $new."
    assert claude(text, "A B C", "old", "old-name", "new") == "From A to B, $newer, $new and C."
    assert claude("On $branch", "", "issue", "branch") == "On $branch"


@pytest.mark.parametrize(
    ("text", "arguments", "becomes"),
    [
        ("$1 then $2", "a b c d", "a then b c d"),
        ("$1 then $2", "a", "a then "),
        ("All: $ARGUMENTS", "a b", "All: a b"),
        ("Nothing", "a b", "Nothing\n\na b"),
        ("$0 $1", "a", " a"),
    ],
)
def test_opencode_counts_from_one_and_its_last_takes_the_rest(
    text: str, arguments: str, becomes: str
) -> None:
    assert expand_template(text, TemplateValues(arguments, dialect="opencode")).text == becomes


def test_gemini_has_braces_only() -> None:
    text = "Do {{args}} with $1: !{git log --grep={{args}} | awk '{print $1}'} and @{docs/a b.md}"
    expanded = expand_template(text, TemplateValues("it's now", dialect="gemini"))
    assert expanded.commands == ("git log --grep='it'\"'\"'s now' | awk '{print $1}'",)
    assert expanded.files == ("docs/a b.md",)
    filled = expanded.filled({expanded.commands[0]: "LOG"}, {"docs/a b.md": "A"})
    assert filled == "Do it's now with $1: LOG and A"
    behind = expand_template("Plan it.", TemplateValues("the thing", dialect="gemini", name="plan"))
    assert behind.text == "Plan it.\n\n/plan the thing"
    assert expand_template("!{unclosed {", TemplateValues(dialect="gemini")).text == "!{unclosed {"


def test_only_known_variables_are_filled_in() -> None:
    values = TemplateValues(variables={"CLAUDE_SKILL_DIR": "/s k", "CLAUDE_SESSION_ID": "7"})
    text = "Run ${CLAUDE_SKILL_DIR}/x in ${HOME} for ${CLAUDE_SESSION_ID}; \\${CLAUDE_SESSION_ID}"
    assert expand_template(text, values).text == "Run /s k/x in ${HOME} for 7; ${CLAUDE_SESSION_ID}"
    assert expand_template("!`${CLAUDE_SKILL_DIR}/x`", values).commands == ("'/s k'/x",)
    assert expand_template("@${CLAUDE_SKILL_DIR}/x.md", values).files == ("/s k/x.md",)


def test_commands_stand_at_a_beginning_or_after_a_blank() -> None:
    text = "!`git status`\nKEY=!`no` and !`git diff $0` `!`x`\n```!\nnpm test\ngit log\n```\nend"
    expanded = expand_template(text, TemplateValues("a.py"))
    assert expanded.commands == ("git status", "git diff a.py", "npm test\ngit log")
    assert expanded.text == text.replace("$0", "a.py")
    filled = expanded.filled(dict.fromkeys(expanded.commands, "OUT"), {})
    assert filled == "OUT\nKEY=!`no` and OUT `!`x`\nOUT\nend"


def test_files_are_named_and_stand_behind_the_text() -> None:
    text = 'See @src/a.py, (@"b c.md") and @$0. Mail a@b.de, `@code`, @someone\\@x.'
    expanded = expand_template(text, TemplateValues("x.md"))
    assert expanded.files == ("src/a.py", "b c.md", "x.md.", "someone\\@x")
    filled = expanded.filled({}, {"src/a.py": "A", "b c.md": "@x.md $0"})
    assert filled.startswith('See @src/a.py, (@"b c.md") and @x.md.')
    assert filled.endswith("\n\n[@src/a.py]\nA\n\n[@b c.md]\n@x.md $0")


@pytest.mark.parametrize("argument", ["!`rm -rf x`", "$1", "@secret", "$ARGUMENTS", "${CLAUDE_SESSION_ID}"])
@pytest.mark.parametrize("text", ["Do $ARGUMENTS", "Do $0", "Do {{args}}", "Do it", "Do $it"])
def test_inserted_values_are_not_expanded_again(text: str, argument: str) -> None:
    quoted = f'"{argument}"' if text in ("Do $0", "Do $it") else argument
    expanded = expand_template(text, TemplateValues(quoted, ("it",), {"CLAUDE_SESSION_ID": "7"}))
    assert argument in expanded.text
    assert not expanded.commands and not expanded.files


def test_outputs_and_files_are_not_read_again() -> None:
    expanded = expand_template("!`one` @two", TemplateValues("x"))
    filled = expanded.filled({"one": "@two $0 !`three`"}, {"two": "!`one`"})
    assert filled == "@two $0 !`three` @two\n\nARGUMENTS: x\n\n[@two]\n!`one`"


@pytest.mark.parametrize(
    "template",
    [
        "printf %s $0",
        'printf %s "$0"',
        "printf %s '$0'",
        'printf %s "$(printf %s $0)"',
        'printf %s "$(printf %s "$0")"',
        "printf %s \"`printf %s '$0'`\"",
        "true # don't\nprintf %s $0",
        "printf %s \\'$0 | tr -d \\'",
    ],
)
@pytest.mark.parametrize(
    "value", ["a b", "x; echo no", "it's", 'say "hi"', "$(echo no)", "`echo no`", "$HOME", "a\\b", "*", "&&"]
)
def test_value_in_a_command_keeps_its_words(template: str, value: str) -> None:
    if value == "it's" and "\\'" in template:
        value = "its"
    [command] = expand_template(f"```!\n{template}\n```", TemplateValues(_quoted(value))).commands
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert ran.stdout == value


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "'\\''") + "'"


def test_all_arguments_are_words_of_a_command_unless_they_are_quoted() -> None:
    expanded = expand_template(
        '!`npm test $ARGUMENTS` !`echo "$ARGUMENTS"`', TemplateValues("--watch 'a b';rm")
    )
    assert expanded.commands == ("npm test --watch 'a b;rm'", "echo \"--watch 'a b';rm\"")
    assert expand_template("!`npm test $ARGUMENTS`", TemplateValues()).commands == ("npm test",)


def test_powershell_has_its_own_quotes() -> None:
    values = TemplateValues('"it\'s $x" C:/a', shell="powershell")
    expanded = expand_template("!`Get-Item $0` !`echo \"$0\"` !`echo '$0'` !`ls $1`", values)
    assert expanded.commands == (
        "Get-Item 'it''s $x'",
        'echo "it\'s `$x"',
        "echo 'it''s $x'",
        "ls C:/a",
    )


@given(arguments=st.text(max_size=40), dialect=st.sampled_from(["claude", "opencode", "gemini"]))
def test_no_argument_adds_a_command_or_a_file(arguments: str, dialect: Dialect) -> None:
    text = "A !`x $0 $1` $ARGUMENTS {{args}} !{y {{args}}} $it @{z}\n```!\nw\n```\n@f"

    def shape(expanded: ExpandedTemplate) -> tuple[int, int]:
        kinds = [piece.kind for piece in expanded.pieces]
        return kinds.count("command"), kinds.count("file")

    values = TemplateValues(arguments, ("it",), dialect=dialect)
    assert shape(expand_template(text, values)) == shape(
        expand_template(text, TemplateValues(names=("it",), dialect=dialect))
    )
