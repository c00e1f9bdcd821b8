"""Heads are read without their bodies, and once."""

from pathlib import Path

import pytest

from cockpit.formats.frontmatter import FIRST_READ_BYTES, MAX_HEAD_BYTES, FrontmatterCache


def test_a_head_is_read_without_what_stands_behind_it(tmp_path: Path) -> None:
    path = tmp_path / "SKILL.md"
    path.write_text(
        "---\nname: a\n---\n\n# Title\n\nFirst\nparagraph.\n\nSecond.\n" + "x" * FIRST_READ_BYTES + "END"
    )
    document = FrontmatterCache().read(path)
    assert document.fields == {"name": "a"} and document.body == "First paragraph."


def test_a_long_head_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "SKILL.md"
    path.write_text(f"---\nname: a\nmetadata:\n  long: {'y' * FIRST_READ_BYTES}\ndescription: D\n---\nBody")
    assert FrontmatterCache().read(path).fields["description"] == "D"
    path.write_text(f"---\nname: a\nlong: {'y' * MAX_HEAD_BYTES}\n---\nBody")
    assert "never closed" in FrontmatterCache().read(path).faults[0].reason


def test_head_is_cached_until_the_file_changes(tmp_path: Path) -> None:
    path, file = tmp_path / "SKILL.md", tmp_path / "cache" / "heads.json"
    path.write_text("---\nname: a\ntools: [x\n---\nBody")
    first = FrontmatterCache(file)
    read = first.read(path)
    first.save()
    kept = file.read_text(encoding="utf-8")
    assert '"name": "a"' in kept
    file.write_text(kept.replace('"name": "a"', '"name": "kept"'), encoding="utf-8")
    again = FrontmatterCache(file)
    assert again.read(path).fields["name"] == "kept" and again.read(path).faults == read.faults
    path.write_text("---\nname: other\n---\nBody")
    assert FrontmatterCache(file).read(path).fields["name"] == "other"


@pytest.mark.parametrize("content", ["", "[]", "{", '{"version": "0"}', '{"heads": 1}'])
def test_broken_cache_is_ignored(tmp_path: Path, content: str) -> None:
    path, file = tmp_path / "SKILL.md", tmp_path / "heads.json"
    path.write_text("---\nname: a\n---\n")
    file.write_text(content)
    assert FrontmatterCache(file).read(path).fields == {"name": "a"}
