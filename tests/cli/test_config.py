"""`cockpit config`: what is in force and why, and changing one's own file."""

import json
from pathlib import Path

import pytest
from tests.support.in_process import cockpit

from cockpit.settings import trust
from cockpit.settings.files import user_file


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_show_names_file_and_line_variable_and_default(root: Path) -> None:
    own = put(user_file(), 'mode = "plan"\n\n[plugins.search]\nengine = "python"\n')
    ended = cockpit("config", "show", "--origin", cwd=root, environment={"COCKPIT_LIMITS_MONEY": "2"})
    lines = {line.split()[0]: line for line in ended.out.splitlines()}
    assert lines["mode"].endswith(f"plan  {' ' * 20}{own}:1") and lines["limits.steps"].endswith("default")
    assert lines["limits.money"].endswith("environment COCKPIT_LIMITS_MONEY")
    assert lines["plugins.search.engine"].endswith(f"{own}:4") and "limits.tokens" not in lines


def test_show_as_json_is_a_list_of_objects(root: Path) -> None:
    shared = put(root / ".cockpit/settings.toml", "[limits]\nmoney = 1\n[models]\ndefault = 'x:y'\n")
    untrusted = json.loads(cockpit("config", "show", "--json", cwd=root).out)
    assert not [one for one in untrusted if one["key"] == "limits.money"]
    rows = json.loads(cockpit("config", "show", "--json", "--trust", "limits", cwd=root).out)
    (money,) = [one for one in rows if one["key"] == "limits.money"]
    assert money["value"] == 1 and money["origin"] == f"{shared}:2" and money["about"]
    assert all(one["key"].startswith("limits") for one in rows)


def test_get_prints_a_value_and_exits_with_1_if_unset(root: Path) -> None:
    put(user_file(), "[limits]\nsteps = 5\n")
    assert cockpit("config", "get", "limits.steps", cwd=root).out == "5\n"
    assert cockpit("config", "get", "limits.money", cwd=root).code == 1
    refused = cockpit("config", "get", "limits.mony", cwd=root)
    assert refused.code == 1 and "did you mean `limits.money`" in refused.err


def test_set_writes_and_reports_an_overriding_layer(root: Path) -> None:
    path = put(user_file(), "# mine\n")
    ended = cockpit("config", "set", "mode", "plan", cwd=root, environment={"COCKPIT_MODE": "ask"})
    assert ended.code == 0 and "environment COCKPIT_MODE takes precedence" in ended.out
    assert path.read_text(encoding="utf-8") == '# mine\nmode = "plan"\n'
    cockpit("config", "set", "models.fallback", "a:b", "c:d", cwd=root)
    assert '"a:b"' in path.read_text(encoding="utf-8")
    assert cockpit("config", "unset", "mode", cwd=root).code == 0
    assert cockpit("config", "unset", "mode", cwd=root).code == 1


def test_check_names_every_fault_with_its_line(root: Path) -> None:
    own = put(user_file(), "[limits]\nsteps = 'x'\nstepz = 1\n")
    shared = put(root / ".cockpit/settings.toml", "a = [\n")
    trust.save_trust(str(root), True)
    ended = cockpit("config", "check", cwd=root)
    assert ended.code == 1
    for said in (f"{own}:2: `limits.steps`", f"{own}:3: `limits.stepz`", f"{shared}:1: invalid TOML"):
        assert said in ended.out
    put(own, "")
    put(shared, 'mode = "full"\n')
    ended = cockpit("config", "check", cwd=root)
    assert ended.code == 1 and f"{shared}:1: `mode` ignored" in ended.out
    put(own, "stepz = 1\n")
    both = cockpit("config", "check", cwd=root)
    assert f"{own}:1: `stepz`" in both.out and f"{shared}:1: `mode` ignored" in both.out
    assert both.out.count("`stepz`") == 1
    put(own, "")
    put(shared, "[limits]\nsteps = 4\n")
    assert cockpit("config", "check", cwd=root).code == 0


@pytest.mark.parametrize("trusted", [True, False])
def test_path_lists_the_files_read_here(root: Path, trusted: bool) -> None:
    trust.save_trust(str(root), trusted)
    rows = json.loads(cockpit("config", "path", "--json", cwd=root).out)
    assert {one["read"] for one in rows if one["layer"] == "project"} == {trusted}
    assert rows[0] == {"layer": "user", "file": str(user_file()), "exists": False, "read": True}


def test_secrets_in_a_plugin_table_are_masked(root: Path) -> None:
    text = """[plugins.openai_chat.providers.x]
base_url = "https://me:hunter2hunter2@x.example/v1"
key_env = "MY_API_KEY"
[plugins.openai_chat.providers.x.headers]
Authorization = "Bearer verysecretvalue"
"""
    put(user_file(), text)
    shown = cockpit("config", "show", "plugins", "--origin", cwd=root).out
    told = cockpit("config", "show", "--json", cwd=root).out
    one = cockpit("config", "get", "plugins.openai_chat.providers.x.headers.Authorization", cwd=root).out
    table = cockpit("config", "get", "plugins", cwd=root).out
    for out in (shown, told, one, table):
        assert "hunter2" not in out and "verysecret" not in out
    assert "MY_API_KEY" in shown and "https://me:***@x.example/v1" in shown and f"{user_file()}:5" in shown


def test_show_accepts_a_key_or_table_and_suggests_the_closest(root: Path) -> None:
    keys = [one["key"] for one in json.loads(cockpit("config", "show", "mode", "--json", cwd=root).out)]
    assert keys == ["mode"]
    rows = json.loads(cockpit("config", "show", "limits", "--json", "--all", cwd=root).out)
    assert len(rows) > 3 and all(one["key"].startswith("limits.") for one in rows)
    wrong = cockpit("config", "show", "limts", cwd=root)
    assert wrong.code != 0 and "did you mean `limits`" in wrong.err
