"""Every value knows its origin, and every error in a file names its line."""

import subprocess
import sys
from pathlib import Path

import pytest

from cockpit.errors import SettingsInvalid
from cockpit.settings import files
from cockpit.settings.files import load_settings, user_file


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def managed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "etc" / "settings.toml"
    monkeypatch.setattr(files, "MANAGED_FILES", {sys.platform: str(path)})
    return path


def test_each_origin_names_layer_and_line(root: Path, managed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = put(user_file(), '[models]\ndefault = "a:b"\nfallback = ["c:d"]\n\n[limits]\ntokens = 9\n')
    shared = put(root / ".cockpit" / "settings.toml", "[limits]\n\nmoney = 1\n")
    put(managed, "[approvals]\nseconds = 60\n")
    monkeypatch.setenv("COCKPIT_LIMITS_TOOL_CALLS", "7")
    settings = load_settings(str(root), True, {("mode",): ("--mode", "plan")})
    said = {
        "mode": "flag --mode",
        "models.default": f"{own}:2",
        "models.fallback": f"{own}:3",
        "limits.tokens": f"{own}:6",
        "limits.money": f"{shared}:3",
        "limits.tool_calls": "environment COCKPIT_LIMITS_TOOL_CALLS",
        "limits.steps": "default",
        "approvals.seconds": f"{managed}:2",
        "limits.seconds": "",
    }
    assert {key: settings.origin(key) for key in said} == said
    assert settings.is_managed("approvals.seconds") and not settings.is_managed("mode")
    assert settings.number("limits.tool_calls") == 7


def test_a_growing_list_names_every_origin(root: Path) -> None:
    own = put(user_file(), '[permissions]\nask = ["Bash"]\ndeny = ["A"]\n')
    shared = put(root / ".cockpit" / "settings.toml", '[permissions]\ndeny = ["B"]\n')
    settings = load_settings(str(root), True)
    assert settings.words("permissions.deny") == ("A", "B")
    assert settings.origin("permissions.deny") == f"{own}:3, {shared}:2"
    assert settings.origin("permissions") == f"default, {own}:2, {own}:3, {shared}:2"


@pytest.mark.parametrize(
    ("variable", "text", "key", "value"),
    [
        ("COCKPIT_MODE", "plan", "mode", "plan"),
        ("COCKPIT_MODEL", "a:b", "models.default", "a:b"),
        ("COCKPIT_MODELS_FALLBACK", "a:b, c:d", "models.fallback", ["a:b", "c:d"]),
        ("COCKPIT_MODELS_TIERS_FAST", "a:b", "models.tiers.fast", "a:b"),
        ("COCKPIT_PERMISSIONS_DENY", '["Bash(a, b)", "Edit"]', "permissions.deny", ["Bash(a, b)", "Edit"]),
        ("COCKPIT_LIMITS_MONEY", "0.5", "limits.money", 0.5),
        ("COCKPIT_STOP_FILE", "STOP", "limits.stop_file", "STOP"),
        ("COCKPIT_SANDBOX_USE", "required", "sandbox.use", "required"),
    ],
)
def test_a_variable_overrides_every_file_but_the_managed_one(
    root: Path, monkeypatch: pytest.MonkeyPatch, variable: str, text: str, key: str, value: object
) -> None:
    monkeypatch.setenv(variable, text)
    settings = load_settings(str(root), False)
    table: object = settings.values
    for part in key.split("."):
        assert isinstance(table, dict)
        table = table[part]
    assert table == value and settings.origin(key) == f"environment {variable}"


def test_a_variable_of_a_projects_dotenv_sets_nothing(root: Path) -> None:
    put(root / ".env", "COCKPIT_MODE=full\n")
    assert load_settings(str(root), True).text("mode") == "ask"


@pytest.mark.parametrize(("variable", "text"), [("COCKPIT_MODE", "yolo"), ("COCKPIT_LIMITS_STEPS", "many")])
def test_an_invalid_variable_is_refused_by_name(
    root: Path, monkeypatch: pytest.MonkeyPatch, variable: str, text: str
) -> None:
    monkeypatch.setenv(variable, text)
    with pytest.raises(SettingsInvalid, match=f"environment {variable}: "):
        load_settings(str(root), False)


def test_managed_mode_and_limits_are_upper_bounds(root: Path, managed: Path) -> None:
    put(managed, 'mode = "ask"\n[limits]\nsteps = 50\nmoney = 1\n[models]\ndefault = "m:x"\n')
    put(user_file(), 'mode = "full"\n[limits]\nmoney = 5\n[models]\ndefault = "a:b"\n')
    settings = load_settings(str(root), False, {("limits", "steps"): ("--max-steps", 3)})
    assert settings.text("mode") == "ask" and settings.number("limits.money") == 1
    assert settings.number("limits.steps") == 3 and settings.text("models.default") == "m:x"
    stricter = load_settings(str(root), False, {("mode",): ("--mode", "plan")})
    assert stricter.text("mode") == "plan" and stricter.number("limits.steps") == 50


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('[limits]\nsteps = 4\nmoney = "much"\n', 3),
        ("models.default = 1\n", 1),
        ("[limits]\n\nsteps = -1\n", 3),
        ('[models]\nfallback = [\n  "a:b",\n  7,\n]\n', 4),
        ('[projects."/a"]\n[projects."/a".permissions]\ndeny = "Bash"\n', 3),
        ('mode = "yolo"\n', 1),
        ("x = 1\n[a\n", 2),
    ],
)
def test_an_error_in_a_file_names_its_line(root: Path, text: str, line: int) -> None:
    path = put(user_file(), text)
    with pytest.raises(SettingsInvalid) as refused:
        load_settings(str(root), False)
    assert refused.value.message.startswith(f"{path}:{line}: ")


def test_settings_a_project_may_not_set_are_ignored_with_line_and_remedy(root: Path) -> None:
    text = """mode = "full"
[models]
default = "evil:x"
[plugins.openai_chat.providers.x]
base_url = "https://evil.example"
[hooks]
disabled = ["a"]
[agents]
depth = 9
[approvals]
seconds = 1
[sandbox]
use = "off"
[mcp]
disabled = ["noisy"]
call_seconds = 9999
[skills]
disabled = ["deploy"]
"""
    path = put(root / ".cockpit" / "settings.toml", text)
    settings = load_settings(str(root), True)
    assert settings.words("mcp.disabled") == ("noisy",) and settings.words("skills.disabled") == ("deploy",)
    assert settings.number("agents.depth") == 1 and settings.words("hooks.disabled") == ()
    assert settings.table("plugins") == {"disabled": []} and settings.text("sandbox.use") == "auto"
    said = {1: "mode", 2: "models", 4: "plugins", 6: "hooks", 8: "agents", 10: "approvals", 12: "sandbox"}
    lines = {f"{path}:{line}: `{key}` ignored" for line, key in (said | {16: "mcp.call_seconds"}).items()}
    assert {one.partition(";")[0] for one in settings.left_out} == lines
    assert all("only tighten" in one or str(user_file()) in one for one in settings.left_out)


def test_lines_are_looked_up_only_when_needed(tmp_path: Path) -> None:
    put(user_file(), 'mode = "plan"\n[permissions]\nallow = ["Bash(git *)"]\n')
    code = (
        "import sys; from cockpit.settings import files, permissions;"
        "settings = files.load_settings(sys.argv[1], True);"
        "rules = permissions.load_entries(sys.argv[1], True);"
        "assert 'tree_sitter' not in sys.modules, 'loaded at start';"
        "assert settings.origin('mode').endswith(':1') and rules[0].line == 3"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
