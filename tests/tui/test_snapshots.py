"""Pictures of the cockpit, reviewed by eye like code: `make snapshots` draws them anew."""

from collections.abc import Sequence

import pytest
from tests.support.cockpits import cockpit, press, settled
from tests.support.pictures import NARROW, WIDE, Compare, lay_out_everything, picture
from tests.support.plans import proposed
from tests.support.scenes import EDIT, TESTS, Scene, asking, blocks, running, worked
from tests.tui.work.approval_scenes import with_facts
from textual.pilot import Pilot

from cockpit.protocol import events
from cockpit.protocol.content import Diff, Hunk, Markdown, Plot, Text, Tree
from cockpit.protocol.messages import Json, ToolCall
from cockpit.protocol.queries import SessionRow
from cockpit.protocol.rows import ApprovalPart, PanelRow
from cockpit.tui.app import Cockpit


def idle(model: str = "deepseek:deepseek-chat") -> Scene:
    return Scene().start(model)


def everything() -> Scene:
    """Many kinds of entries in one turn."""
    scene = idle().says("show me everything").step(1).thinks("A long thought about the matter. " * 8)
    scene.answers("", thoughts="A long thought about the matter. " * 8)
    scene.calls("c1", "shell", "shell make", "execute")
    scene.gets(
        "c1", "\n".join(f"line {n}" for n in range(40)) + "\nmake: *** failed", outcome="error", seconds=3.2
    )
    scene.calls("c2", "edit", "edit a.py", "edit").gets("c2", "the person said no", outcome="denied")
    scene.calls("c3", "read", "read a.py").gets("c3", "", outcome="repeated")
    return scene.warns("the server `ts` did not start", "npm i -g typescript-language-server", "navigation")


def chinese() -> Scene:
    scene = idle().says("请解释这个项目，并运行测试").step(1)
    scene.calls("c1", "read", "read 文档/说明.md").gets("c1", "行\n" * 12)
    text = (
        "这是一个**购物车**项目：`Cart.total` 先求和，然后减去折扣。下面这段文字很长，需要在正确的位置换行，"
        "标点符号不应该出现在行首，括号（例如这一个）也不应该被拆开。\n\n"
        "- 第一步：读取 `src/shop/cart.py`\n- 第二步：运行测试\n\n"
        "| 文件 | 说明 |\n|---|---|\n| cart.py | 购物车 |\n| 折扣.py | 折扣规则 |"
    )
    return scene.answers(text).ends()


def session_rows() -> tuple[SessionRow, ...]:
    titles = ("Make the cart total respect the discount", "explain this project", "修复折扣的计算")
    return tuple(
        SessionRow(
            f"s{n}-4f2a91",
            "/home/ada/shop",
            title,
            1_699_990_000.0 - n * 90_000,
            3 + n,
            "deepseek:deepseek-chat",
        )
        for n, title in enumerate(titles, 1)
    )


PRESETS: list[Json] = [
    {
        "name": "deepseek",
        "label": "DeepSeek",
        "base_url": "https://api.deepseek.com",
        "keys_at": "platform.deepseek.com",
        "ready": "no key",
    },
    {
        "name": "openai",
        "label": "OpenAI",
        "base_url": "https://api.openai.com/v1",
        "ready": "",
        "key_from": "OPENAI_API_KEY",
    },
    {
        "name": "ollama",
        "label": "Ollama",
        "base_url": "http://127.0.0.1:11434/v1",
        "local": True,
        "ready": "",
    },
]


def answered(compare: Compare, keys: Sequence[str], after: Sequence[str] = (), **values: Json) -> bool:
    """A picture after `keys`, the core's answer to the op they sent, and the keys `after` it."""
    scene = idle()
    app, channel, _ = cockpit(scene)

    async def before(pilot: Pilot[int]) -> None:
        assert isinstance(pilot.app, Cockpit)
        await settled(pilot.app, pilot)
        for key in keys:
            await press(pilot.app, pilot, key)
            await settled(pilot.app, pilot)
        scene.notices(plugin="connect", op=channel.ops[-1].id, **values)
        channel.play(*scene.envelopes[channel.sent :])
        await settled(pilot.app, pilot)
        for key in after:
            await press(pilot.app, pilot, key)
            await settled(pilot.app, pilot)
        await lay_out_everything(pilot)

    return compare(app, terminal_size=WIDE, run_before=before)


