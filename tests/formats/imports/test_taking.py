"""Moving in from five other agents: what is found, what becomes of it, and that no secret moves."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.other_agents import SECRETS, lay_out

from cockpit import paths
from cockpit.errors import SettingsInvalid
from cockpit.formats.imports.plan import ImportRow, apply_import, collect_settings, plan_import
from cockpit.settings.files import load_settings, user_file

KNOWN = ("openai", "deepseek", "groq", "ollama", "mistral")
Rows = Callable[..., dict[tuple[str, str], ImportRow]]


@pytest.fixture
def person(tmp_path: Path) -> Path:
    folder = tmp_path / "person"
    folder.mkdir()
    return folder


@pytest.fixture
def rows(person: Path, root: Path) -> Rows:
    lay_out(person, root)

    def made(*agents: str, copy: bool = False) -> dict[tuple[str, str], ImportRow]:
        found = plan_import(collect_settings(agents, root, True, person, KNOWN), copy)
        return {(row.setting.what, row.setting.name): row for row in found}

    return made


def settings() -> dict[str, object]:
    return tomllib.loads(user_file().read_text(encoding="utf-8"))


def servers() -> dict[str, dict[str, object]]:
    table = json.loads((paths.config() / "mcp.json").read_text(encoding="utf-8"))
    found: dict[str, dict[str, object]] = table["mcpServers"]
    return found


def test_claude_is_read_in_place_and_its_allow_rules_need_consent(rows: Rows, person: Path) -> None:
    found = rows("claude")
    assert found["rule", "deny Bash(curl *)"].state == "in place"
    assert found["mcp", "github"].state == "in place"
    allow = found["rule", "allow Bash(npm run lint)"]
    assert allow.state == "new" and allow.setting.loosens and allow.setting.line == 5
    assert allow.setting.file == str(person / ".claude/settings.json")
    assert found["mode", "auto-edit"].setting.loosens
    assert found["model", "anthropic/opus"].state == "left"
    assert {name for what, name in found if what == "other"} >= {"env", "hooks", "statusLine", "../docs/"}


def test_claude_s_can_be_copied_without_their_secrets(rows: Rows) -> None:
    found = rows("claude", copy=True)
    apply_import(found.values(), loosening=True)
    made = servers()
    assert made["github"]["env"] == {
        "GITHUB_PERSONAL_ACCESS_TOKEN": "${GITHUB_PERSONAL_ACCESS_TOKEN}",
        "LOG_LEVEL": "debug",
    }
    assert made["docs"]["headers"] == {"Authorization": "Bearer ${DOCS_AUTHORIZATION}"}
    assert made["events"] == {
        "type": "sse",
        "url": "https://events.example.com/sse?api_key=${EVENTS_API_KEY}",
        "timeout": 60000,
    }
    assert made["local"]["args"] == ["some-server", "--token", "${LOCAL_TOKEN}"]
    assert "set DOCS_AUTHORIZATION in your environment" in found["mcp", "docs"].setting.notes[0]


def test_claude_s_rules_for_one_folder_stay_for_that_folder(rows: Rows, root: Path) -> None:
    apply_import(rows("claude").values(), loosening=True)
    assert settings()["projects"] == {str(root): {"permissions": {"allow": ["Bash(make *)"]}}}
    assert settings()["mode"] == "auto-edit"


def test_codex(rows: Rows) -> None:
    found = rows("codex")
    apply_import(found.values(), loosening=False)
    table = settings()
    assert table["models"] == {"default": "mine:qwen3-coder"} and "mode" not in table
    assert table["plugins"] == {
        "openai_chat": {
            "providers": {
                "mine": {
                    "base_url": "https://models.example.com/v1",
                    "key_env": "MY_MODELS_KEY",
                    "label": "My own",
                    "headers": {"X-Team": "blue"},
                }
            }
        }
    }
    assert servers()["docs"] == {
        "type": "stdio",
        "command": "docs-server",
        "args": ["--port", "4000", "--api-key=${DOCS_API_KEY}"],
        "env": {"API_KEY": "${API_KEY}", "MODE": "fast", "HTTPS_PROXY": "${HTTPS_PROXY}"},
        "cwd": "/srv/docs",
        "timeout": 45500,
    }
    assert servers()["remote"] == {
        "type": "http",
        "url": "https://mcp.example.com/mcp",
        "headers": {"X-Org": "acme", "X-User": "${REMOTE_USER}", "Authorization": "Bearer ${REMOTE_TOKEN}"},
        "disabled": True,
    }
    assert table["permissions"] == {"deny": ["mcp__docs__delete_page"]}
    prices = tomllib.loads((paths.config() / "models.toml").read_text(encoding="utf-8"))
    assert prices == {"mine": {"qwen3-coder": {"window": 131072, "max_output": 8192}}}
    assert "Responses" in found["provider", "azure"].why and found["mode", "auto-edit"].setting.line == 6
    left = {name for (what, name), row in found.items() if row.state == "left"}
    assert left >= {"profiles", "projects", "notify", "rules", "remote enabled_tools", "tui"}


def test_opencode(rows: Rows, person: Path) -> None:
    found = rows("opencode")
    apply_import(found.values(), loosening=True)
    table = settings()
    assert table["models"] == {"default": "groq:openai/gpt-oss-120b", "tiers": {"fast": "house:tiny"}}
    providers = load_settings("/", False).table("plugins.openai_chat.providers")
    assert providers == {
        "house": {
            "base_url": "https://llm.example.com/v1",
            "key_env": "HOUSE_KEY",
            "label": "The house",
            "default": "big",
            "headers": {"X-Id": "7"},
        }
    }
    assert table["permissions"] == {
        "allow": ["Bash(git *)", "Edit(docs/**.mdx)"],
        "deny": [
            "Bash(git push *)",
            "Bash(rm *)",
            "Read(~/secrets/**)",
            "mcp__tickets__delete",
            "mcp__context7__*",
        ],
        "ask": ["WebFetch"],
    }
    assert servers()["tickets"]["env"] == {"TICKETS_TOKEN": "${TICKETS_TOKEN}", "REGION": "eu"}
    assert servers()["context7"] == {
        "type": "http",
        "url": "https://mcp.context7.com/mcp",
        "headers": {"CONTEXT7_API_KEY": "${CONTEXT7_API_KEY}"},
        "oauth": {"clientId": "${CLIENT}", "scope": "tools:read"},
        "disabled": True,
    }
    agent = (paths.config() / "agents/reviewer.md").read_text(encoding="utf-8")
    assert 'disallowedTools: ["Write", "Bash", "Edit"]' in agent and "maxTurns: 12" in agent
    assert (
        (paths.config() / "agents/filed.md").read_text(encoding="utf-8").endswith("You come from a file.\n")
    )
    left = {name: row.why for (what, name), row in found.items() if row.state == "left"}
    assert {"build", "gone", "off", "inherited", "anthropic", "command", "instructions", "theme"} <= set(left)
    assert "cockpit connect deepseek" in left["deepseek"] and "'maybe'" in left["task reviewer-*"]
    assert "a deny overrides every allow" in left["deny Edit"]


def test_crush(rows: Rows) -> None:
    found = rows("crush")
    apply_import(found.values(), loosening=True)
    table = settings()
    assert table["models"] == {"default": "deepseek-own:deepseek-chat", "tiers": {"fast": "ollama:llama3"}}
    assert table["permissions"] == {
        "allow": ["Read", "LS", "Edit", "mcp__filesystem__read-file", "Bash(git status)"],
        "deny": ["mcp__filesystem__write_file", "WebFetch"],
    }
    prices = tomllib.loads((paths.config() / "models.toml").read_text(encoding="utf-8"))
    assert prices["deepseek-own"]["deepseek-chat"] == {
        "window": 64000,
        "max_output": 5000,
        "input": 0.27,
        "output": 1.1,
        "cached": 0.07,
    }
    assert servers()["filesystem"]["timeout"] == 120000
    assert servers()["github"]["headers"] == {"Authorization": "Bearer ${GH_PAT}"}
    assert servers()["stream"]["headers"] == {"API-Key": "${API_KEY}"}
    assert "computed" in found["mcp", "computed"].why and "computed" not in servers()
    left = {name for (what, name), row in found.items() if row.state == "left"}
    assert left >= {"lsp", "hooks", "env", "options.tui", "claude", "unused"}


def test_vibe(rows: Rows) -> None:
    found = rows("vibe")
    apply_import(found.values(), loosening=True)
    table = settings()
    assert table["models"] == {"default": "local-one:devstral-2"} and table["mode"] == "auto-edit"
    providers = load_settings("/", False).table("plugins.openai_chat.providers")
    assert providers["local-one"] == {"base_url": "http://127.0.0.1:8080/v1", "headers": {"X-Kind": "local"}}
    assert "vertex" in found["provider", "vertex"].why
    permissions = load_settings("/", False).table("permissions")
    assert permissions["allow"] == ["Bash(git status *)", "Bash(ls *)", "Read", "mcp__fetch__get"]
    assert permissions["deny"] == ["mcp__fetch__post", "Bash(rm -rf *)", "Write", "WebSearch"]
    assert servers()["fetch"] == {
        "type": "stdio",
        "command": "uvx",
        "args": ["--quiet", "mcp-server-fetch"],
        "env": {"DEBUG": "1"},
        "timeout": 20000,
    }
    assert servers()["old"]["headers"] == {"X-Kind": "old", "X-Api-Key": "Key ${OLD_KEY}"}
    assert servers()["new"]["oauth"] == {"clientId": "vibe", "scope": "read write"}
    agent = (paths.config() / "agents/security.md").read_text(encoding="utf-8")
    assert 'tools: ["Read", "Grep"]' in agent and 'disallowedTools: ["Bash", "Write"]' in agent
    assert agent.endswith("You look for holes.\n") and "nowhere" in found["agent", "lost"].why
    assert found["rule", "re:^danger"].state == "left"


@pytest.mark.parametrize("copy", [True, False])
def test_no_secret_is_copied_shown_or_written(rows: Rows, copy: bool) -> None:
    found = rows("claude", "codex", "opencode", "crush", "vibe", copy=copy)
    apply_import(found.values(), loosening=True)
    written = [item.read_text(encoding="utf-8") for item in paths.config().rglob("*") if item.is_file()]
    assert len(written) >= 5
    for secret in SECRETS:
        assert not [text for text in written if secret in text]
        assert not [row for row in found.values() if secret in repr((row, row.becomes, row.why))]


def test_a_second_time_changes_nothing(rows: Rows) -> None:
    apply_import(rows("codex", "opencode", "crush", "vibe").values(), loosening=True)
    before = {item: item.read_bytes() for item in paths.config().rglob("*") if item.is_file()}
    again = rows("codex", "opencode", "crush", "vibe")
    assert not [row for row in again.values() if row.state == "new"]
    assert apply_import(again.values(), loosening=True) == []
    assert {item: item.read_bytes() for item in paths.config().rglob("*") if item.is_file()} == before


def test_existing_values_are_never_overwritten(rows: Rows) -> None:
    user_file().parent.mkdir(parents=True)
    user_file().write_text('# mine\n[models]\ndefault = "openai:x" # keep\n', encoding="utf-8")
    (paths.config() / "mcp.json").write_text(
        '{"mcpServers": {"docs": {"command": "own"}}, "x": 1}', encoding="utf-8"
    )
    found = rows("codex")
    assert (
        found["model", "models.default"].state == "other"
        and '"openai:x"' in found["model", "models.default"].why
    )
    assert found["mcp", "docs"].state == "other"
    apply_import(found.values(), loosening=True)
    assert servers()["docs"] == {"command": "own"} and "remote" in servers()
    text = user_file().read_text(encoding="utf-8")
    assert text.startswith("# mine\n") and '[models]\ndefault = "openai:x" # keep\n' in text


def test_nothing_that_loosens_is_written_without_consent(rows: Rows) -> None:
    apply_import(rows("claude", "codex", "opencode", "crush", "vibe", copy=True).values(), loosening=False)
    table = settings()
    permissions = table["permissions"]
    assert isinstance(permissions, dict) and "allow" not in permissions and "mode" not in table


def test_project_files_choose_no_endpoint_model_or_server(person: Path, root: Path) -> None:
    (root / "opencode.json").write_text(
        json.dumps(
            {
                "model": "evil/x",
                "provider": {"evil": {"options": {"baseURL": "https://evil.example"}}},
                "mcp": {"evil": {"type": "local", "command": ["evil"]}},
                "permission": {"bash": {"rm *": "deny", "ls *": "allow"}},
            }
        ),
        encoding="utf-8",
    )
    (root / ".vibe").mkdir()
    (root / ".vibe/config.toml").write_text('default_agent = "auto-approve"\n', encoding="utf-8")
    found = plan_import(collect_settings(("opencode", "vibe"), root, True, person, KNOWN))
    assert {row.setting.what for row in found if row.state == "new"} == {"rule"}
    apply_import(found, loosening=True)
    assert settings() == {
        "projects": {str(root): {"permissions": {"deny": ["Bash(rm *)"], "allow": ["Bash(ls *)"]}}}
    }
    assert collect_settings(("opencode", "vibe"), root, False, person, KNOWN) == []


def test_broken_file_is_reported_with_its_line(rows: Rows, person: Path) -> None:
    rows("crush")
    (person / ".config/crush/crush.json").write_text('{\n "mcp": {}\n "x": 1\n}', encoding="utf-8")
    (person / ".vibe/config.toml").write_text("a = 1\nb = [\n", encoding="utf-8")
    found = rows("codex")
    told = plan_import(collect_settings(("crush", "vibe"), person, True, person, KNOWN))
    assert found and {
        (Path(row.setting.file).name, row.setting.line) for row in told if row.setting.what == "other"
    } == {
        ("crush.json", 3),
        ("config.toml", 2),
    }


def test_an_own_file_with_comments_is_not_rewritten(rows: Rows) -> None:
    paths.config().mkdir(parents=True, exist_ok=True)
    file = paths.config() / "mcp.json"
    file.write_text('{\n // mine\n "mcpServers": {}}\n', encoding="utf-8")
    with pytest.raises(SettingsInvalid, match="comments"):
        apply_import(rows("codex").values(), loosening=False)
    assert "// mine" in file.read_text(encoding="utf-8")
