"""Names, tiers, fallbacks and the circuit breaker, on a clock of the test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support.decks import distribution, driving

from cockpit.core.agent.models import (
    CircuitBreaker,
    ModelUnknown,
    choose_model,
    first_ready_model,
    model_candidates,
)
from cockpit.core.plugins.catalog import CatalogEntry, PluginCatalog
from cockpit.core.session.options import RunOptions
from cockpit.plugin.models import Delta, FinishPart, Model, ModelRequest
from cockpit.protocol.events import MessageFinished, Warned
from cockpit.settings.files import EffectiveSettings, user_file


def model(name: str, ready: str = "", local: bool = False) -> Model:
    async def stream(request: ModelRequest) -> AsyncIterator[Delta]:
        yield FinishPart("stop")

    async def models() -> tuple[str, ...]:
        return ()

    return Model(name, stream, models, lambda: ready, default=f"{name}-1", local=local)


def catalog(*models: Model) -> PluginCatalog:
    entries = {one.name: CatalogEntry("register_models", one.name, one, "test", "built-in") for one in models}
    return PluginCatalog(tuple(entries.values()), (), (), {"register_models": entries})


ALL = catalog(model("offline"), model("far", "no key"), model("near", local=True), model("good"))


def test_without_settings_the_first_provider_with_its_key_answers() -> None:
    assert first_ready_model(ALL).name == "good:good-1"
    assert first_ready_model(catalog(model("offline"), model("far", "no key"))).name == "offline:offline-1"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("far:big", "far:big"),
        ("far", "far:far-1"),
        ("near:a:b", "near:a:b"),
        ("fast", "near:small"),
        ("strong", "far:big"),
        ("default", "far:big"),
        ("", "far:big"),
    ],
)
def test_a_name_means_provider_model_or_tier(name: str, expected: str) -> None:
    settings = EffectiveSettings({"models": {"default": "far:big", "tiers": {"fast": "near:small"}}})
    assert choose_model(ALL, settings, name).name == expected


def test_an_unknown_provider_names_the_near_ones() -> None:
    with pytest.raises(ModelUnknown, match="good"):
        choose_model(ALL, EffectiveSettings({}), "goof:1")


def test_fallbacks_come_once_each_behind_the_chosen() -> None:
    settings = EffectiveSettings({"models": {"fallback": ["far:far-1", "good", "good:good-1"]}})
    assert [one.name for one in model_candidates(ALL, settings, "far")] == ["far:far-1", "good:good-1"]


def test_three_failures_within_a_minute_rest_a_model_for_thirty_seconds() -> None:
    now = [0.0]
    breaker = CircuitBreaker(lambda: now[0])
    for at in (0.0, 30.0, 59.0):
        now[0] = at
        assert not breaker.resting("m")
        breaker.failed("m", "overloaded", "down")
    assert breaker.resting("m")
    now[0] = 59.0 + 31.0
    assert not breaker.resting("m"), "the probe"
    assert breaker.resting("m"), "others wait for the probe"
    breaker.answered("m")
    assert not breaker.resting("m")


def test_slow_failures_do_not_open_the_breaker() -> None:
    now = [0.0]
    breaker = CircuitBreaker(lambda: now[0])
    for at in (0.0, 40.0, 101.0):
        now[0] = at
        breaker.failed("m", "overloaded", "down")
    assert not breaker.resting("m")


def test_a_refused_key_rests_a_model_until_keys_change() -> None:
    breaker = CircuitBreaker(lambda: 0.0)
    breaker.failed("m", "auth", "the key is wrong")
    assert breaker.resting("m") == "the key is wrong"
    breaker.forgive()
    assert not breaker.resting("m")


async def test_the_fallback_answers_when_the_first_model_is_down(root: Path, plugins: Path) -> None:
    distribution(
        plugins,
        "pair",
        """
from cockpit.plugin import hookimpl
from cockpit.plugin.models import *
@hookimpl
def register_models(register, scope):
    async def down(request):
        raise ModelFailed("no_credit", "the account is empty")
        yield
    async def up(request):
        yield TextPart(f"{request.model} here")
        yield FinishPart("stop")
    async def models():
        return ()
    register(Model("down", down, models, default="d"))
    register(Model("up", up, models, default="u"))
""",
    )
    user_file().parent.mkdir(parents=True)
    user_file().write_text('[models]\nfallback = ["up"]\n', encoding="utf-8")
    async with driving(root, options=RunOptions(model="down")) as driver:
        assert (await driver.prompt("hello")).stop_reason == "end_turn"
    assert driver.all(MessageFinished)[-1].message.text == "u here"
    assert any("account is empty" in one.text for one in driver.all(Warned))