def test_welcome(snap_compare: Compare) -> None:
    assert picture(snap_compare, idle())


def test_welcome_offline(snap_compare: Compare) -> None:
    assert picture(snap_compare, idle("offline:rules"))


def test_welcome_60_columns(snap_compare: Compare) -> None:
    assert picture(snap_compare, idle(), NARROW)


def test_streaming(snap_compare: Compare) -> None:
    scene = idle().says("What does Cart do?").step(1).thinks("Let me see. ", "It holds prices.")
    scene.streams(
        "A **Cart** holds prices.\n\n```python\nclass Cart:\n    def total(self):\n        return ",
        message="m1",
    )
    assert picture(snap_compare, scene)


def test_thinking(snap_compare: Compare) -> None:
    scene = (
        idle()
        .says("What does Cart do?")
        .step(1)
        .thinks("The cart holds prices, and a discount that total ignores")
    )
    assert picture(snap_compare, scene)


def test_tool_running(snap_compare: Compare) -> None:
    assert picture(snap_compare, running())


def test_whole_turn(snap_compare: Compare) -> None:
    assert picture(snap_compare, worked(), (120, 56))


def test_whole_turn_160_columns(snap_compare: Compare) -> None:
    assert picture(snap_compare, worked(), (160, 44))


def test_whole_turn_200_columns(snap_compare: Compare) -> None:
    assert picture(snap_compare, worked(), (200, 50))


def test_whole_turn_100_columns(snap_compare: Compare) -> None:
    assert picture(snap_compare, worked(), (100, 40))


def test_whole_turn_60_columns(snap_compare: Compare) -> None:
    assert picture(snap_compare, worked(), NARROW)


def test_light_theme(snap_compare: Compare) -> None:
    assert picture(snap_compare, worked(), (120, 48), theme="cockpit-day")


def test_contrast_theme(snap_compare: Compare) -> None:
    assert picture(snap_compare, worked(), (120, 48), theme="cockpit-contrast")


def test_approval(snap_compare: Compare) -> None:
    assert picture(snap_compare, asking())


def test_approval_light(snap_compare: Compare) -> None:
    assert picture(snap_compare, asking(), (100, 30), theme="cockpit-day")


def test_approval_60_columns(snap_compare: Compare) -> None:
    assert picture(snap_compare, asking(), NARROW)


def test_approval_of_a_command_with_risk(snap_compare: Compare) -> None:
    scene = idle().says("clean up").step(1).calls("c1", "shell", "shell rm -rf build", "execute")
    part = ApprovalPart("p1", "rm -rf build", "cd /home/ada/shop && rm -rf build dist")
    scene.asks(
        call="c1", tool="shell", title="shell rm -rf build dist", parts=(part,), risk=75, shape="",
        reason="deletes files that no checkpoint keeps", destination="/home/ada/shop/build",
    )  # fmt: skip
    assert picture(snap_compare, scene)


def test_approval_of_many_files(snap_compare: Compare) -> None:
    parts = (ApprovalPart("p1", EDIT.path, "", EDIT), ApprovalPart("p2", TESTS.path, "", TESTS))
    scene = idle().says("patch it").step(1).calls("c1", "apply_patch", "patch 2 files", "edit")
    scene.asks(call="c1", tool="apply_patch", title="patch 2 files", parts=parts, agent="main/review-2")
    assert picture(snap_compare, scene, keys=("f5", "down", "space"))


def test_rejecting_with_a_word(snap_compare: Compare) -> None:
    assert picture(snap_compare, asking(), keys=("n", *"use Decimal".replace(" ", "_")))


def test_question(snap_compare: Compare) -> None:
    scene = idle().says("set up storage").step(1).calls("c1", "ask_user", "ask user", "other")
    scene.question(
        "Which database should the shop use? It decides how orders are kept.",
        "sqlite, one file",
        "postgres, a server",
        call="c1",
    )
    assert picture(snap_compare, scene)


def test_errors_and_warnings(snap_compare: Compare) -> None:
    scene = everything().ends(
        "error", "401 from api.deepseek.com: the key was refused; /connect takes another"
    )
    assert picture(snap_compare, scene, (120, 44))


def test_thoughts_and_output_opened(snap_compare: Compare) -> None:
    scene = running()
    assert picture(snap_compare, everything().ends("cancelled"), (120, 70), keys=("ctrl+o",)) and scene


