"""Scenes for tests of the cockpit: envelopes written as a person would tell them."""

from collections.abc import Mapping
from typing import Literal

from cockpit.protocol import events
from cockpit.protocol.content import Block, Code, Diff, Hunk, Markdown, Table, Text
from cockpit.protocol.events import Envelope, Event
from cockpit.protocol.messages import (
    AssistantMessage,
    Decision,
    Json,
    Kind,
    Limit,
    Outcome,
    StopReason,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from cockpit.protocol.rows import ApprovalPart, TodoRow

TodoStatus = Literal["pending", "in_progress", "completed"]
Change = Literal["created", "modified", "deleted", "moved"]
START = 1_700_000_000.0
OPTIONS: tuple[Decision, ...] = (
    "allow_once",
    "allow_session",
    "allow_always",
    "reject_once",
    "reject_always",
)

EDIT = Diff(
    "src/shop/cart.py",
    (
        Hunk(
            "h1",
            40,
            4,
            40,
            5,
            (
                " class Cart:",
                "     def total(self):",
                "-        return sum(self.prices)",
                "+        rebate = self.discount or 0",
                "+        return sum(self.prices) - rebate",
                "     # end",
            ),
        ),
    ),
    2,
    1,
)
TESTS = Diff(
    "tests/test_cart.py",
    (
        Hunk(
            "h2",
            0,
            0,
            1,
            3,
            ("+def test_two_discounts():", "+    cart = Cart(discount=3)", "+    assert cart.total() == 7"),
        ),
    ),
    3,
    0,
)


class Scene:
    """Envelopes in order; each method adds what it says and gives the scene back."""

    def __init__(self, root: str = "/home/ada/shop", session: str = "s1", start: float = START) -> None:
        self.envelopes: list[Envelope] = []
        self.root = root
        self.session = session
        self.turn = ""
        self.agent = "main"
        self.time = start
        self._turns = 0

    def add(self, event: Event, call: str = "", agent: str = "") -> "Scene":
        self.time += 0.5
        seq = len(self.envelopes) + 1
        self.envelopes.append(
            Envelope(1, seq, self.time, self.session, self.turn, agent or self.agent, call, event)
        )
        return self

    def start(
        self, model: str = "deepseek:deepseek-chat", trusted: bool = True, resumed: bool = False
    ) -> "Scene":
        return self.add(events.SessionStarted(self.root, model, "ask", trusted, resumed, "0.1.0"))

    def says(self, text: str, op: str = "op") -> "Scene":
        self._turns += 1
        self.turn = f"t{self._turns}"
        return self.add(events.TurnStarted(op, "tui", (Text(text),)))

    def step(self, number: int = 1, model: str = "deepseek:deepseek-chat") -> "Scene":
        return self.add(events.StepStarted(number, model))

    def thinks(self, *pieces: str, message: str = "m1") -> "Scene":
        for piece in pieces:
            self.add(events.ThoughtDelta(message, piece))
        return self

    def streams(self, *pieces: str, message: str = "m1") -> "Scene":
        for piece in pieces:
            self.add(events.TextDelta(message, piece))
        return self

    def answers(
        self, text: str, message: str = "m1", thoughts: str = "", calls: tuple[ToolCall, ...] = ()
    ) -> "Scene":
        whole = AssistantMessage(text, calls, thoughts, "tool_calls" if calls else "stop", "deepseek-chat")
        return self.add(events.MessageFinished(message, whole))

    def steered(self, text: str) -> "Scene":
        return self.add(events.MessageFinished("u", UserMessage((Text(text),))))

    def calls(self, id: str, name: str, title: str, kind: Kind = "read", asked_by: str = "model") -> "Scene":
        call = ToolCall(id, name, {})
        who = "person" if asked_by == "person" else "model"
        return self.add(events.ToolCallStarted(call, kind, title, who), id)

    def prints(self, id: str, text: str) -> "Scene":
        return self.add(events.ToolCallProgressed(id, text), id)

    def gets(
        self,
        id: str,
        text: str = "",
        *,
        name: str = "read",
        outcome: Outcome = "ok",
        blocks: tuple[Block, ...] = (),
        seconds: float = 0.0,
    ) -> "Scene":
        return self.add(events.ToolCallFinished(ToolResult(id, name, outcome, text, blocks, "", seconds)), id)

    def asks(
        self,
        id: str = "a1",
        call: str = "c1",
        *,
        tool: str = "edit",
        title: str = "edit src/shop/cart.py",
        parts: tuple[ApprovalPart, ...] = (ApprovalPart("p1", "src/shop/cart.py", "", EDIT),),
        reason: str = "changes a file of the workspace",
        destination: str = "",
        risk: int = 30,
        shape: str = "edits of files in src/",
        agent: str = "main",
        note: str = "",
        whole: bool = False,
    ) -> "Scene":
        asked = events.ApprovalRequested(
            id, agent, tool, title, reason, parts, destination, risk, shape, OPTIONS, 0.0, note, whole
        )
        return self.add(asked, call)

    def decided(self, id: str = "a1", decision: Decision = "allow_once") -> "Scene":
        return self.add(events.ApprovalResolved(id, decision, "person"))

    def question(self, text: str, *options: str, id: str = "q1", call: str = "") -> "Scene":
        return self.add(events.QuestionAsked(id, text, options), call)

    def todo(self, *rows: tuple[str, TodoStatus]) -> "Scene":
        made = tuple(TodoRow(text, status) for text, status in rows)
        return self.add(events.TodoChanged(made))

    def changed(
        self, path: str, change: Change = "modified", added: int = 0, removed: int = 0, call: str = "c"
    ) -> "Scene":
        return self.add(events.FileChanged(path, change, added, removed), call)

    def uses(
        self, tokens: int = 18_200, out: int = 1_100, cost: float | None = 0.04, context: int = 14_720
    ) -> "Scene":
        usage = Usage(tokens, out, 4_000, cost, 3)
        return self.add(events.UsageChanged(usage, context, 64_000))

    def warns(self, text: str, hint: str = "", source: str = "") -> "Scene":
        return self.add(events.Warned(text, hint, source))

    def notices(self, *blocks: Block, plugin: str = "status", kind: str = "show", **data: Json) -> "Scene":
        values: Mapping[str, Json] = data
        return self.add(events.Noticed(plugin, kind, blocks, values))

    def ends(self, reason: StopReason = "end_turn", message: str = "", limit: Limit | None = None) -> "Scene":
        usage = Usage(18_200, 1_100, 4_000, 0.04, 3)
        self.add(events.TurnFinished(reason, usage, 12.4, limit, 0, message))
        self.turn = ""
        return self


ANSWER = """The total ignores `discount` because **Cart.total** sums prices before it is applied.

## What I changed

1. `src/shop/cart.py:42` subtracts the rebate once
2. `tests/test_cart.py` pins the case of two discounts

```python
def total(self) -> int:
    rebate = self.discount or 0  # None means no discount
    return sum(self.prices) - rebate
```

| case | before | after |
|---|--:|--:|
| no discount | 10 | 10 |
| discount 3 | 10 | **7** |

> All 12 tests pass. See the [guide](https://example.org/guide) for rounding.
"""


def worked() -> Scene:
    """A whole turn: thoughts, reads, an edit, tests, an answer."""
    scene = Scene().start().says("Make the cart total respect the discount and run the tests").step(1)
    scene.thinks("The total must take the discount into account. ", "Let me look at the cart first.")
    scene.answers(
        "", thoughts="The total must take the discount into account. Let me look at the cart first."
    )
    scene.calls("c1", "read", "read src/shop/cart.py").gets("c1", "line\n" * 120)
    scene.calls("c2", "search", 'search "discount" in src', "search").gets("c2", "hit\n" * 7, seconds=0.1)
    scene.todo(
        ("read the cart", "completed"),
        ("find every caller", "completed"),
        ("change the sum", "in_progress"),
        ("run the tests", "pending"),
    )
    scene.step(2).streams("The total ignores `discount`. ", "I change one line:", message="m2")
    scene.answers("The total ignores `discount`. I change one line:", "m2")
    scene.calls("c3", "edit", "edit src/shop/cart.py", "edit").asks(call="c3").decided()
    scene.gets("c3", "edited", name="edit", blocks=(EDIT,)).changed("src/shop/cart.py", "modified", 2, 1)
    scene.calls("c4", "shell", "shell pytest -q tests/test_cart.py", "execute")
    scene.prints("c4", "............\n").gets(
        "c4", "............                    [100%]\n12 passed in 0.31s\n", name="shell", seconds=1.2
    )
    scene.todo(
        ("read the cart", "completed"),
        ("find every caller", "completed"),
        ("change the sum", "completed"),
        ("run the tests", "completed"),
    )
    scene.step(3).streams(*[ANSWER[n : n + 12] for n in range(0, len(ANSWER), 12)], message="m3")
    return scene.answers(ANSWER, "m3").changed("tests/test_cart.py", "created", 3, 0).uses().ends()


def running() -> Scene:
    """In the middle of a turn: a tool prints."""
    scene = Scene().start().says("Make the cart total respect the discount and run the tests").step(1)
    scene.answers("", thoughts="Look at the cart first.")
    scene.calls("c1", "read", "read src/shop/cart.py").gets("c1", "line\n" * 120)
    scene.todo(
        ("read the cart", "completed"), ("change the sum", "in_progress"), ("run the tests", "pending")
    )
    scene.uses().step(2).calls("c4", "shell", "shell pytest -q tests/test_cart.py", "execute")
    return scene.prints(
        "c4", "....F...\nFAILED tests/test_cart.py::test_total - assert 10 == 7\ncollecting more"
    )


def asking() -> Scene:
    """An approval waits."""
    scene = Scene().start().says("Make the cart total respect the discount").step(1)
    scene.streams("The total ignores `discount`. I change one line:")
    scene.answers("The total ignores `discount`. I change one line:")
    scene.uses().calls("c1", "edit", "edit src/shop/cart.py", "edit")
    return scene.asks(call="c1")


def blocks() -> tuple[Block, ...]:
    """One of many kinds of content."""
    return (
        Markdown("**status** of this session"),
        Table(("what", "value"), (("model", "deepseek:deepseek-chat"), ("mode", "ask")), "Session"),
        Code("def f():\n    return 1\n", "python", "src/a.py", 10),
    )


def hostile() -> Scene:
    """Everything that comes from outside tries to act on the terminal."""
    evil = "\x1b]2;OWNED\x07\x1b[2J\x1b[HGOTCHA\u202e"
    scene = Scene().start().says(f"say {evil}").step(1).thinks(evil).streams(f"a {evil}\n\n", message="m2")
    scene.calls("c1", "shell", f"shell echo {evil}", "execute").prints("c1", evil)
    scene.gets("c1", evil, name="shell")
    scene.todo((evil, "pending")).warns(evil, evil).changed(f"{evil}.py")
    return scene.answers(f"`{evil}` the end", "m3")
