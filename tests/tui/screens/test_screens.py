"""The screens: trust, connect, sessions, models, themes, approvals seen whole."""

import time
from pathlib import Path

from tests.support.cockpits import Seat, seat
from tests.support.scenes import Scene, asking, worked
from textual.widgets import Input

from cockpit.protocol import ops
from cockpit.protocol.messages import Json
from cockpit.tui.actions import preferences


def idle(trusted: bool = True) -> Scene:
    return Scene().start(trusted=trusted)


def invoked(s: Seat, action: str) -> list[ops.Invoke]:
    return [op for op in s.ops if isinstance(op, ops.Invoke) and op.action == action]


async def test_an_untrusted_folder_is_asked_about_once() -> None:
    async with seat(idle(False)) as s:
        assert "Do you trust /home/ada/shop?" in s.screen
        await s.press("n")
        assert not [op for op in s.ops if isinstance(op, ops.Trust)]
        assert preferences.load_preferences().refused
        await s.type("hello")
        await s.press("enter")
        assert any(isinstance(op, ops.Prompt) for op in s.ops)
    async with seat(idle(False)) as s:
        assert "Do you trust" not in s.screen and "not trusted" in s.screen


async def test_a_prompt_that_is_being_typed_trusts_no_folder() -> None:
    async with seat(idle(trusted=False), quiet=60.0) as s:
        assert "Do you trust" in s.screen
        await s.type("you may look")
        assert s.app.editor.text == "you may look"
        assert not [op for op in s.ops if isinstance(op, ops.Trust)]


async def test_trusting_is_an_op_and_forgets_a_refusal() -> None:
    preferences.Preferences(refused=["/home/ada/shop"]).save()
    async with seat(idle(False)) as s:
        await s.type("/trust")
        await s.press("enter")
        assert "Do you trust" in s.screen
        await s.press("y")
        assert [op.trusted for op in s.ops if isinstance(op, ops.Trust)] == [True]
        assert preferences.load_preferences().refused == []


async def test_a_trusted_folder_is_not_asked_about() -> None:
    async with seat(idle()) as s:
        assert "Do you trust" not in s.screen


async def answer(s: Seat, scene: Scene, op: ops.Invoke, **values: Json) -> None:
    await s.play(scene.notices(plugin="connect", kind="show", op=op.id, **values))


DEEPSEEK: dict[str, Json] = {"name": "deepseek", "label": "DeepSeek", "base_url": "https://api.deepseek.com"}
DEEPSEEK |= {"local": False, "key_from": "", "keys_at": "platform.deepseek.com", "ready": "no key"}
OLLAMA: dict[str, Json] = {"name": "ollama", "label": "Ollama", "local": True, "ready": ""}


async def test_connecting_picks_a_provider_tries_the_key_and_keeps_it_with_a_model() -> None:
    scene = idle()
    async with seat(scene) as s:
        await s.type("/connect")
        await s.press("enter")
        await answer(s, scene, invoked(s, "connect.presets")[0], presets=[DEEPSEEK, OLLAMA])
        assert "DeepSeek" in s.screen and "no key needed" in s.screen
        await s.press("enter")
        assert s.app.screen.query_one(Input).password and "platform.deepseek.com" in s.screen
        await s.type("sk-wrong")
        assert "sk-wrong" not in s.screen
        await s.press("enter")
        tried = invoked(s, "connect.try")[0]
        assert dict(tried.arguments) == {"preset": "deepseek", "key": "sk-wrong"}
        await answer(s, scene, tried, ok=False, message="401: the key was refused")
        assert "401: the key was refused" in s.screen
        await s.type("sk-right")
        await s.press("enter")
        good: dict[str, Json] = {"ok": True, "models": ["deepseek-chat", "deepseek-reasoner"]}
        await answer(s, scene, invoked(s, "connect.try")[1], **good, default="deepseek-chat")
        await s.press("down", "enter")
        kept = invoked(s, "connect.try")[2]
        assert kept.arguments["save"] is True and kept.arguments["model"] == "deepseek-reasoner"
        await answer(s, scene, kept, **good, saved="the keyring")
        chosen = [op.model for op in s.ops if isinstance(op, ops.SelectModel)]
        assert chosen == ["deepseek:deepseek-reasoner"] and "the key is stored in the keyring" in s.screen
        assert "sk-" not in "".join(str(entry) for entry in s.state.entries)


