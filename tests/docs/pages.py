"""The pages of docs/ as tests read them: headings, tables, code blocks, links."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(ROOT / "plugins").glob("*/README.md")])
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def read(name: str) -> str:
    """The text of a page by its file name, whatever its group."""
    (page,) = [path for path in DOCS.rglob(name) if path.parent.name != "internals" or name != "index.md"]
    return page.read_text(encoding="utf-8")


def section(text: str, heading: str) -> str:
    """The text under a heading (`## Scope`) up to the next of its level or a higher one."""
    level = heading.partition(" ")[0]
    found = re.search(
        rf"^{re.escape(heading)}$\n(.*?)(?=^#{{1,{len(level)}}} |\Z)", text, re.DOTALL | re.MULTILINE
    )
    assert found, f"there is no heading {heading!r}"
    return found[1]


def own(text: str) -> str:
    """A section without the sections inside it."""
    return re.split(r"^#+ ", text, maxsplit=1, flags=re.MULTILINE)[0]


def rows(text: str) -> list[str]:
    """The words in backticks that begin the rows of the tables in `text`."""
    return re.findall(r"^\| \[?`([^`]+)`", text, re.MULTILINE)


def blocks(text: str, language: str) -> list[str]:
    """The code blocks of one language."""
    return [body for named, body in FENCE.findall(text) if named == language]


def anchor(heading: str) -> str:
    """The anchor of a heading, as the usual renderers make it."""
    letters = re.sub(r"[^\w\- ]", "", heading.strip().lower().replace("`", ""))
    return letters.replace(" ", "-")
