"""The built-in languages: their queries fit their grammars, and their servers can be installed."""

import pytest
from tests.support.sources import languages

from cockpit.navigation.index.grammars import LanguageParsers
from cockpit.plugin.languages import Language

ALL = {one.name: one for one in languages()}


@pytest.mark.parametrize("language", ALL.values(), ids=lambda language: language.name)
def test_grammar_and_queries_fit_each_other(language: Language) -> None:
    reader = LanguageParsers((language,)).by_name[language.name]
    for name in language.queries:
        assert reader.query(name) is not None
    assert "tags" in language.queries


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a/b.py", "python"),
        ("SConstruct", "python"),
        ("a.ts", "typescript"),
        ("a.d.ts", "typescript"),
        ("a.tsx", "tsx"),
        ("a.jsx", "javascript"),
        ("a.go", "go"),
        ("a.rs", "rust"),
        ("a.c", "c"),
        ("a.hpp", "cpp"),
        ("A.java", "java"),
        (".bashrc", "bash"),
        ("a.yml", "yaml"),
        ("Pipfile", "toml"),
        ("README.md", "markdown"),
    ],
)
def test_a_files_name_says_its_language(path: str, name: str) -> None:
    assert LanguageParsers(languages()).candidates(path)[0].name == name


def test_names_that_no_language_has_are_nobodys() -> None:
    readers = LanguageParsers(languages())
    assert [readers.candidates(path) for path in ("a.png", "Makefile", "py", "a.py.orig")] == [[]] * 4


def test_every_server_says_how_it_is_installed() -> None:
    for language in ALL.values():
        for server in language.servers:
            assert server.install and server.command and server.startup_seconds > 0


def test_servers_that_run_the_projects_code_say_so() -> None:
    servers = {server.name: server for one in ALL.values() for server in one.servers}
    runs = {name for name, server in servers.items() if server.runs_project}
    assert runs == {"jedi", "pylsp", "typescript-language-server", "gopls", "rust-analyzer", "jdtls"}
    assert [server.name for server in ALL["python"].servers] == [
        "ty",
        "ruff",
        "basedpyright",
        "pyright",
        "jedi",
        "pylsp",
    ]
    assert [server.name for server in ALL["python"].servers if server.beside] == ["ruff"]


def test_a_grammar_that_is_not_installed_costs_its_language_alone() -> None:
    missing = Language("klingon", ("*.kli", "*.py"), grammar="tree_sitter_klingon", queries={"tags": "x"})
    readers = LanguageParsers((missing, ALL["python"]))
    found = readers.parse("a.py", b"x = 1\n")
    assert found is not None and found[0].name == "python"
    assert list(readers.broken) == ["klingon"] and readers.parse("a.kli", b"x") is None
