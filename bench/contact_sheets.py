"""One image per theme with all its snapshots, to look at: `build/contact_sheets/THEME.png`.

Needs `rsvg-convert` and ImageMagick's `montage`; without them it says how to install them and exits with 0.
"""

import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
SHEETS = ROOT / "build" / "contact_sheets"
WIDTH = 800
COLUMNS = 4
TOOLS = {
    "rsvg-convert": "apt install librsvg2-bin, dnf install librsvg2-tools, brew install librsvg",
    "montage": "apt install imagemagick, dnf install ImageMagick, brew install imagemagick",
}


def main() -> int:
    missing = [name for name in TOOLS if shutil.which(name) is None]
    for name in missing:
        print(f"no contact sheets: {name} is not installed ({TOOLS[name]})", file=sys.stderr)
    if missing:
        return 0
    pictures = sorted((ROOT / "snapshots").rglob("*.svg"))
    if not pictures:
        print("no contact sheets: there are no snapshots; make snapshots draws them", file=sys.stderr)
        return 0
    SHEETS.mkdir(parents=True, exist_ok=True)
    for theme, chosen in by_theme(pictures, backgrounds()).items():
        sheet = SHEETS / f"{theme}.png"
        draw(chosen, sheet)
        print(f"{sheet.relative_to(ROOT)}: {len(chosen)} snapshots")
    return 0


def backgrounds() -> Mapping[str, str]:
    """The background of each packaged theme, by its name."""
    found = {}
    for path in sorted((ROOT / "themes").glob("*.toml")):
        theme = tomllib.loads(path.read_text(encoding="utf-8"))
        found[str(theme.get("name", path.stem))] = str(theme["background"]).lower()
    return found


def by_theme(pictures: list[Path], themes: Mapping[str, str]) -> dict[str, list[Path]]:
    """The pictures by the theme whose background covers most of them; "other" if there is none."""
    sheets: dict[str, list[Path]] = {}
    for picture in pictures:
        drawn = picture.read_text(encoding="utf-8").lower()
        counts = {name: drawn.count(colour) for name, colour in themes.items()}
        theme = max(counts, key=counts.__getitem__, default="")
        sheets.setdefault(theme if counts.get(theme) else "other", []).append(picture)
    return sheets


def draw(pictures: list[Path], sheet: Path) -> None:
    """Combine `pictures` into one image, with their names below them."""
    with tempfile.TemporaryDirectory() as folder:
        drawn: list[str] = []
        for picture in pictures:
            png = Path(folder) / f"{picture.stem}.png"
            command = ["rsvg-convert", "--width", str(WIDTH), "--output", str(png), str(picture)]
            subprocess.run(command, check=True)
            drawn += ["-label", picture.stem.removeprefix("test_").replace("_", " "), str(png)]
        layout = ["-tile", f"{COLUMNS}x", "-geometry", "+12+12", "-background", "#808080"]
        subprocess.run(["montage", *drawn, *layout, str(sheet)], check=True)


if __name__ == "__main__":
    sys.exit(main())
