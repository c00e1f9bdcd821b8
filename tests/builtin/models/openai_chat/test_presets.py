"""The address and key for a provider's requests, and the facts about its models."""

from pathlib import Path

import pytest
from tests.builtin.models.openai_chat.model_calls import provider

from cockpit.builtin.models.openai_chat import model_facts
from cockpit.builtin.models.openai_chat.presets import (
    AddressRefused,
    environment_name,
    known_presets,
    missing_setup,
    packaged_presets,
    resolve_endpoint,
)
from cockpit.plugin.models import ModelFacts
from cockpit.protocol.messages import Usage
from cockpit.settings import api_keys

NAMED = [
    "openai",
    "deepseek",
    "moonshot",
    "zhipu",
    "dashscope",
    "openrouter",
    "together",
    "groq",
    "mistral",
    "siliconflow",
    "xai",
    "perplexity",
    "fireworks",
    "ollama",
    "vllm",
    "lmstudio",
    "llama.cpp",
    "localai",
]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COCKPIT_HOME", str(tmp_path))
    return tmp_path


def test_every_preset_is_there_with_an_address_and_a_default() -> None:
    assert list(packaged_presets()) == NAMED
    for preset in packaged_presets().values():
        assert preset.base_url.startswith("http://127.0.0.1" if preset.local else "https://")
        assert preset.default or preset.local
        assert preset.start if preset.local else preset.keys_at


@pytest.mark.parametrize("name", NAMED)
def test_each_ones_variables_are_honoured(name: str) -> None:
    prefix = environment_name(name)
    environment = {f"{prefix}_API_KEY": " 'k-1' ", f"{prefix}_BASE_URL": "http://127.0.0.1:9/v1/"}
    goal = resolve_endpoint(packaged_presets()[name], environment)
    assert (goal.base_url, goal.key, goal.key_from) == ("http://127.0.0.1:9/v1", "k-1", f"{prefix}_API_KEY")
    assert "k-1" not in repr(goal)


def test_a_dot_in_a_name_is_an_underscore_in_the_environment() -> None:
    assert environment_name("llama.cpp") == "LLAMA_CPP"


def test_local_servers_and_foreign_addresses_need_no_key() -> None:
    assert missing_setup(packaged_presets()["ollama"], {}) == ""
    assert missing_setup(packaged_presets()["openai"], {"OPENAI_BASE_URL": "http://10.0.0.2:8000/v1"}) == ""
    assert "OPENAI_API_KEY" in missing_setup(packaged_presets()["openai"], {})


def test_a_saved_key_is_used_where_the_environment_has_none() -> None:
    api_keys.save_key("deepseek", "k-saved")
    assert resolve_endpoint(packaged_presets()["deepseek"], {}).key == "k-saved"
    assert resolve_endpoint(packaged_presets()["deepseek"], {"DEEPSEEK_API_KEY": "k-env"}).key == "k-env"


def test_a_folders_env_file_does_not_lead_a_saved_key_to_another_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    api_keys.save_key("deepseek", "k-saved")
    stranger = {"DEEPSEEK_BASE_URL": "https://elsewhere.example/v1"}
    with pytest.raises(AddressRefused, match="is not sent"):
        resolve_endpoint(packaged_presets()["deepseek"], stranger)
    monkeypatch.setenv("DEEPSEEK_BASE_URL", "https://elsewhere.example/v1")
    assert resolve_endpoint(packaged_presets()["deepseek"], stranger).key == "k-saved"


def test_a_person_adds_a_provider_in_settings_and_moves_a_packaged_one() -> None:
    own = {
        "base_url": "https://llm.example/v1",
        "key_env": "MY_KEY",
        "default": "m",
        "headers": {"x-team": "a"},
    }
    presets = known_presets({"providers": {"mine": own, "openai": {"base_url": "http://127.0.0.1:1/v1"}}})
    assert "MY_KEY" in missing_setup(presets["mine"], {})
    assert resolve_endpoint(presets["mine"], {"MY_KEY": "k"}).preset.headers == {"x-team": "a"}
    assert resolve_endpoint(presets["openai"], {}).base_url == "http://127.0.0.1:1/v1"
    assert presets["openai"].default == packaged_presets()["openai"].default


def test_all_are_registered_with_their_facts() -> None:
    model = provider("deepseek", {"DEEPSEEK_API_KEY": "k"})
    assert (model.label, model.ready(), model.local, model.priced) == ("DeepSeek", "", False, True)
    assert model.facts(model.default).window == 1_000_000
    assert provider("ollama", {}).local


def test_facts_are_found_by_id_then_by_pattern_and_unknown_stays_unknown() -> None:
    assert model_facts.facts_date() == "2026-11-21"
    assert model_facts.lookup_facts("openai", "gpt-4o-mini").input_price == 0.15
    assert model_facts.lookup_facts("openai", "gpt-4o-mini-2024-07-18").input_price == 0.15
    assert model_facts.lookup_facts("openrouter", "any/model:free").input_price == 0.0
    assert model_facts.lookup_facts("openai", "gpt-0") == ModelFacts()
    assert model_facts.lookup_facts("nobody", "x") == ModelFacts()


def test_every_packaged_default_has_facts_where_prices_are_published() -> None:
    unknown = [
        one.name
        for one in packaged_presets().values()
        if one.default and not model_facts.known_models(one.name)
    ]
    assert unknown == ["siliconflow"]
    for name in model_facts.known_models("openai"):
        known_facts = model_facts.lookup_facts("openai", name)
        assert known_facts.window and known_facts.input_price is not None


def test_a_persons_facts_overlay_the_packaged_ones_and_a_broken_file_does_not_stop_a_turn() -> None:
    path = model_facts.user_file()
    path.parent.mkdir(parents=True)
    path.write_text('[openai]\n"gpt-4o-mini" = { input = 9 }\n[ollama]\n"qwen*" = { window = 32000 }\n')
    assert model_facts.lookup_facts("openai", "gpt-4o-mini").input_price == 9
    assert model_facts.lookup_facts("openai", "gpt-4o-mini").window == 128_000
    assert model_facts.lookup_facts("ollama", "Qwen3:8b").window == 32_000
    path.write_text("[openai\n")
    assert model_facts.lookup_facts("openai", "gpt-4o-mini").input_price in (0.15, 9)


def test_cached_tokens_have_their_own_price() -> None:
    known_facts = ModelFacts(input_price=1.0, output_price=2.0, cached_price=0.1)
    assert model_facts.usage_cost(known_facts, Usage(1_000_000, 500_000, 600_000)) == pytest.approx(
        0.4 + 0.06 + 1.0
    )
    assert model_facts.usage_cost(ModelFacts(input_price=1.0), Usage(5, 5)) is None
