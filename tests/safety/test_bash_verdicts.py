"""Verdicts on bash lines: our own table, the public corpus, and the parts of a verdict."""

import json
from pathlib import Path

import pytest

from cockpit.plugin.safety import Level
from cockpit.safety.bash.line_verdict import judge_argv
from cockpit.safety.engine import judge_line
from cockpit.safety.policy import load_rules
from cockpit.safety.values import ExecutionContext, JudgedLine

HERE = Path(__file__).parent
GROUND = ExecutionContext(root="/proj/ws", home="/home/dev")
HELD = ExecutionContext(root="/proj/ws", home="/home/dev", sandbox=True)
CORPUS = HERE.parents[2] / "shared" / "corpora" / "shell_bash.jsonl"
NAMES = {"allow": "safe-readonly", "ask": "needs-confirm", "deny": "must-block"}
RANK = ["safe-readonly", "needs-confirm", "must-block"]


def judged(text: str, ground: ExecutionContext = GROUND) -> JudgedLine:
    return judge_line(text, "bash", ground, load_rules())


def lines(level: str) -> list[str]:
    """The table for a level; ⏎ stands for a new line."""
    text = (HERE / f"bash_{level}.txt").read_text(encoding="utf-8")
    return [line.replace("⏎", "\n") for line in text.splitlines()]


@pytest.mark.parametrize("level", ["allow", "ask", "deny"])
def test_no_line_of_our_table_is_judged_otherwise(level: Level) -> None:
    wrong = {line: judged(line).verdict for line in lines(level)}
    wrong = {line: verdict for line, verdict in wrong.items() if verdict.level != level}
    assert {line: (verdict.level, verdict.reason) for line, verdict in wrong.items()} == {}


def test_the_table_holds_at_least_250_lines() -> None:
    assert sum(len(lines(level)) for level in ("allow", "ask", "deny")) >= 250


def test_hold_for_the_public_corpus_where_present() -> None:
    if not CORPUS.exists():
        assert lines("deny"), "without the corpus our own table must be there"
        return
    wrong = []
    for record in map(json.loads, CORPUS.read_text(encoding="utf-8").splitlines()):
        got = RANK.index(NAMES[judged(record["command"]).verdict.level])
        if not RANK.index(record["floor"]) <= got <= RANK.index(record["ceiling"]):
            wrong.append((record["command"], RANK[got], record["expected"]))
    assert wrong == []


def test_with_the_sandbox_no_read_of_the_corpus_asks() -> None:
    reads = ["node -v", "python3 --version", "find . -name '*.py' | xargs grep -n foo", "pytest --version"]
    if CORPUS.exists():
        records = map(json.loads, CORPUS.read_text(encoding="utf-8").splitlines())
        reads += [one["command"] for one in records if one["benign"] and one["expected"] == "safe-readonly"]
    assert [line for line in reads if judged(line, HELD).verdict.level != "allow"] == []


def test_a_nul_is_refused_and_hidden_characters_are_named_and_asked_about() -> None:
    assert judged("ls\0 -la").verdict.level == "deny"
    for sign, name in (("\r", "U+000D"), ("\u202e", "U+202E"), ("\u200b", "U+200B"), ("\u00a0", "U+00A0")):
        verdict = judged(f"ls{sign} -la").verdict
        assert verdict.level == "ask"
        assert verdict.user_only
        assert name in verdict.reason
    assert judged("rm -rf /\u200b").verdict.level == "deny"


def test_a_decision_says_what_why_and_what_else() -> None:
    verdict = judged("pytest -q && curl https://example.org/x && rm -r dist").verdict
    assert verdict.level == "ask"
    assert verdict.capabilities == {"code.exec", "net.egress", "fs.delete", "fs.write"}
    assert verdict.destination == "example.org"
    assert verdict.sandbox == "net"
    assert [part.shape for part in verdict.parts] == ["pytest *", "curl https://example.org/x", ""]
    assert "delete tool" in verdict.parts[2].alternative
    assert verdict.parts[2].writes == ("/proj/ws/dist",)
    assert not verdict.may_remember


