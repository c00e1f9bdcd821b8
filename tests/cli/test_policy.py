"""`cockpit policy`: verdicts for scripts and for people, in real processes."""

import json
import subprocess
import sys
from pathlib import Path

from tests.support.in_process import cockpit

from cockpit.settings import trust


def rows(out: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in out.splitlines()]


def test_each_json_line_gets_a_verdict(root: Path) -> None:
    given = [
        {"id": "a", "command": "ls"},
        {"id": 2, "command": "rm -rf /", "more": True},
        {"id": "c", "command": "a\0b"},
        {"id": "d", "command": "echo \udce9"},
    ]
    ended = cockpit(
        "policy", "check", "--shell", "bash", "--jsonl", "--root", str(root), "--home", "/home/dev",
        cwd=root, stdin="\n".join(map(json.dumps, given)),
    )  # fmt: skip
    assert ended.code == 0, ended.err
    found = rows(ended.out)
    assert [row["id"] for row in found] == ["a", 2, "c", "d"]
    assert [row["verdict"] for row in found[:3]] == ["safe-readonly", "must-block", "must-block"]
    assert all(row.keys() == {"id", "verdict", "risk", "capabilities", "rules", "reason"} for row in found)


def test_invalid_line_is_named_and_the_others_are_answered(root: Path) -> None:
    lines = ("no json", "", '{"id": "1"}', '["x"]', '{"id": "2", "command": "ls"}', '{"id": 1.5}')
    stdin = "\n".join(lines)
    ended = cockpit("policy", "check", "--shell", "powershell", "--jsonl", cwd=root, stdin=stdin)
    assert ended.code == 2
    assert [row["id"] for row in rows(ended.out)] == ["2"]
    for number in (1, 3, 4, 6):
        assert f"line {number}:" in ended.err
    assert '"id" is 1.5; it must be a string or a whole number' in ended.err
    assert '"command" is missing; it must be a string' in ended.err


def test_paths_are_judged_for_reading_and_writing(root: Path) -> None:
    given = [
        {"id": str(at), "path": path} for at, path in enumerate(("a.py", "/etc/passwd", ".git/config", "a\0"))
    ]
    ended = cockpit(
        "policy", "paths", "--jsonl", "--root", str(root), "--home", str(root.parent),
        cwd=root, stdin="\n".join(map(json.dumps, given)),
    )  # fmt: skip
    assert [(row["read"], row["write"]) for row in rows(ended.out)] == [
        ("allow", "allow"),
        ("confirm", "deny"),
        ("allow", "deny"),
        ("deny", "deny"),
    ]


def test_windows_paths_are_judged_by_their_text(root: Path) -> None:
    stdin = '{"id": "1", "path": "\\\\\\\\host\\\\s\\\\f"}\n{"id": "2", "path": "src\\\\a.py"}\n'
    ended = cockpit(
        "policy", "paths", "--jsonl", "--os", "windows", "--root", "C:\\proj\\ws", "--home", "C:\\Users\\dev",
        cwd=root, stdin=stdin,
    )  # fmt: skip
    assert [(row["read"], row["write"]) for row in rows(ended.out)] == [("deny", "deny"), ("allow", "allow")]


def test_text_output_shows_verdict_reason_and_script(root: Path) -> None:
    ended = cockpit("policy", "check", "--shell", "powershell", "Remove-Item C:\\ -Recurse", cwd=root)
    assert ended.out.startswith("must-block (risk ") and "it removes C:\\" in ended.out
    ended = cockpit("policy", "explain", "--shell", "bash", "git diff HEAD", cwd=root)
    assert "1. git diff" in ended.out and "what would run: git diff --no-ext-diff" in ended.out
    ended = cockpit("policy", "rules", "--json", cwd=root)
    assert all(row.keys() == {"id", "level", "source"} for row in json.loads(ended.out))
    assert "\x1b" not in cockpit("policy", "check", "--shell", "powershell", "a \x1b[31m", cwd=root).out


def test_bad_rule_file_is_refused_and_untrusted_one_is_not_read(root: Path) -> None:
    (root / ".cockpit").mkdir()
    (root / ".cockpit" / "policy.yaml").write_text("rules:\n  - id: x\n    level: nonsense\n")
    assert cockpit("policy", "check", "--shell", "bash", "ls", cwd=root).code == 0, "nobody trusts it yet"
    trust.save_trust(str(root), True)
    ended = cockpit("policy", "check", "--shell", "bash", "ls", cwd=root)
    assert ended.code == 2
    assert "policy.yaml:" in ended.err and any(f":{line}" in ended.err for line in (2, 3)), ended.err


def test_policy_loads_neither_screen_nor_provider() -> None:
    script = (
        "import sys; from cockpit.cli.main import main\n"
        "main(['policy', 'check', '--shell', 'powershell', 'ls'])\n"
        "print(sorted({'textual', 'openai', 'mcp', 'keyring'} & set(sys.modules)))"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == "[]"


def test_policy_needs_either_a_command_or_lines(root: Path) -> None:
    assert cockpit("policy", "check", cwd=root).code == 2
    assert cockpit("policy", "check", "--jsonl", "ls", cwd=root).code == 2
    assert cockpit("policy", "paths", cwd=root).code == 2
