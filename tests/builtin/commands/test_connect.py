"""/connect and /model, against servers on loopback."""

import asyncio
import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pytest
from tests.support.provider import (
    HANG,
    Answer,
    Provider,
    Received,
    error,
    finish,
    listing,
    reply,
    stream,
    text,
)

from cockpit.builtin.commands import connect
from cockpit.builtin.commands.connect import find_local_servers, save_connection, try_connection
from cockpit.builtin.models.openai_chat import connection_check as attempts
from cockpit.builtin.models.openai_chat.presets import model_rows, presets
from cockpit.plugin.context import Context
from cockpit.plugin.values import Action, Command, CommandAnswer, Invoked, Scope, Show
from cockpit.protocol.content import Table, plain_text
from cockpit.protocol.messages import Json
from cockpit.settings import api_keys
from cockpit.settings.files import load_settings

GOOD = "sk-good-0123456789"
BAD = "sk-bad-0123456789"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COCKPIT_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def guarded(received: Received) -> Answer:
    """A list of models for who has the good key."""
    if received.headers.get("authorization") != f"Bearer {GOOD}":
        return error(401, f"Incorrect API key provided: {BAD}", "invalid_api_key")
    return listing("deepseek-flash", "deepseek-v4-pro", "text-embedding-1")


def is_private(path: Path) -> bool:
    return sys.platform == "win32" or stat.S_IMODE(path.stat().st_mode) == 0o600


