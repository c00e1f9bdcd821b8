"""A plan that waits for a person, as scenes tell it."""

from tests.support.scenes import Scene

from cockpit.protocol import events
from cockpit.protocol.rows import ApprovalPart, PlanStep

TEXT = """# Take the rebate off once

The total ignores `discount`; I subtract it in one place.

## Steps

1. edit `src/shop/cart.py`: subtract the rebate
2. run `pytest -q` (changes nothing): see the tests pass

## Verify

- `pytest -q`

## Roll back

- `git checkout src/shop/cart.py`
"""
STEPS = (
    PlanStep("edit", "subtract the rebate in Cart.total", path="src/shop/cart.py"),
    PlanStep("command", "see the tests pass", "pytest -q", read_only=True, level="ask"),
    PlanStep("command", "see what changed", "git diff", read_only=True, level="allow"),
    PlanStep("command", "tidy up", "rm -rf ~/", level="deny", reason="it removes your home folder"),
    PlanStep("note", "tell Ada about the rounding"),
)
PLAN = events.PlanChanged(
    TEXT,
    "pending",
    "a1",
    "Take the rebate off once",
    STEPS,
    ("pytest -q",),
    ("git checkout src/shop/cart.py",),
    "ask",
)


def planning() -> Scene:
    scene = Scene().start().add(events.PlanChanged("", "planning", mode="ask"))
    return scene.add(events.SessionChanged("deepseek:deepseek-chat", "plan", True, "Discounts"))


def proposed(plan: events.PlanChanged = PLAN, expires: float = 0.0) -> Scene:
    scene = (
        planning().says("plan it").step(1).calls("c1", "propose_plan", "plan Take the rebate off", "think")
    )
    scene.add(plan)
    part = (ApprovalPart("plan", plan.title, plan.text),)
    asked = events.ApprovalRequested(
        "a1",
        "main",
        "propose_plan",
        f"plan: {plan.title}",
        "the model asks to leave plan mode and carry this out",
        part,
        "",
        0,
        "",
        ("allow_once", "reject_once"),
        expires,
        whole=True,
    )
    return scene.add(asked, "c1")
