"""Rule files: their form, their errors, and who may loosen rules."""

import os
import sys
from pathlib import Path

import pytest

from cockpit.errors import SettingsInvalid
from cockpit.safety.engine import judge_line
from cockpit.safety.policy import load_rules, verify_examples
from cockpit.safety.rules import compiled_rules
from cockpit.safety.rules.rule import RuleSet
from cockpit.safety.rules.yaml_reader import parse_rules
from cockpit.safety.values import ExecutionContext

CONTEXT = ExecutionContext(root="/proj/ws", home="/home/dev")
MINE = """rules:
  - id: mine.tool
    level: allow
    argv:
      program: mytool
      options_allow: [-v, "--depth=NUMBER"]
      positional: [READ_PATH]
    reason: it only looks
    examples:
      match: ["mytool -v a.txt"]
      not_match: ["mytool --fix a.txt", "mytool ~/.ssh/id_rsa"]
"""


def level(text: str, rules: RuleSet) -> str:
    return judge_line(text, "bash", CONTEXT, rules).verdict.level


def file(folder: Path, text: str) -> Path:
    path = folder / "policy.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_example_of_the_built_in_rules_holds() -> None:
    rules = load_rules()
    verify_examples(rules, rules.rules)
    assert sum(len(rule.match) for rule in rules.rules) > 80


def test_the_compiled_rules_are_those_of_the_yaml_files() -> None:
    again = "run `python -m cockpit.safety.rules.compiled_rules`"
    found = compiled_rules.load_compiled(compiled_rules.list_sources())
    assert found is not None, again
    wanted = [
        item
        for path in compiled_rules.list_sources()
        for item in parse_rules(path.read_text(encoding="utf-8"), path.name)
    ]
    assert [(item.id, item.options, item.match) for item in found] == [
        (item.id, item.options, item.match) for item in wanted
    ]


