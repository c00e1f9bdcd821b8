"""The sources that a user can name to install."""

from pathlib import Path

import pytest

from cockpit.errors import CockpitError
from cockpit.installing.sources import parse_source, split_git_address


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("cockpit-words", "index"),
        ("cockpit-words[more]==1.2", "index"),
        ("git+https://example.org/ada/words", "git"),
        ("git@example.org:ada/words.git", "git"),
        ("https://example.org/ada/words.git@v1", "git"),
        ("https://example.org/words-1.0-py3-none-any.whl", "archive"),
    ],
)
def test_sources_are_recognised_by_their_form(text: str, kind: str) -> None:
    assert parse_source(text).kind == kind


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is not a plugin source"),
        ("--index-url=http://elsewhere", "is not a plugin source"),
        ("-r", "is not a plugin source"),
        ("https://example.org/ada/words", "git+https://example.org/ada/words"),
        ("words @ https://example.org/words.whl", "contains an address"),
        ("two words", "not a distribution name"),
        ("./gone", "does not exist"),
    ],
)
def test_an_invalid_source_names_valid_ones(text: str, words: str) -> None:
    with pytest.raises(CockpitError) as raised:
        parse_source(text)
    assert words in str(raised.value)


def test_a_folder_needs_a_project_or_a_bundle(tmp_path: Path) -> None:
    with pytest.raises(CockpitError, match="contains no plugin"):
        parse_source(str(tmp_path))
    (tmp_path / "pyproject.toml").write_text("", encoding="utf-8")
    assert (
        parse_source(str(tmp_path)).kind == "folder"
        and parse_source(str(tmp_path), editable=True).kind == "editable"
    )
    assert parse_source(f"{tmp_path}/../{tmp_path.name}").named == str(tmp_path)


@pytest.mark.parametrize(
    ("named", "parts"),
    [
        ("git+https://h/o/r", ("https://h/o/r", "", "")),
        ("git+https://h/o/r.git@v1#subdirectory=a/b", ("https://h/o/r.git", "v1", "a/b")),
        ("git+ssh://git@h/o/r@main", ("ssh://git@h/o/r", "main", "")),
        ("git+file:///a/r#egg=x&subdirectory=p", ("file:///a/r", "", "p")),
    ],
)
def test_an_address_has_a_reference_and_a_folder(named: str, parts: tuple[str, str, str]) -> None:
    assert split_git_address(named) == parts
