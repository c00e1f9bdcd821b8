"""The settings screen: each value with where it comes from, changed through the core's own command."""

from tests.support.cockpits import Seat, seat
from tests.support.scenes import Scene

from cockpit.protocol import ops, queries
from cockpit.protocol.content import Text
from cockpit.protocol.queries import Query, Reply, SettingsTable
from cockpit.protocol.rows import SettingRow
from cockpit.tui.screens.dialogs import TextDialog
from cockpit.tui.screens.picker import Picker

FILE = "~/.config/cockpit/settings.toml:3"
ROWS = (
    SettingRow("mode", "ask", FILE, "the permission mode", "choice", "a mode", "ask", ("ask", "plan")),
    SettingRow("limits.steps", 50, FILE, "model requests of one turn", "whole", "a whole number", 200),
    SettingRow("models.fallback", [], "default", "asked when the first fails", "words", "a list", []),
    SettingRow("sandbox.use", "required", "managed", "the sandbox", "text", "a word", "auto", writable=False),
)


def reply(query: Query) -> Reply | None:
    counts = {"tools": 31, "skills": 4, "mcp_servers": 2}
    return SettingsTable({}, counts, (), ROWS) if isinstance(query, queries.Settings) else None


def invoked(s: Seat) -> list[tuple[str, dict[str, object]]]:
    return [(op.action, dict(op.arguments)) for op in s.ops if isinstance(op, ops.Invoke)]


async def opened(s: Seat) -> None:
    await s.type("/settings")
    await s.press("enter")
    assert isinstance(s.app.screen, Picker)


async def test_each_setting_is_listed_with_its_value_and_origin() -> None:
    async with seat(Scene().start(), replies=reply) as s:
        await opened(s)
        assert "limits.steps" in s.screen and "50" in s.screen and "settings.toml:3" in s.screen
        assert "model requests of one turn" in s.screen and "managed" in s.screen


async def test_a_number_is_typed_and_an_empty_line_takes_it_out() -> None:
    for typed, expected in (
        ("9", ("config.set", {"key": "limits.steps", "value": "509"})),
        ("", ("config.unset", {"key": "limits.steps"})),
    ):
        scene = Scene().start()
        async with seat(scene, replies=reply) as s:
            await opened(s)
            await s.type("limits")
            await s.press("enter")
            assert isinstance(s.app.screen, TextDialog) and "a whole number" in s.screen
            await s.press("end", *(typed or ["backspace", "backspace"]), "enter")
            assert invoked(s) == [expected]
            await s.play(scene.notices(Text("kept"), plugin="config", op=s.ops[-1].id, ok=True))
            assert isinstance(s.app.screen, Picker) and "kept" in s.screen


async def test_a_choice_is_picked_and_escape_changes_nothing() -> None:
    async with seat(Scene().start(), replies=reply) as s:
        await opened(s)
        await s.press("enter", "down", "enter")
        assert invoked(s) == [("config.set", {"key": "mode", "value": "plan"})]
    async with seat(Scene().start(), replies=reply) as s:
        await opened(s)
        await s.press("enter", "escape", "escape")
        assert invoked(s) == [] and len(s.app.screen_stack) == 1


async def test_settings_of_the_machine_cannot_be_changed() -> None:
    async with seat(Scene().start(), replies=reply) as s:
        await opened(s)
        await s.type("sandbox")
        await s.press("enter")
        assert "takes precedence" in s.screen and invoked(s) == []


async def test_a_key_can_be_named_at_once() -> None:
    async with seat(Scene().start(), replies=reply) as s:
        await s.type("/settings models.fallback")
        await s.press("enter")
        assert isinstance(s.app.screen, TextDialog) and "asked when the first fails" in s.screen