def test_without_files_the_built_in_rules_hold_and_yaml_stays_unloaded() -> None:
    import subprocess

    script = (
        "import sys; from pathlib import Path; from cockpit.safety.policy import load_rules;"
        "load_rules(Path('/none'));"
        "assert not {'yaml', 'tree_sitter', 'tree_sitter_bash'} & set(sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_user_rule_allows_only_its_listed_options(tmp_path: Path) -> None:
    rules = load_rules(user=file(tmp_path, MINE))
    assert level("mytool -v a.txt", rules) == "allow"
    assert level("mytool --depth=3 a.txt", rules) == "allow"
    assert level("mytool --dep=3 a.txt", rules) == "ask"
    assert level("mytool a.txt > b", rules) == "ask"
    assert level("mytool a.txt", load_rules()) == "ask"
    assert level("mytool ~/.ssh/id_rsa", rules) == "deny"


def test_a_user_overrides_a_rule_by_its_id(tmp_path: Path) -> None:
    text = """rules:
  - id: run.tests
    level: allow
    argv: {program: pytest, options_allow: [-q, -x], positional: [READ_PATH]}
    reason: my tests are harmless
    examples: {match: ["pytest -q tests"], not_match: ["pytest -p evil"]}
"""
    rules = load_rules(user=file(tmp_path, text))
    assert level("pytest -q tests", rules) == "allow"
    assert level("pytest -p evil", rules) == "ask"


def test_no_rule_lifts_a_built_in_deny(tmp_path: Path) -> None:
    text = """rules:
  - id: mine.rm
    level: allow
    argv: {program: rm, options_allow: [-rf], positional: [READ_PATH, ANY]}
    reason: x
"""
    assert level("rm -rf /", load_rules(user=file(tmp_path, text))) == "deny"


def test_project_rule_that_loosens_is_left_out_with_a_message(tmp_path: Path) -> None:
    text = """rules:
  - {id: no.make, level: deny, argv: {program: make}, reason: "here it publishes", examples: {match: [make]}}
  - {id: read.text, level: ask, argv: {program: cat}, reason: "cat is asked about here"}
  - {id: all.curl, level: allow, argv: {program: curl, positional: [ANY]}, reason: x}
  - {id: no.make2, level: ask, argv: {program: ls}, reason: x}
"""
    rules = load_rules(project=file(tmp_path, text))
    assert level("make", rules) == "deny"
    assert level("cat a", rules) == "ask"
    assert level("ls", rules) == "ask"
    assert level("curl https://x.test", rules) == "ask"
    assert len(rules.left_out) == 1
    assert "all.curl" in rules.left_out[0]
    assert level("make", load_rules()) == "ask"


def test_a_project_cannot_replace_a_rule_of_the_user(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("rules:\n  - {id: no.make, level: deny, argv: {program: make}, reason: no}\n")
    theirs = file(tmp_path, "rules:\n  - {id: no.make, level: ask, argv: {program: make}, reason: well}\n")
    rules = load_rules(user=mine, project=theirs)
    assert level("make", rules) == "deny"
    assert rules.left_out


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("rules:\n  - id: a\n    level: allow\n    argv: {program: x}\n    reasn: x\n", 5, "reasn"),
        ("rules:\n  - id: a\n    level: maybe\n    argv: {program: x}\n    reason: x\n", 3, "maybe"),
        ("rules:\n  - id: a\n    level: ask\n    argv: {programs: x}\n    reason: x\n", 4, "programs"),
        ("rules:\n\n  - id: a\n    level: ask\n    reason: x\n", 3, "argv"),
        ("rules:\n  - {id: a, level: ask, argv: {program: x}, reason: x, risk: 300}\n", 2, "risk"),
        ("rules:\n  - {id: a, level: ask, argv: {program: x}, reason: x, capabilities: [fly]}\n", 2, "fly"),
        ("rules: [\n", 2, "YAML"),
        ("rules:\n  - {id: a, level: allow, argv: {program: '*'}, reason: x}\n", 2, "must name its programs"),
        (
            "rules:\n  - {id: a, level: ask, argv: {program: x}, reason: x}\n  - {id: a, level: "
            "ask, argv: {program: y}, reason: x}\n",
            3,
            "line 2",
        ),
        (
            "rules:\n  - id: a\n    level: ask\n    argv: {program: x}\n    reason: x\n    "
            "examples: {match: [y]}\n",
            2,
            "does not match",
        ),
        (
            "rules:\n  - id: a\n    level: ask\n    argv: {program: x}\n    reason: x\n    "
            "examples: {not_match: [x]}\n",
            2,
            "matches",
        ),
        (
            "rules:\n  - {id: a, level: allow, argv: {program: x, positional: [PATHS]}, reason: x}\n",
            2,
            "PATHS",
        ),
    ],
)
def test_a_bad_file_names_itself_and_the_line(tmp_path: Path, text: str, line: int, word: str) -> None:
    path = file(tmp_path, text)
    with pytest.raises(SettingsInvalid) as fault:
        load_rules(user=path)
    assert f"{path}:{line}:" in str(fault.value)
    assert word in str(fault.value)


def test_missing_rule_file_adds_nothing(tmp_path: Path) -> None:
    assert load_rules(tmp_path / "none.yaml", tmp_path / "none2.yaml") == load_rules()


def test_rule_file_is_parsed_again_only_when_its_text_changes(tmp_path: Path) -> None:
    path = file(tmp_path, MINE)
    first = load_rules(user=path)
    assert load_rules(user=path) is first
    file(tmp_path, MINE.replace("mytool", "other"))
    assert level("mytool -v a.txt", load_rules(user=path)) == "ask"
    path.unlink()
    assert load_rules(user=path) == load_rules()


def test_pipe_in_place_of_a_rule_file_is_an_error_at_once(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    os.mkfifo(path)
    with pytest.raises(SettingsInvalid, match="not a regular file"):
        load_rules(project=path)