def test_a_limit(snap_compare: Compare) -> None:
    scene = (
        idle().says("spend it all").step(1).answers("I had to stop.").ends("max_turn_requests", limit="money")
    )
    assert picture(snap_compare, scene, (100, 30))


def test_diff(snap_compare: Compare) -> None:
    long = tuple(
        Hunk(f"h{n}", n * 30, 2, n * 30, 3, (" context", "-\told(value)", "+\tnew(value)", "+\tmore()"))
        for n in range(1, 9)
    )
    scene = idle().says("rename it everywhere").step(1).calls("c1", "edit", "edit src/deep/module.go", "edit")
    scene.gets("c1", "done", name="edit", blocks=(Diff("src/deep/module.go", long, 16, 8),))
    assert picture(snap_compare, scene)


def test_changes_viewer(snap_compare: Compare) -> None:
    assert picture(snap_compare, worked(), keys=("f5", "enter"))


def test_shown_blocks(snap_compare: Compare) -> None:
    tree = Tree("src", (Tree("shop", (Tree("cart.py"), Tree("折扣.py"))), Tree("main.py")))
    plot = Plot("tokens a step", (("in", tuple((float(n), float(n * n % 37)) for n in range(40))),))
    scene = idle().notices(*blocks(), tree, plot, Text("plain *text*"), Markdown("- a\n- b"))
    assert picture(snap_compare, scene, (120, 50))


def test_subagents_and_panels(snap_compare: Compare) -> None:
    scene = idle().says("review it").step(2).calls("c1", "delegate", "delegate review to reviewer", "other")
    for name, title in (("main/review-1", "read src/shop/cart.py"), ("main/review-2", "search discount")):
        scene.add(events.StepStarted(1, "m"), agent=name)
        scene.add(events.ToolCallStarted(ToolCall("x" + name, "read", {}), "read", title), agent=name)
    scene.add(
        events.PanelChanged(
            "servers", (PanelRow("pyright  python", "warm"), PanelRow("gopls  go", "starting"))
        )
    )
    assert picture(snap_compare, scene.changed("a.py", "created", 12, 0).changed("b.py", "deleted", 0, 40))


def test_plan(snap_compare: Compare) -> None:
    text = "1. subtract the rebate in `Cart.total`\n2. add a test for two discounts\n3. run the suite"
    scene = idle().says("plan it").step(1).add(events.PlanChanged(text, "pending"))
    assert picture(
        snap_compare, scene.add(events.SessionChanged("deepseek:deepseek-chat", "plan", True, "Discounts"))
    )


def test_plan_review(snap_compare: Compare) -> None:
    assert picture(snap_compare, proposed(expires=300.0))


def test_plan_review_narrow(snap_compare: Compare) -> None:
    assert picture(snap_compare, proposed(), NARROW)


def test_plan_card(snap_compare: Compare) -> None:
    assert picture(snap_compare, proposed(expires=300.0), keys=("escape",))


def with_code(*, errors: bool = True) -> Scene:
    """A turn that reads a file, with servers and problems known."""
    scene = idle().says("Where is the rebate taken off?").step(1)
    call = ToolCall("c1", "read", {"path": "src/shop/cart.py", "offset": 18})
    scene.add(events.ToolCallStarted(call, "read", "read src/shop/cart.py"), "c1").gets("c1", "line\n" * 25)
    scene.answers("In `Cart.total`, by the function `rebate`.").ends()
    rows = (
        PanelRow("ty  python", "ready"),
        PanelRow("ruff  python", "ready"),
        PanelRow("clangd  c, cpp  312 of 885 files", "indexing"),
    )
    return scene.add(events.PanelChanged("servers", rows)).add(events.PanelChanged("problems", rows))


SIZES = pytest.mark.parametrize("width", [60, 100, 160])


@SIZES
def test_outline_tab(snap_compare: Compare, width: int) -> None:
    assert picture(snap_compare, with_code(), (width, 30), keys=("alt+2",))


@SIZES
def test_problems_tab(snap_compare: Compare, width: int) -> None:
    keys = ("alt+3", "f5") if width >= 100 else ("alt+3",)
    assert picture(snap_compare, with_code(), (width, 30), keys=keys)


@SIZES
def test_servers_in_now(snap_compare: Compare, width: int) -> None:
    assert picture(snap_compare, with_code(), (width, 30), keys=("alt+1",))


