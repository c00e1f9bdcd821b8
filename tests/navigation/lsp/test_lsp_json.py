"""`.lsp.json` files of other agents work unchanged, and a bad one says what to fix."""

import json
from pathlib import Path

import pytest

from cockpit.navigation.lsp.lsp_json import PROJECT_FILE, read_all_lsp_json, read_lsp_json


def write(root: Path, content: object) -> Path:
    file = root / PROJECT_FILE
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


def test_every_key_is_read(root: Path) -> None:
    entry = {
        "command": "gopls",
        "args": ["serve"],
        "extensionToLanguage": {".go": "go", ".mod": "go.mod"},
        "transport": "stdio",
        "env": {"GOFLAGS": "-mod=mod"},
        "initializationOptions": {"a": [1, None]},
        "settings": {"gopls": {"b": True}},
        "workspaceFolder": "backend",
        "startupTimeout": 2500,
        "shutdownTimeout": 500,
        "restartOnCrash": False,
    }
    found = read_lsp_json(write(root, {"go": entry}), PROJECT_FILE)
    assert found.warnings == ()
    assert [(one.name, one.globs) for one in found.languages] == [("go", ("*.go",)), ("go.mod", ("*.mod",))]
    (server,) = {id(one.servers[0]): one.servers[0] for one in found.languages}.values()
    assert (server.name, server.command) == ("go", ("gopls", "serve"))
    assert server.named_by == PROJECT_FILE
    assert dict(server.environment) == {"GOFLAGS": "-mod=mod"}
    assert server.initialization == {"a": [1, None]} and dict(server.settings) == {"gopls": {"b": True}}
    assert (server.folder, server.startup_seconds, server.shutdown_seconds) == ("backend", 2.5, 0.5)
    assert server.restart is False


def test_the_first_server_of_a_suffix_wins(root: Path) -> None:
    entries = {
        "one": {"command": "one", "extensionToLanguage": {".x": "x"}},
        "two": {"command": "two", "extensionToLanguage": {".x": "x", ".y": "y"}},
    }
    found = read_lsp_json(write(root, entries))
    assert [(one.globs, one.servers[0].name) for one in found.languages] == [
        (("*.x",), "one"),
        (("*.y",), "two"),
    ]


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (5, "x must be an object"),
        ({}, "x.extensionToLanguage must map"),
        ({"extensionToLanguage": {".x": "x"}}, "x.command must name a program"),
        ({"command": 5, "extensionToLanguage": {".x": "x"}}, "x.command must be a string"),
        ({"command": "c", "args": "a", "extensionToLanguage": {".x": "x"}}, "x.args must be a list"),
        ({"command": "c", "extensionToLanguage": {"x": "x"}}, "x.extensionToLanguage must map"),
        ({"command": "c", "extensionToLanguage": {".x": 5}}, "x.extensionToLanguage must be"),
        ({"command": "c", "extensionToLanguage": {".x": "x"}, "transport": "socket"}, "only stdio"),
        ({"command": "c", "extensionToLanguage": {".x": "x"}, "env": {"A": 1}}, "x.env must be"),
        ({"command": "c", "extensionToLanguage": {".x": "x"}, "settings": 1}, "x.settings must be"),
        (
            {"command": "c", "extensionToLanguage": {".x": "x"}, "startupTimeout": "9"},
            "x.startupTimeout must",
        ),
        ({"command": "c", "extensionToLanguage": {".x": "x"}, "restartOnCrash": 1}, "x.restartOnCrash must"),
    ],
)
def test_a_bad_entry_names_file_and_key_and_the_others_stay(root: Path, entry: object, words: str) -> None:
    good = {"command": "g", "extensionToLanguage": {".g": "g"}}
    file = write(root, {"x": entry, "good": good})
    found = read_lsp_json(file)
    assert [one.name for one in found.languages] == ["g"]
    (warning,) = found.warnings
    assert warning.startswith(f"{file}: ") and words in warning


@pytest.mark.parametrize("content", ["{", "[]", "5", "\x00"])
def test_a_file_that_is_not_an_object_is_reported_and_ignored(root: Path, content: str) -> None:
    found = read_lsp_json(write(root, content))
    assert found.languages == () and len(found.warnings) == 1 and PROJECT_FILE in found.warnings[0]


def test_an_unknown_key_is_reported(root: Path) -> None:
    entry = {"command": "c", "extensionToLanguage": {".x": "x"}, "comand": "d"}
    found = read_lsp_json(write(root, {"x": entry}))
    assert len(found.languages) == 1 and "unknown key x.comand" in found.warnings[0]


def test_without_a_file_there_is_no_language(root: Path) -> None:
    assert read_lsp_json(root / PROJECT_FILE).languages == ()


def test_the_users_own_file_needs_no_approval(root: Path, tmp_path: Path) -> None:
    entry = {"command": "c", "extensionToLanguage": {".x": "x"}}
    write(root, {"theirs": entry})
    (tmp_path / "lsp.json").write_text(json.dumps({"mine": entry}))
    theirs, mine = read_all_lsp_json(str(root), tmp_path).languages
    assert (theirs.servers[0].named_by, mine.servers[0].named_by) == (PROJECT_FILE, "")
