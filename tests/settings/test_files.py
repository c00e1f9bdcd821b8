"""Layered settings files: precedence, what a project may not loosen, broken files."""

import os
import sys
import threading
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.errors import SettingsInvalid
from cockpit.settings import files
from cockpit.settings.file_io import write_atomically
from cockpit.settings.files import add_user_word, load_environment, load_settings, set_user_value, user_file
from cockpit.settings.schema import MODES


def user(text: str) -> Path:
    path = user_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def project(root: Path, text: str, name: str = "settings.toml") -> Path:
    path = root / ".cockpit" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def managed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this system's managed settings would lie."""
    path = tmp_path / "etc" / "settings.toml"
    path.parent.mkdir()
    monkeypatch.setattr(files, "MANAGED_FILES", {sys.platform: str(path)})
    return path


def test_without_any_file_defaults_apply(root: Path) -> None:
    settings = load_settings(str(root), trusted=True)
    assert settings.text("mode") == "ask" and settings.number("limits.steps") == 200
    assert settings.sources == () and settings.left_out == ()
    assert settings.table("permissions") == {"allow": [], "ask": [], "deny": []}


def test_each_layer_overrides_the_one_below(root: Path, managed: Path) -> None:
    own = user('mode = "full"\n[limits]\nsteps = 50\ntokens = 9\n[models]\ndefault = "a:b"\n')
    shared = project(root, "[limits]\nsteps = 40\nseconds = 90\n")
    local = project(root, "[limits]\nseconds = 60\n", "settings.local.toml")
    managed.write_text('[models]\ndefault = "c:d"\n', encoding="utf-8")
    settings = load_settings(str(root), trusted=True, flags={("limits", "steps"): ("--max-steps", 3)})
    assert settings.text("mode") == "full" and settings.number("limits.seconds") == 60
    assert settings.number("limits.steps") == 3 and settings.number("limits.tokens") == 9
    assert settings.text("models.default") == "c:d"
    assert settings.sources == (str(own), str(shared), str(local), str(managed))


def test_deny_lists_grow_from_layer_to_layer(root: Path) -> None:
    user('[permissions]\ndeny = ["Read(~/x)"]\nask = ["Bash"]\n')
    project(root, '[permissions]\ndeny = ["Edit", "Read(~/x)"]\n')
    settings = load_settings(str(root), trusted=True)
    assert settings.words("permissions.deny") == ("Read(~/x)", "Edit")
    assert settings.words("permissions.ask") == ("Bash",)


def test_an_untrusted_folder_sets_nothing(root: Path) -> None:
    project(root, 'mode = "deny"\nthis is no TOML')
    settings = load_settings(str(root), trusted=False)
    assert settings.text("mode") == "ask" and settings.sources == ()


@pytest.mark.parametrize("whose", ["user", "project"])
def test_an_unreadable_file_refuses_instead_of_losing_its_deny_rules(root: Path, whose: str) -> None:
    path = user_file() if whose == "user" else root / ".cockpit" / "settings.toml"
    path.mkdir(parents=True)
    with pytest.raises(SettingsInvalid, match="cannot be read") as refused:
        load_settings(str(root), trusted=True)
    assert str(path) in refused.value.message


LOOSE = {
    "permissions.allow": '[permissions]\nallow = ["Bash"]\n',
    "models": '[models]\ndefault = "evil:x"\n',
    "plugins": '[plugins]\ndisabled = ["policy"]\n',
    "projects": '[projects."/"]\npermissions = {allow = ["Bash"]}\n',
    "limits.steps": "[limits]\nsteps = 100000\n",
    "limits.money": "[limits]\nmoney = 500\n",
    "limits.stop_file": '[limits]\nstop_file = "elsewhere"\n',
}


@pytest.mark.parametrize("key", LOOSE)
def test_loosening_settings_of_a_project_are_ignored_and_reported(root: Path, key: str) -> None:
    user('[limits]\nmoney = 1.5\nstop_file = "STOP"\n')
    before = load_settings(str(root), trusted=False).values
    path = project(root, LOOSE[key])
    settings = load_settings(str(root), trusted=True)
    assert settings.values == before
    (said,) = settings.left_out
    assert str(path) in said and f"`{key}`" in said


def test_tightening_settings_of_a_project_apply(root: Path) -> None:
    user("[limits]\nmoney = 1.5\n")
    project(root, '[limits]\nmoney = 1\nsteps = 5\nseconds = 60\nstop_file = "STOP"\n')
    settings = load_settings(str(root), trusted=True)
    assert settings.left_out == ()
    assert settings.table("limits") == {"steps": 5, "money": 1, "seconds": 60, "stop_file": "STOP"}