async def test_connecting_to_a_local_server_asks_for_no_key() -> None:
    scene = idle()
    async with seat(scene) as s:
        await s.type("/connect ollama")
        await s.press("enter")
        await answer(s, scene, invoked(s, "connect.presets")[0], presets=[DEEPSEEK, OLLAMA])
        assert dict(invoked(s, "connect.try")[0].arguments) == {"preset": "ollama", "key": ""}


async def test_a_provider_that_cannot_be_reached_says_why() -> None:
    scene = idle()
    async with seat(scene) as s:
        await s.type("/connect ollama")
        await s.press("enter")
        await answer(s, scene, invoked(s, "connect.presets")[0], presets=[OLLAMA])
        await answer(s, scene, invoked(s, "connect.try")[0], ok=False, message="nothing answers at :11434")
        assert "nothing answers at :11434" in s.screen
        address = s.app.screen.query_one("#address", Input)
        address.value = "http://127.0.0.1:9999/v1"
        await s.press("enter")
        again = invoked(s, "connect.try")[1]
        assert again.arguments["base_url"] == "http://127.0.0.1:9999/v1"
        await answer(s, scene, again, ok=False, message="nothing answers there either")
        assert "either" in s.screen and "127.0.0.1:9999" in s.screen
        await s.press("escape")
        assert len(s.app.screen_stack) == 1


async def test_leaving_connect_leaves_the_cockpit_as_it_was() -> None:
    async with seat(idle()) as s:
        await s.type("/connect")
        await s.press("enter", "escape")
        assert len(s.app.screen_stack) == 1 and s.app.editor.has_focus


async def test_models_are_listed_with_window_and_price() -> None:
    scene = idle()
    async with seat(scene) as s:
        await s.type("/model")
        await s.press("enter")
        row: dict[str, Json] = {
            "model": "deepseek:deepseek-chat",
            "window": 64000,
            "price": "0.27 / 1.10",
            "state": "ready",
        }
        await answer(s, scene, invoked(s, "model")[0], models=[row])
        assert "window 64.0k · 0.27 / 1.10" in s.screen and "ready" in s.screen
        await s.press("enter")
        assert [op.model for op in s.ops if isinstance(op, ops.SelectModel)] == ["deepseek:deepseek-chat"]


async def test_a_model_that_is_not_listed_can_be_typed() -> None:
    scene = idle()
    async with seat(scene) as s:
        await s.type("/model")
        await s.press("enter")
        await answer(s, scene, invoked(s, "model")[0], models=[])
        await s.type("mine:big-one")
        await s.press("enter")
        assert [op.model for op in s.ops if isinstance(op, ops.SelectModel)] == ["mine:big-one"]


async def test_a_theme_is_previewed_while_choosing_and_stays_when_chosen() -> None:
    async with seat(worked()) as s:
        await s.type("/theme")
        await s.press("enter", "up")
        assert s.app.theme == "cockpit-day"
        await s.press("escape")
        assert s.app.theme == "cockpit-night" and preferences.load_preferences().theme == ""
        await s.type("/theme cockpit-contrast")
        await s.press("enter")
        assert (
            s.app.theme == "cockpit-contrast" and preferences.load_preferences().theme == "cockpit-contrast"
        )


async def test_a_broken_theme_file_is_reported_and_skipped(home: Path) -> None:
    folder = home / "config" / "themes"
    folder.mkdir(parents=True)
    (folder / "mine.toml").write_text("primary = ")
    async with seat(idle()) as s:
        assert "mine.toml is not TOML" in s.screen