def test_the_profile_of_a_line_is_the_least_it_can_run_in() -> None:
    assert judged("ls").verdict.sandbox == "read"
    assert judged("make").verdict.sandbox == "build"
    assert judged("npm install").verdict.sandbox == "net"
    assert judged("sudo ls").verdict.sandbox == "none"


def test_nothing_may_be_remembered_of_what_is_dangerous() -> None:
    for line in (
        "sudo make",
        "rm -r dist",
        "cat .env",
        "echo x > /tmp/y",
        "git -c core.editor=x commit",
        "env",
    ):
        assert [part.shape for part in judged(line).verdict.parts if part.shape] == [], line


def test_what_may_be_remembered_is_a_program_with_its_subcommand() -> None:
    shapes = {
        "npm run build": "npm run build *",
        "git commit -m x": "git commit *",
        "make test": "make test",
        "pytest -q 2>&1 | tail -5": "pytest *",
    }
    for line, shape in shapes.items():
        assert judged(line).verdict.parts[0].shape == shape
    for line in ("uv run pytest -q", "timeout 60 pytest -q"):
        assert judged(line).verdict.may_remember, line
    for line in ("bash -c 'pytest -q'", "sudo pytest", "find . -exec pytest {} ;"):
        assert not judged(line).verdict.may_remember, line


def test_words_that_are_only_known_later_are_none() -> None:
    part = judged("make $TARGET").verdict.parts[0]
    assert part.argv == ("make", None)


def test_an_argv_is_judged_as_what_it_is_and_not_as_text() -> None:
    assert judge_argv(("echo", "$(rm -rf /)"), GROUND, load_rules()).verdict.level == "allow"
    assert judge_argv(("rm", "-rf", "/"), GROUND, load_rules()).verdict.level == "deny"


def test_a_link_that_leaves_the_workspace_is_no_safe_read(tmp_path: Path) -> None:
    root, outside = tmp_path / "ws", tmp_path / "outside.txt"
    root.mkdir()
    outside.write_text("secret")
    (root / "plain.txt").write_text("plain")
    (root / "link.txt").symlink_to(outside)
    ground = ExecutionContext(root=str(root.resolve()), home=str(tmp_path.resolve()))
    assert judged("cat plain.txt", ground).verdict.level == "allow"
    assert judged("cat link.txt", ground).verdict.level == "ask"
    assert judged("cat *.txt", ground).verdict.level == "ask"


def test_a_file_whose_name_is_an_option_makes_a_bare_pattern_ask(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    ground = ExecutionContext(root=str(tmp_path.resolve()), home="/home/dev")
    assert judged("sort *", ground).verdict.level == "allow"
    (tmp_path / "--output=x").write_text("x")
    assert judged("sort *", ground).verdict.level == "ask"
    assert judged("sort ./*", ground).verdict.level == "allow"


@pytest.mark.parametrize(
    ("line", "shape"), [("pytest -q > src/a.py", ""), ("pytest -q > /dev/null", "pytest *")]
)
def test_leave_to_run_a_command_is_no_leave_to_write_where_its_output_goes(line: str, shape: str) -> None:
    assert judged(line).verdict.parts[0].shape == shape


@pytest.mark.parametrize(
    ("line", "shape"),
    [
        ("git push origin main", "git push origin main"),
        ("git push --force origin main", ""),
        ("git branch new", "git branch *"),
        ("git branch -D main", ""),
        ("git tag -d v1", ""),
        ("npm install", "npm install"),
        ("pip install flask", "pip install flask"),
        ("rm -r dist", ""),
    ],
)
def test_one_yes_covers_no_loss_and_nothing_that_was_not_named(line: str, shape: str) -> None:
    assert judged(line).verdict.parts[0].shape == shape


@pytest.mark.parametrize(
    ("line", "where"),
    [
        ("git push", "the configured remote"),
        ("git push -u origin main", "origin"),
        ("ls && git clone https://example.org/x.git", "https://example.org/x.git"),
        ("curl -s https://example.org/x", "example.org"),
        ("git commit -m x", ""),
    ],
)
def test_the_destination_is_named(line: str, where: str) -> None:
    assert judged(line).verdict.destination == where