@given(own=st.sampled_from(MODES), theirs=st.sampled_from([*MODES, "yolo", ""]))
def test_a_project_sets_no_mode_not_even_a_stricter_one(own: str, theirs: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        user(f'mode = "{own}"\n')
        project(Path(folder), f'mode = "{theirs}"\n')
        settings = load_settings(folder, trusted=True)
    assert settings.text("mode") == own
    (said,) = settings.left_out
    assert ":1: `mode` ignored" in said and str(user_file()) in said


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("permissions = 1\n", "permissions"),
        ('[permissions]\ndeny = "Bash"\n', "permissions.deny"),
        ("mode = true\n", "mode"),
        ('[limits]\nsteps = "many"\n', "limits.steps"),
        ("[limits]\nmoney = true\n", "limits.money"),
        ('[plugins]\ndisabled = "todo"\n', "plugins.disabled"),
        ('[models]\nfallback = "a:b"\n', "models.fallback"),
    ],
)
@pytest.mark.parametrize("is_project", [True, False])
def test_a_value_of_the_wrong_type_is_refused_with_file_and_key(
    root: Path, text: str, key: str, is_project: bool
) -> None:
    path = project(root, text) if is_project else user(text)
    with pytest.raises(SettingsInvalid) as refused:
        load_settings(str(root), trusted=True)
    assert str(path) in refused.value.message and f"`{key}`" in refused.value.message


@pytest.mark.parametrize("content", [b"mode = [", b"mode = '\xff'"])
def test_an_invalid_file_is_named_with_what_to_do(root: Path, content: bytes) -> None:
    path = user("")
    path.write_bytes(content)
    with pytest.raises(SettingsInvalid) as refused:
        load_settings(str(root), trusted=False)
    assert str(path) in str(refused.value) and "fix it or move it away" in str(refused.value)


def test_a_byte_order_mark_is_accepted(root: Path) -> None:
    user("").write_bytes(b"\xef\xbb\xbfmode = 'plan'\n")
    assert load_settings(str(root), trusted=False).text("mode") == "plan"


def test_a_value_is_set_without_losing_comments_or_order() -> None:
    path = user('# mine\nmode = "ask"  # careful\n\n[models]\n# why\ndefault = "a:b"\n\n[tui]\nx = 1\n')
    set_user_value("models.default", "c:d")
    set_user_value("models.tiers.fast", "e:f")
    text = path.read_text(encoding="utf-8")
    assert "# mine\n" in text and "# careful" in text and "# why\n" in text
    assert text.index("[models]") < text.index("[tui]")
    assert tomllib.loads(text)["models"] == {"default": "c:d", "tiers": {"fast": "e:f"}}


def test_the_first_value_makes_the_file_for_its_owner_alone() -> None:
    set_user_value("mode", "plan")
    assert tomllib.loads(user_file().read_text(encoding="utf-8")) == {"mode": "plan"}
    if os.name == "posix":
        assert user_file().stat().st_mode & 0o777 == 0o600


def test_a_word_is_added_once_under_keys_with_any_letters() -> None:
    parts = ("projects", '/a b/"ü".x', "permissions", "allow")
    for _ in range(2):
        add_user_word(parts, "shell(git status *)")
    table = tomllib.loads(user_file().read_text(encoding="utf-8"))
    assert table["projects"]['/a b/"ü".x']["permissions"]["allow"] == ["shell(git status *)"]


def test_a_broken_file_is_not_overwritten() -> None:
    path = user("mode = [\n")
    with pytest.raises(SettingsInvalid):
        set_user_value("mode", "ask")
    assert path.read_text(encoding="utf-8") == "mode = [\n"


def test_concurrent_readers_see_whole_files(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    bodies = [f'mode = "{letter * 5_000}"\n'.encode() for letter in "abcd"]
    write_atomically(path, bodies[0])
    torn: list[bytes] = []
    over = threading.Event()

    def read() -> None:
        while not over.is_set():
            if (seen := path.read_bytes()) not in bodies:
                torn.append(seen)

    def write(body: bytes) -> None:
        for _ in range(25):
            write_atomically(path, body)

    reader = threading.Thread(target=read)
    writers = [threading.Thread(target=write, args=(body,)) for body in bodies]
    for thread in (reader, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    over.set()
    reader.join()
    assert torn == [] and path.read_bytes() in bodies
    assert [one.name for one in tmp_path.iterdir()] == ["settings.toml"]


def test_a_dotenv_counts_only_in_a_trusted_folder(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / ".env").write_text("COCKPIT_T_ONE=theirs\nCOCKPIT_T_TWO=theirs\n", encoding="utf-8")
    monkeypatch.setenv("COCKPIT_T_TWO", "mine")
    assert "COCKPIT_T_ONE" not in load_environment(str(root), trusted=False)
    found = load_environment(str(root), trusted=True)
    assert found["COCKPIT_T_ONE"] == "theirs" and found["COCKPIT_T_TWO"] == "mine"
    assert "COCKPIT_T_ONE" not in os.environ


def test_usual_forms_of_a_dotenv_are_read(root: Path) -> None:
    lines = [
        "# no",
        "export A=1",
        "B = 'two words'",
        'C="x # y"',
        "D=plain # a comment",
        "E=",
        "broken",
        "\xff",
    ]
    (root / ".env").write_bytes("\n".join(lines).encode("latin-1"))
    found = load_environment(str(root), trusted=True)
    read = {name: found[name] for name in "ABCDE"}
    assert read == {"A": "1", "B": "two words", "C": "x # y", "D": "plain", "E": ""}
