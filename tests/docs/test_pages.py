"""Every page: its links lead somewhere, its commands exist, and nothing is of one machine."""

import argparse
import re
import shlex
import tomllib
from pathlib import Path

import pytest
from tests.docs.pages import DOCS, FENCE, PAGES, ROOT, anchor, read, rows, section

from cockpit.cli import run
from cockpit.cli.main import COMMANDS
from cockpit.settings.schema import DEFAULTS, KEYS

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
README = (ROOT / "README.md").read_text(encoding="utf-8")


def prose(path: Path) -> str:
    return FENCE.sub("", path.read_text(encoding="utf-8"))


def test_every_relative_link_leads_to_a_file_and_a_heading() -> None:
    dead = []
    for path in PAGES:
        for link in LINK.findall(prose(path)):
            if link.startswith(("http://", "https://")):
                continue
            file, _, heading = link.partition("#")
            target = (path.parent / file).resolve() if file else path
            if not target.exists() or (heading and heading not in anchors(target)):
                dead.append(f"{path.relative_to(ROOT)}: {link}")
    assert dead == []


def anchors(page: Path) -> set[str]:
    return {anchor(line.lstrip("#")) for line in prose(page).splitlines() if line.startswith("#")}


def test_no_page_names_a_path_of_one_machine() -> None:
    places = (f"{ROOT}/", f"{Path.home()}/", "/tmp/")
    texts = {path: path.read_text(encoding="utf-8") for path in PAGES}
    assert [
        f"{path.name}: {place}" for path, text in texts.items() for place in places if place in text
    ] == []


def test_every_source_file_that_a_page_names_exists() -> None:
    missing = []
    bases = (ROOT, ROOT / "src" / "cockpit")
    for path in PAGES:
        if path.parent.name == "adr":
            # A decision keeps the file names of its day.
            continue
        named = re.findall(
            r"`((?:src/cockpit/|tests/|core/|tui/|headless/|builtin/|workspace/|cli/|plugin/|protocol/"
            r"|settings/|navigation/|safety/|formats/|mcp/|mcp_serve/|installing/)[\w/.]*)`",
            prose(path),
        )
        missing += [
            f"{path.relative_to(ROOT)}: {name}"
            for name in named
            if not any((base / name).exists() for base in bases)
        ]
    assert missing == []


def commands() -> list[tuple[str, str]]:
    """Every `cockpit ...` line in a code block of any page, with the page it stands on."""
    found = []
    for path in PAGES:
        for _, body in FENCE.findall(path.read_text(encoding="utf-8")):
            for line in body.splitlines():
                for part in re.split(r"\s\|\s", line.split("  #")[0]):
                    command = re.sub(r"^\s*(?:\w+=\S+\s+)*", "", part)
                    if re.match(r"cockpit(\s|$)", command):
                        found.append((str(path.relative_to(ROOT)), command.strip()))
    return found


@pytest.mark.parametrize(("page", "command"), commands())
def test_every_command_in_a_code_block_is_understood(
    page: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = shlex.split(command)[1:]
    if words and words[0] in COMMANDS:
        return
    parser = run._parser()
    monkeypatch.setattr(
        argparse.ArgumentParser, "error", lambda self, message: pytest.fail(f"{page}: {message}")
    )
    parser.parse_args(words)


def test_docs_contain_commands_to_check() -> None:
    assert len(commands()) >= 12


def test_every_make_target_of_the_readme_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([\w-]+):", makefile, re.MULTILINE))
    assert set(re.findall(r"make ([a-z-]+)(?![\w ])", README)) <= targets
    first = README.partition("\n## ")[0]
    assert re.findall(r"^make \w+", first, re.MULTILINE) == ["make run", "make test"]


def test_the_exit_codes_are_those_of_the_code() -> None:
    from cockpit.headless import one_shot

    codes = {
        one_shot.OK,
        one_shot.ERROR,
        one_shot.USAGE,
        one_shot.LIMIT,
        one_shot.DENIED,
        one_shot.INTERRUPTED_EXIT_CODE,
    }
    assert {int(row) for row in rows(read("headless.md")) if row.isdecimal()} == codes
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", README, re.MULTILINE)} == codes


def test_every_option_of_the_command_line_is_explained() -> None:
    text = read("headless.md") + README
    options = {
        name for action in run._parser()._actions for name in action.option_strings if name[:2] == "--"
    }
    silent = {"--help", "--version", "--prompt", "--print", "--output", "--continue", "--resume"}
    assert [name for name in sorted(options - silent) if name not in text] == []
    assert all(f"cockpit {name}" in text for name in COMMANDS)


def flat(table: dict[str, object], prefix: str = "") -> list[str]:
    keys: list[str] = []
    for key, value in table.items():
        inner = flat(value, f"{prefix}{key}.") if isinstance(value, dict) and value else [f"{prefix}{key}"]
        keys += inner
    return keys


def test_every_key_with_a_default_or_a_shape_is_explained() -> None:
    listed = rows(section(read("settings.md"), "## Keys"))
    wanted = {key.name for key in KEYS if key.kind != "table" and "*" not in key.name}
    assert wanted <= set(listed)


def test_the_defaults_are_those_of_the_code() -> None:
    lines = section(read("settings.md"), "## Keys").splitlines()
    said = {
        line.split("`")[1]: line.split("|")[2].strip().strip("`") for line in lines if line.startswith("| `")
    }
    for key in flat(dict(DEFAULTS)):
        value: object = DEFAULTS
        for part in key.split("."):
            assert isinstance(value, dict)
            value = value[part]
        assert tomllib.loads(f"x = {said[key]}")["x"] == value


def test_the_index_or_the_map_links_every_page() -> None:
    index = read("index.md")
    linked = index + read_map()
    pages = [path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md") if path.name != "index.md"]
    assert [page for page in pages if f"({page})" not in linked and f"(../{page})" not in linked] == []


def read_map() -> str:
    return (DOCS / "internals" / "index.md").read_text(encoding="utf-8")


def test_every_decision_says_context_decision_consequence_and_status() -> None:
    for path in sorted((DOCS / "adr").glob("*.md")):
        text = path.read_text(encoding="utf-8")
        assert re.match(rf"# {path.name[:4]} \S", text)
        order = [text.index(f"**{part}.**") for part in ("Context", "Decision", "Consequence", "Status")]
        assert order == sorted(order) and len(text.splitlines()) <= 40