async def test_a_users_key_replaces_the_default(home: Path) -> None:
    (home / "config").mkdir(parents=True)
    (home / "config" / "keys.toml").write_text('palette = "f8"\n')
    async with seat(idle()) as s:
        await s.press("ctrl+p")
        assert "Everything" not in s.screen
        await s.press("f8")
        assert "Everything" in s.screen


async def test_the_whole_approval_is_answered_from_its_screen() -> None:
    async with seat(asking()) as s:
        await s.press("v")
        assert len(s.app.screen_stack) == 2
        await s.press("y")
        assert [op.decision for op in s.ops if isinstance(op, ops.Decide)] == ["allow_once"]
        assert len(s.app.screen_stack) == 1


async def test_new_closes_the_session_and_opens_another() -> None:
    async with seat(worked()) as s:
        await s.type("/new")
        await s.press("enter")
        assert any(isinstance(op, ops.Close) for op in s.ops)
        assert s.app.editor.has_focus


async def test_clear_empties_the_trace_and_keeps_the_session() -> None:
    scene = worked()
    async with seat(scene) as s:
        await s.type("/clear")
        await s.press("enter")
        assert "All 12 tests pass" not in s.screen and not s.ops
        await s.play(scene.says("go on").step().answers("here", "m9"))
        assert "go on" in s.screen and "here" in s.screen and "All 12 tests" not in s.screen


async def test_actions_of_commands_carry_their_words() -> None:
    scene = idle()
    async with seat(scene) as s:
        scene.time = time.time() + 5
        await s.play(
            scene.notices(kind="action", action="mode", arguments={"text": "ask", "prompt": "Carry it out."})
        )
        await s.play(scene.notices(kind="action", action="select_model", arguments={"model": "x:y"}))
        await s.play(scene.notices(kind="action", action="compact", arguments={"text": "the plan"}))
        await s.play(scene.notices(kind="action", action="trust", arguments={"text": "no"}))
        await s.play(scene.notices(kind="action", action="mode", arguments={"text": "reckless"}))
        kinds = [type(op).__name__ for op in s.ops]
        assert kinds == ["SelectMode", "Prompt", "SelectModel", "Compact", "Trust"]
        assert "unknown mode reckless" in s.screen


async def test_an_unknown_action_is_reported() -> None:
    scene = idle()
    async with seat(scene) as s:
        scene.time = time.time() + 5
        await s.play(scene.notices(kind="action", action="levitate", arguments={}))
        assert "unknown action levitate" in s.screen


async def test_an_unknown_session_is_reported_and_the_current_session_stays() -> None:
    async with seat(worked()) as s:
        await s.type("/resume nowhere")
        await s.press("enter")
        assert "unknown recording nowhere" in s.screen
        assert s.state.session == "s1" and not [op for op in s.ops if isinstance(op, ops.Close)]


async def test_a_folder_without_sessions_offers_a_new_session() -> None:
    async with seat(idle()) as s:
        await s.press("ctrl+s")
        assert "start a new session" in s.screen
        await s.press("escape")
        assert len(s.app.screen_stack) == 1


async def test_a_model_on_this_machine_is_offered_where_none_is_attached() -> None:
    scene = Scene().start(model="offline:rules")
    async with seat(scene) as s:
        [looked] = invoked(s, "connect.local")
        found: Json = [
            {"ok": True, "provider": "ollama", "default": "qwen3"},
            {"ok": False, "provider": "vllm"},
        ]
        await answer(s, scene, looked, servers=found)
        assert "ollama answers on this machine" in s.screen and "/model ollama:qwen3" in s.screen
        assert "vllm" not in s.screen


async def test_nothing_is_looked_for_where_a_model_is_attached() -> None:
    async with seat(idle()) as s:
        assert not invoked(s, "connect.local")
