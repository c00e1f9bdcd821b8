"""New problems after an edit are sent with the next request, once. Real processes and servers."""

import asyncio
import json
from pathlib import Path

from tests.support.command import Ended, cockpit
from tests.support.provider import Answer, Provider, chunk, finish, stream, text

GOOD = "def total(price: int) -> int:\n    return price\n"
BROKEN = "def total(price: int) -> int:\n    return prise\n"


def calling(name: str, **arguments: str) -> Answer:
    call = {"index": 0, "id": f"c-{name}", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return stream(chunk({"tool_calls": [call]}), finish("tool_calls"))


async def test_new_problem_is_sent_with_the_next_request_once(
    root: Path,
) -> None:
    (root / "app.py").write_text(GOOD, encoding="utf-8")
    answers = (
        calling("write", path="app.py", content=BROKEN),
        calling("read", path="app.py"),
        stream(text("done"), finish("stop")),
    )
    async with Provider(*answers) as provider:
        keys = {"OPENAI_BASE_URL": provider.base_url, "OPENAI_API_KEY": "x"}
        asked = ("-p", "break it", "--mode", "full", "--model", "openai:m")
        ended: Ended = await asyncio.to_thread(cockpit, *asked, cwd=root, environment=keys)
        assert ended.code == 0, ended.err
        sent = [one.body.decode() for one in provider.requests if one.body]
    assert [text.count("`prise` used when not defined") for text in sent] == [0, 1, 0]


async def test_edit_without_new_problems_reports_nothing(root: Path) -> None:
    (root / "app.py").write_text(BROKEN, encoding="utf-8")
    fixed = f"# a line that moves the others\n{BROKEN}\n\nLIMIT = 3\n"
    answers = (calling("write", path="app.py", content=fixed), stream(text("done"), finish("stop")))
    async with Provider(*answers) as provider:
        keys = {"OPENAI_BASE_URL": provider.base_url, "OPENAI_API_KEY": "x"}
        asked = ("-p", "add a limit", "--mode", "full", "--model", "openai:m")
        ended: Ended = await asyncio.to_thread(cockpit, *asked, cwd=root, environment=keys)
        assert ended.code == 0, ended.err
        sent = [one.body.decode() for one in provider.requests if one.body]
    assert not any("New problems" in text for text in sent)