class Commands:
    """A `register` for commands; `changes` counts the calls of `changed`."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.by_name: dict[str, Command] = {}
        self.changes = 0
        connect.register_commands(self, Scope(".", True, {}, "", "", environment))

    def __call__(self, value: object) -> None:
        assert isinstance(value, Command)
        self.by_name[value.name] = value

    def changed(self) -> None:
        self.changes += 1

    async def run(self, name: str, typed: str = "", **arguments: Json) -> CommandAnswer:
        # Commands of connect use no context: they serve the person, not the turn.
        return await self.by_name[name].run(Invoked(typed, arguments), cast("Context", None))


async def test_a_wrong_key_says_which_and_why_and_is_not_kept() -> None:
    async with Provider(models=guarded) as server:
        commands = Commands({"DEEPSEEK_BASE_URL": server.base_url})
        shown = await commands.run("connect.try", preset="deepseek", key=BAD, save=True)
    assert isinstance(shown, Show)
    assert (shown.data["ok"], shown.data["fault"]) == (False, "auth")
    assert "DeepSeek refused the pasted key (401" in plain_text(shown.content)
    assert "/connect deepseek" in plain_text(shown.content)
    assert BAD not in str(shown)
    assert api_keys.find_key("deepseek") is None
    assert commands.changes == 0


async def test_a_good_key_is_kept_for_its_owner_alone_and_its_model_becomes_the_default() -> None:
    async with Provider(models=guarded) as server:
        commands = Commands({"DEEPSEEK_BASE_URL": server.base_url})
        shown = await commands.run("connect.try", preset="deepseek", key=f" Bearer {GOOD} ", save=True)
    assert isinstance(shown, Show)
    assert shown.data["ok"] is True
    assert shown.data["models"] == ["deepseek-flash", "deepseek-v4-pro"]
    assert GOOD not in str(shown)
    where = shown.data["saved"]
    assert api_keys.find_key("deepseek") == (GOOD, where)
    assert is_private(Path(str(where)))
    settings = load_settings(".", trusted=False)
    assert settings.text("models.default") == "deepseek:deepseek-flash"
    assert settings.table("plugins") == {"disabled": []}
    assert commands.changes == 1


async def test_without_save_nothing_is_kept() -> None:
    async with Provider(models=guarded) as server:
        commands = Commands({"DEEPSEEK_BASE_URL": server.base_url})
        shown = await commands.run("connect.try", preset="deepseek", key=GOOD)
    assert isinstance(shown, Show) and shown.data["ok"] is True
    assert api_keys.find_key("deepseek") is None
    assert load_settings(".", trusted=False).text("models.default") == ""


async def test_an_address_of_ones_own_is_kept_beside_the_key() -> None:
    async with Provider(models=guarded) as server:
        found = await try_connection("deepseek", GOOD, server.base_url, {})
        save_connection(found, GOOD, {}, "deepseek-v4-pro")
    settings = load_settings(".", trusted=False)
    address = settings.text("plugins.openai_chat.providers.deepseek.base_url")
    assert address == server.base_url
    assert settings.text("models.default") == "deepseek:deepseek-v4-pro"


async def test_an_address_without_its_version_is_completed() -> None:
    def versioned(received: Received) -> Answer:
        return guarded(received) if received.path.startswith("/v1/") else reply(404, {"detail": "Not Found"})

    async with Provider(reply(404, {"detail": "Not Found"}), models=versioned) as server:
        found = await try_connection("deepseek", GOOD, server.base_url.removesuffix("/v1"), {})
    assert (found.ok, found.base_url) == (True, server.base_url)


async def test_a_server_that_lists_nothing_is_asked_for_one_token() -> None:
    async with Provider(stream(text("ok"), finish("length")), models=reply(404, {"detail": "no"})) as server:
        found = await try_connection("perplexity", GOOD, server.base_url, {})
        assert found.ok and found.default == "sonar-pro"
        assert server.completions[0].json["max_tokens"] == 1


async def test_a_public_list_of_models_does_not_prove_a_key() -> None:
    refusal = error(401, "No auth credentials found")
    async with Provider(refusal, models=listing("deepseek/deepseek-v4.1-flash")) as server:
        found = await try_connection("openrouter", BAD, server.base_url, {})
    assert (found.ok, found.fault) == (False, "auth")


async def test_the_default_is_a_model_that_the_server_has() -> None:
    async with Provider(models=listing("zeta", "qwen3:8b")) as server:
        found = await try_connection("ollama", "", server.base_url, {})
        assert found.ok and found.default in ("zeta", "qwen3:8b")
    async with Provider(models=listing()) as server:
        empty = await try_connection("ollama", "", server.base_url, {})
        assert not empty.ok and "ollama pull" in empty.hint


async def test_an_unknown_preset_names_the_near_ones() -> None:
    found = await try_connection("depseek", GOOD, "", {})
    assert not found.ok and "deepseek" in found.hint


async def test_text_that_is_no_key_is_said_before_anything_is_sent() -> None:
    async with Provider(models=guarded) as server:
        found = await try_connection("deepseek", "two words", server.base_url, {})
        assert server.requests == []
    assert not found.ok and "spaces" in found.message


async def test_a_silent_server_ends_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "CHECK_SECONDS", 0.2)
    async with Provider(models=Answer(pieces=(HANG,))) as server:
        found = await try_connection("deepseek", GOOD, server.base_url, {})
        assert (found.ok, found.fault) == (False, "connection")
        await asyncio.wait_for(server.left.wait(), 2)


async def test_a_dead_address_says_that_nothing_answers() -> None:
    async with Provider() as server:
        url = server.base_url
    found = await try_connection("vllm", "", url, {})
    assert (found.fault, "connection refused" in found.message) == ("connection", True)


async def test_local_servers_are_found_and_absent_ones_do_not_delay() -> None:
    async with Provider(models=listing("qwen3:8b")) as server, Provider() as gone:
        dead = gone.base_url
        await gone.__aexit__(None, None, None)
        addresses = {f"{name}_BASE_URL": dead for name in ("VLLM", "LMSTUDIO", "LLAMA_CPP", "LOCALAI")}
        found = await find_local_servers({**addresses, "OLLAMA_BASE_URL": server.base_url})
    assert [(one.provider, one.default) for one in found] == [("ollama", "qwen3:8b")]


async def test_presets_say_where_a_key_comes_from_and_never_the_key() -> None:
    api_keys.save_key("groq", GOOD)
    environment = {"XAI_API_KEY": GOOD}
    rows = {row.name: row for row in presets(environment)}
    assert rows["xai"].key_from == "XAI_API_KEY"
    assert rows["groq"].key_from.startswith("the saved key (")
    assert "MISTRAL_API_KEY" in rows["mistral"].ready
    assert GOOD not in str(rows)
    shown = await Commands(environment).run("connect.presets")
    assert isinstance(shown, Show) and GOOD not in str(shown)
    assert len(cast("list[Json]", shown.data["presets"])) == 18


async def test_connect_opens_the_screen_and_model_chooses_or_lists() -> None:
    commands = Commands({"OPENAI_API_KEY": GOOD})
    assert await commands.run("connect", " groq ") == Action("connect", {"preset": "groq"})
    chosen = await commands.run("model", "openai:gpt-5.4")
    assert chosen == Action("select_model", {"model": "openai:gpt-5.4"})
    shown = await commands.run("model")
    assert isinstance(shown, Show) and isinstance(shown.content[0], Table)
    names = [row[0] for row in shown.content[0].rows]
    assert "openai:gpt-5.4" in names and "ollama:" in names
    assert not any(name.startswith("groq:") for name in names)


def test_models_are_listed_with_window_price_and_state() -> None:
    rows = {row[0]: row[1:] for row in model_rows({"OPENAI_API_KEY": GOOD})}
    assert rows["openai:gpt-4o-mini"] == ("128k", "$0.15 / $0.6", "ready")
    assert rows["siliconflow:deepseek-ai/DeepSeek-V4-Pro"][1] == "cost ?"
    assert "SILICONFLOW_API_KEY" in rows["siliconflow:deepseek-ai/DeepSeek-V4-Pro"][2]


def test_looking_at_presets_loads_no_heavy_package() -> None:
    import subprocess

    code = (
        "import sys; from cockpit.builtin.commands.connect import presets; "
        "from cockpit.builtin.models import scripted_model; "
        "presets({}); print(sorted({'openai', 'httpx2', 'keyring', 'tomlkit'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ))
    assert done.stdout.strip() == "[]", done.stderr
