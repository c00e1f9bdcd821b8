"""Records the demo of the README: cockpit on a small project with the offline model, in a real terminal.

Writes `docs/images/demo.cast` (asciinema format version 2, play it with `asciinema play`) and an animated
`docs/images/demo.svg` made from it. Run with `make demo`.
"""

import html
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyte
from tests.support.terminals import Terminal

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
COLUMNS, ROWS = 100, 30
CELL_WIDTH, CELL_HEIGHT = 8.4, 18
# Seconds that each keystroke and each finished step stay on the screen in the recording.
KEY_SECONDS, PAUSE_SECONDS = 0.06, 1.6
SHOP = '''"""A cart and its prices."""

DISCOUNT = 1


def total(prices: list[float]) -> float:
    """The sum of `prices` less the discount."""
    return sum(prices) - DISCOUNT
'''


@dataclass(frozen=True, slots=True)
class Frame:
    """What the terminal wrote up to a moment of the recording."""

    seconds: float
    output: bytes


def record() -> list[Frame]:
    """Play the session in a terminal."""
    with tempfile.TemporaryDirectory() as folder:
        root, home = Path(folder) / "shop", Path(folder) / "home"
        root.mkdir()
        home.mkdir()
        (root / "cart.py").write_text(SHOP, encoding="utf-8")
        subprocess.run(["git", "init", "-q"], cwd=root, check=True)
        environment = {
            **os.environ,
            "HOME": str(home),
            "COCKPIT_HOME": str(home / "cockpit"),
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
        }
        command = [sys.executable, "-m", "cockpit", "--cwd", str(root), "--trust"]
        terminal = Terminal(command, environment, COLUMNS, ROWS)
        try:
            return list(_play(terminal))
        finally:
            terminal.close()


def _play(terminal: Terminal) -> Iterator[Frame]:
    clock = 0.0
    shown = 0

    def frame(seconds: float) -> Frame:
        nonlocal clock, shown
        clock += seconds
        output, shown = terminal.seen[shown:], len(terminal.seen)
        return Frame(clock, output)

    terminal.until_text("Ask anything")
    yield frame(0.0)
    for prompt, awaited in (
        ("where is total defined", "cart.py:6"),
        ('replace "DISCOUNT = 1" by "DISCOUNT = 2" in cart.py', "approves"),
    ):
        clock += PAUSE_SECONDS
        for key in prompt:
            terminal.send(key.encode())
            terminal.until_text(key)
            terminal.settle()
            yield frame(KEY_SECONDS)
        terminal.send(b"\r")
        terminal.until_text(awaited) if awaited != "approves" else terminal.until_text("DISCOUNT = 2")
        terminal.settle(0.8)
        yield frame(PAUSE_SECONDS / 2)
    clock += PAUSE_SECONDS
    terminal.send(b"y")
    terminal.settle(1.5)
    yield frame(PAUSE_SECONDS / 2)
    clock += 2 * PAUSE_SECONDS
    terminal.send(b"\x04")
    yield Frame(clock, b"")


def write_cast(frames: list[Frame], path: Path) -> None:
    """Write the recording in asciinema's format, version 2."""
    header = {"version": 2, "width": COLUMNS, "height": ROWS, "title": "cockpit"}
    lines = [json.dumps(header)]
    lines += [
        json.dumps([round(frame.seconds, 3), "o", frame.output.decode("utf-8", "replace")])
        for frame in frames
        if frame.output
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_svg(cast: Path, path: Path) -> None:
    """Draw the recording as one SVG whose frames take turns."""
    _, *events = [json.loads(line) for line in cast.read_text(encoding="utf-8").splitlines()]
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.Stream(screen)
    drawn: list[tuple[float, str]] = []
    for seconds, _, text in events:
        stream.feed(text)
        picture = "".join(_draw_row(screen, row) for row in range(ROWS))
        # Typed characters follow each other quickly: every fourth of them is enough for a smooth picture.
        if drawn and seconds - drawn[-1][0] < 4 * KEY_SECONDS - 0.01:
            continue
        drawn.append((seconds, picture))
    end = events[-1][0] + 2 * PAUSE_SECONDS
    width, height = COLUMNS * CELL_WIDTH + 20, ROWS * CELL_HEIGHT + 20
    styles, groups = [], []
    for number, (seconds, picture) in enumerate(drawn):
        until = drawn[number + 1][0] if number + 1 < len(drawn) else end
        begin, stop = 100 * seconds / end, 100 * until / end
        styles.append(
            f"@keyframes f{number}{{0%,{begin:.3f}%{{visibility:hidden}}{begin + 0.001:.3f}%,{stop:.3f}%"
            f"{{visibility:visible}}{min(100, stop + 0.001):.3f}%,100%{{visibility:hidden}}}}"
            f"#f{number}{{animation:f{number} {end:.1f}s step-end infinite}}"
        )
        groups.append(f'<g id="f{number}">{picture}</g>')
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'font-family="Menlo, Consolas, DejaVu Sans Mono, monospace" font-size="14" xml:space="preserve">'
        f"<title>cockpit finds a function and edits a file after an approval</title>"
        f"<style>g{{visibility:hidden}}{''.join(styles)}</style>"
        f'<rect width="100%" height="100%" rx="8" fill="#{_background(screen)}"/>'
        f"{''.join(groups)}</svg>\n",
        encoding="utf-8",
    )


def _background(screen: Any) -> str:
    colour = screen.buffer[ROWS // 2][0].bg
    return colour if _is_hex(colour) else "15181e"


def _is_hex(colour: str) -> bool:
    return len(colour) == 6 and all(digit in "0123456789abcdef" for digit in colour.lower())


def _draw_row(screen: Any, row: int) -> str:
    """One row: runs of cells of one style as rectangles and text."""
    parts: list[str] = []
    cells = [screen.buffer[row][column] for column in range(COLUMNS)]
    column = 0
    while column < COLUMNS:
        first = cells[column]
        end = column
        while end < COLUMNS and cells[end]._replace(data="") == first._replace(data=""):
            end += 1
        text = "".join(cell.data for cell in cells[column:end])
        front, back = (first.bg, first.fg) if first.reverse else (first.fg, first.bg)
        x, y = 10 + column * CELL_WIDTH, 10 + row * CELL_HEIGHT
        if _is_hex(back):
            length = (end - column) * CELL_WIDTH
            parts.append(
                f'<rect x="{x:.1f}" y="{y}" width="{length:.1f}" height="{CELL_HEIGHT}" fill="#{back}"/>'
            )
        if text.strip():
            colour = front if _is_hex(front) else "c9d1d9"
            weight = ' font-weight="bold"' if first.bold else ""
            parts.append(
                f'<text x="{x:.1f}" y="{y + 14}" textLength="{(end - column) * CELL_WIDTH:.1f}" '
                f'fill="#{colour}"{weight}>{html.escape(text)}</text>'
            )
        column = end
    return "".join(parts)


def main() -> int:
    IMAGES.mkdir(parents=True, exist_ok=True)
    cast = IMAGES / "demo.cast"
    write_cast(record(), cast)
    write_svg(cast, IMAGES / "demo.svg")
    print(f"{cast.relative_to(ROOT)}, {IMAGES.relative_to(ROOT)}/demo.svg")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
