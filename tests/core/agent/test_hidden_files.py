"""No tool shows the content of a file that a deny rule hides."""

import subprocess
from pathlib import Path

import pytest
from tests.support.decks import call, driving, script

from cockpit.core.session.options import RunOptions
from cockpit.protocol.events import ToolCallFinished, TurnStarted

LINE = "TOTAL_OF_THE_DEAL = 4711  # between us"


@pytest.fixture
def deal(root: Path) -> Path:
    (root / "secret").mkdir()
    (root / "secret" / "deal.py").write_text(
        f"{LINE}\n\n\ndef close_deal() -> int:\n    return TOTAL_OF_THE_DEAL\n"
    )
    (root / "open.py").write_text("from secret.deal import TOTAL_OF_THE_DEAL\n\nprint(TOTAL_OF_THE_DEAL)\n")

    def git(*arguments: str) -> None:
        subprocess.run(("git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments), cwd=root, check=True)

    git("init", "-q", ".")
    git("add", ".")
    git("commit", "-qm", "first")
    (root / "secret" / "deal.py").write_text(f"{LINE} 2\n")
    (root / "open.py").write_text("print(1)\n")
    return root


CALLS = (
    call("read", path="secret/deal.py"),
    call("search", pattern="4711"),
    call("search", pattern="between us", path="secret/deal.py"),
    call("git", what="diff"),
    call("git", what="show", ref="HEAD"),
    call("git", what="blame", path="secret/deal.py"),
    call("symbols", query="TOTAL_OF_THE_DEAL"),
    call("references", symbol="secret/deal.py:1"),
    call("definition", symbol="secret/deal.py:4"),
    call("project_map", path="."),
    call("edit", path="secret/deal.py", old="TOTAL_OF_THE_DEAL = 4712", new="x"),
)


async def test_a_rule_that_denies_reading_hides_the_lines_from_every_tool(
    deal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = [{"calls": [one]} for one in CALLS]
    monkeypatch.setenv("COCKPIT_SCRIPT", str(script(deal.parent, *steps, {"text": "done"})))
    options = RunOptions(model="scripted:script", mode="full", deny=("Read(secret/**)",))
    async with driving(deal, options=options) as driver:
        await driver.prompt("tell me of @secret/deal.py and @open.py")
        results = {one.result.call: one.result for one in driver.all(ToolCallFinished)}
        started = driver.all(TurnStarted)[0]
        assert len(results) == len(CALLS)
        for result in results.values():
            told = repr(result)
            assert "between us" not in told and "return TOTAL" not in told, told
        assert "between us" not in repr(started)
    texts = [one.text for one in results.values()]
    assert any("open.py" in text for text in texts), "what is not hidden is still told"
    assert "print(1)" in texts[3], texts[3]


async def test_names_are_no_secret(deal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [{"calls": [call("glob", pattern="**/*.py")]}, {"text": "done"}]
    monkeypatch.setenv("COCKPIT_SCRIPT", str(script(deal.parent, *steps)))
    options = RunOptions(model="scripted:script", deny=("Read(secret/**)",))
    async with driving(deal, options=options) as driver:
        await driver.prompt("go")
        assert "secret/deal.py" in driver.all(ToolCallFinished)[0].result.text