@SIZES
def test_go_to_symbol(snap_compare: Compare, width: int) -> None:
    assert picture(snap_compare, with_code(), (width, 30), keys=("f6", "down"))


@SIZES
def test_references(snap_compare: Compare, width: int) -> None:
    keys = ("slash", *"references", "enter", "enter")
    assert picture(snap_compare, with_code(), (width, 30), keys=keys)


@SIZES
def test_problems_screen(snap_compare: Compare, width: int) -> None:
    assert picture(snap_compare, with_code(), (width, 30), keys=("f8",))


@SIZES
def test_viewer(snap_compare: Compare, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)
    steps = ("down", "down", "down", "v")
    keys = ("alt+2", "f5", *steps) if width >= 100 else ("f5", "alt+2", *steps)
    assert picture(snap_compare, with_code(), (width, 30), keys=keys)


def test_new_name(snap_compare: Compare) -> None:
    assert picture(snap_compare, with_code(), keys=("slash", *"rename", "enter", "enter"))


def test_approval_with_new_problems(snap_compare: Compare) -> None:
    scene = idle().says("rename it").step(1).calls("c1", "rename", "rename total to sum", "edit")
    note = (
        "new problems: 2\nsrc/shop/cart.py:25 no attribute `total`\ntests/test_cart.py:8 no attribute `total`"
    )
    scene.asks(call="c1", tool="rename", note=note)
    assert picture(snap_compare, with_facts(scene, new_problems=2))


def test_approval_without_new_problems(snap_compare: Compare) -> None:
    scene = idle().says("rename it").step(1).calls("c1", "rename", "rename total to sum", "edit")
    scene.asks(call="c1", tool="rename", note="new problems: 0")
    assert picture(snap_compare, with_facts(scene, new_problems=0), (100, 30))


def test_chinese(snap_compare: Compare) -> None:
    assert picture(snap_compare, chinese(), (100, 36))


def test_command_completion(snap_compare: Compare) -> None:
    assert picture(snap_compare, idle(), keys=("slash",))


def test_file_completion_60_columns(snap_compare: Compare) -> None:
    assert picture(snap_compare, idle(), NARROW, keys=(*"see", "space", "at", "down"))


def test_shell_draft(snap_compare: Compare) -> None:
    assert picture(
        snap_compare, idle(), keys=("exclamation_mark", *"git", "space", *"log", "shift+enter", *"more")
    )


def test_queued(snap_compare: Compare) -> None:
    keys = (*"faster", "enter", *"then", "space", *"commit", "tab")
    assert picture(snap_compare, running(), (100, 34), keys=keys)


def test_palette(snap_compare: Compare) -> None:
    assert picture(snap_compare, worked(), keys=("ctrl+p", *"ses"))


def test_help(snap_compare: Compare) -> None:
    assert picture(snap_compare, idle(), (110, 44), keys=("f1",))


def test_sessions(snap_compare: Compare) -> None:
    assert picture(snap_compare, idle(), keys=("ctrl+s",), rows=session_rows())


def test_model_picker(snap_compare: Compare) -> None:
    rows: list[Json] = [
        {"model": "deepseek:deepseek-chat", "window": 64_000, "price": "0.27 / 1.10", "state": "ready"},
        {"model": "openai:gpt-5", "window": 400_000, "price": "1.25 / 10.00", "state": "no key"},
        {"model": "ollama:qwen3-coder", "window": 32_000, "price": "", "state": "local"},
    ]
    assert answered(snap_compare, ("slash", *"model", "enter"), models=rows)


def test_connect(snap_compare: Compare) -> None:
    assert answered(snap_compare, ("slash", *"connect", "enter"), presets=PRESETS)


def test_connect_key(snap_compare: Compare) -> None:
    assert answered(snap_compare, ("slash", *"connect", "enter"), ("enter", *"sk-1234"), presets=PRESETS)


def test_theme_picker(snap_compare: Compare) -> None:
    assert picture(snap_compare, worked(), keys=("slash", *"theme", "enter", "up"))


def test_trust(snap_compare: Compare) -> None:
    assert picture(snap_compare, Scene().start(trusted=False), (100, 30))


def test_leaving_while_busy(snap_compare: Compare) -> None:
    assert picture(snap_compare, running(), (100, 30), keys=("ctrl+d",))


def test_searching(snap_compare: Compare) -> None:
    assert picture(snap_compare, worked(), keys=("f3", "slash", *"total", "enter"))
