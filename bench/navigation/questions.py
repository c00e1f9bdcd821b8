"""What an answered question costs in tokens: by symbol, and by searching and reading.

Both use the product's own tools in a session. A wrong answer counts as the whole file with the right one.
"""

import asyncio
import re
import tomllib
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from cockpit.core.session.deck import LocalDeck
from cockpit.core.session.options import RunOptions
from cockpit.protocol.channel import Channel
from cockpit.protocol.events import ToolCallFinished
from cockpit.protocol.messages import Json
from cockpit.protocol.ops import CallTool

HERE = Path(__file__).parent
AROUND = 60
Arguments: TypeAlias = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Question:
    """`place` is the subject of the question; `answer` are `path:line`."""

    asks: str
    tool: str
    place: str
    answer: tuple[str, ...]

    def name(self, root: Path) -> str:
        """The word a search would look for."""
        if match := re.fullmatch(r"(.+):(\d+):(\d+)", self.place):
            line = (root / match[1]).read_text(encoding="utf-8").split("\n")[int(match[2]) - 1]
            found = re.match(r"\w+", line[int(match[3]) - 1 :])
            return found[0] if found else ""
        return re.split(r"[.:]", self.place)[-1]


def all_of_them() -> list[Question]:
    rows = tomllib.loads((HERE / "questions.toml").read_text(encoding="utf-8"))["question"]
    return [Question(row["asks"], row["tool"], row["place"], tuple(row["answer"])) for row in rows]


def by_symbol(question: Question) -> tuple[str, Arguments]:
    """The call that answers by symbol."""
    match question.tool:
        case "symbols":
            return "symbols", {"path": question.place}
        case "subtypes":
            return "hierarchy", {"symbol": question.place, "of": "types", "direction": "down"}
        case tool:
            return tool, {"symbol": question.place}


def by_search(question: Question, root: Path) -> list[tuple[str, Arguments]]:
    """The calls needed without symbols: the file of an outline is read, uses are searched as a word, a
    definition is searched and the lines after it are read."""
    path, _, line = question.answer[0].rpartition(":")
    word = rf"\b{question.name(root)}\b"
    match question.tool:
        case "symbols":
            return [("read", {"path": question.place})]
        case "subtypes":
            return [("search", {"pattern": rf"class \w+\(.*{word}"})]
        case "definition":
            return [
                ("search", {"pattern": word}),
                ("read", {"path": path, "start": int(line), "lines": AROUND}),
            ]
        case _:
            return [("search", {"pattern": word})]


def answered(question: Question, text: str) -> bool:
    """Whether every line of the answer is in a result that groups lines by file."""
    found: set[str] = set()
    path = question.place if question.tool == "symbols" else ""
    for line in text.split("\n"):
        if match := re.match(r"\s+(\d+)(?::|\s|-)", line):
            found.add(f"{path}:{match[1]}")
        elif line and not line[0].isspace():
            path = line.strip().rstrip(":")
    return set(question.answer) <= found


def tokens_of(text: str) -> int:
    return (len(text.encode()) + 3) // 4


async def tokens(root: Path) -> Mapping[str, float]:
    """Sums over all questions, and how many were answered correctly by symbol."""
    deck = LocalDeck(RunOptions(mode="full", trust=True))
    calls = Calls(await deck.open(str(root)))
    questions = all_of_them()
    # The very first question waits for the server; a warm one is measured here.
    await calls.run("references", {"symbol": "django/utils/duration.py:18:5"})
    right = symbol = search = 0
    for question in questions:
        text = await calls.run(*by_symbol(question))
        symbol += tokens_of(text)
        if answered(question, text):
            right += 1
        else:
            print(f"wrong: {question.asks}\n{text[:400]}")
            symbol += sum(_whole(root, path) for path in {one.rpartition(":")[0] for one in question.answer})
        for tool, arguments in by_search(question, root):
            search += tokens_of(await calls.run(tool, arguments))
    await deck.close()
    count = len(questions)
    return {"symbol": symbol / count, "search": search / count, "right": right, "count": count}


def _whole(root: Path, path: str) -> int:
    return tokens_of((root / path).read_text(encoding="utf-8"))


class Calls:
    """Calls tools one after the other in one session."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._results: asyncio.Queue[str] = asyncio.Queue()
        self._reading = asyncio.create_task(self._read())

    async def run(self, tool: str, arguments: Arguments) -> str:
        await self._channel.submit(CallTool(uuid.uuid4().hex, "tui", tool, arguments))
        return await asyncio.wait_for(self._results.get(), 60)

    async def _read(self) -> None:
        async for envelope in self._channel.events():
            if isinstance(envelope.event, ToolCallFinished):
                self._results.put_nowait(envelope.event.result.text)
