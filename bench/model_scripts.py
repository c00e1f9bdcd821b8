"""Scripts for the `scripted` model: the text that is streamed, the same for every peer."""

import json
import random
from pathlib import Path

END = "zqendzq"
SENTENCE = (
    "the a of and to in file line test call value name path model tool turn step session event change read "
    "write search result answer request server window frame cell colour key editor project folder branch"
)
WORDS = tuple(SENTENCE.split())


def prose(count: int = 20_000) -> list[str]:
    """`count` words in paragraphs of 40 to 90, with an occasional list or code block."""
    chance = random.Random(2)
    pieces: list[str] = []
    left = chance.randint(40, 90)
    while len(pieces) < count - 1:
        left -= 1
        if left > 0:
            pieces.append(chance.choice(WORDS) + " ")
            continue
        left = chance.randint(40, 90)
        pieces.append("\n\n" + chance.choice(("", "", "", "- ", "**so** ", "`code` ")))
    return [*pieces, f"\n\n{END}"]


def paragraphs(count: int = 10_000) -> list[str]:
    """Short paragraphs, one per piece."""
    chance = random.Random(3)
    made = [" ".join(chance.choices(WORDS, k=chance.randint(3, 9))) + ".\n\n" for _ in range(count - 1)]
    return [*made, END]


def write(folder: Path, name: str, pieces: list[str], delay_ms: float = 0) -> Path:
    """Write a script that plays `pieces` for every prompt."""
    path = folder / f"{name}.json"
    step = {"chunks": pieces, "text": "", "delay_ms": delay_ms, "repeat": 5}
    path.write_text(json.dumps({"steps": [step]}), encoding="utf-8")
    return path
