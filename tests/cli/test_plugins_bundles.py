"""`cockpit plugins install` of a plugin bundle of Claude Code: shown, copied, listed, taken away."""

import json
import subprocess
from pathlib import Path

import pytest
from tests.support.in_process import cockpit

pytestmark = pytest.mark.slow


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    folder = tmp_path / "release-kit"
    files = {
        ".claude-plugin/plugin.json": json.dumps({"name": "release-kit", "version": "1.2.0"}),
        "skills/notes/SKILL.md": "---\nname: notes\ndescription: Writes release notes.\n---\nWrite them.\n",
        "agents/checker.md": "---\nname: checker\ndescription: Checks.\n---\nCheck.\n",
        "commands/ship.md": "Ship it.\n",
        "hooks/hooks.json": json.dumps(
            {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "./bell.sh"}]}]}}
        ),
        ".mcp.json": json.dumps({"mcpServers": {"clock": {"command": "clock", "args": ["--utc"]}}}),
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_install_lists_contents_and_programs_before_copying(root: Path, home: Path, bundle: Path) -> None:
    asked = cockpit("plugins", "install", str(bundle), cwd=root)
    assert asked.code == 1 and "--yes" in asked.err and not list((home / "data").rglob("plugin.json"))
    ended = cockpit("plugins", "install", "--yes", str(bundle), cwd=root)
    assert ended.code == 0, ended.err
    for line in ("skill    notes", "agent    checker", "command  ship", "hook     Stop: runs ./bell.sh"):
        assert line in ended.out
    assert "server   clock: clock --utc" in ended.out
    assert (home / "data" / "bundles" / "release-kit" / "commands" / "ship.md").is_file()
    assert f"bundle            from {bundle}" in cockpit("plugins", cwd=root).out


def test_bundle_from_git_is_installed_replaced_and_removed(root: Path, home: Path, bundle: Path) -> None:
    def git(*arguments: str) -> None:
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(("git", *who, *arguments), cwd=bundle, check=True, capture_output=True)

    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "-m", "one")
    address = f"git+{bundle.as_uri()}"
    assert cockpit("plugins", "install", "--yes", address, cwd=root).code == 0
    copied = home / "data" / "bundles" / "release-kit"
    assert not (copied / ".git").exists()
    (bundle / "commands" / "ship.md").unlink()
    assert cockpit("plugins", "install", "--yes", str(bundle), cwd=root).code == 0
    assert not (copied / "commands" / "ship.md").exists()
    assert cockpit("plugins", "remove", "release-kit", cwd=root).out == "Removed the bundle release-kit.\n"
    assert not list((home / "data" / "bundles").iterdir())


@pytest.mark.parametrize(
    ("name", "words"), [("../up", "`name`"), ("", "`name`"), ("has space", "`name`"), (7, "`name`")]
)
def test_name_with_path_traversal_is_refused(
    root: Path, home: Path, bundle: Path, name: object, words: str
) -> None:
    (bundle / ".claude-plugin" / "plugin.json").write_text(json.dumps({"name": name}), encoding="utf-8")
    ended = cockpit("plugins", "install", "--yes", str(bundle), cwd=root)
    assert ended.code == 1 and words in ended.err and not list((home / "data").rglob("*.md"))


def test_link_out_of_the_bundle_is_refused(root: Path, home: Path, bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("mine", encoding="utf-8")
    (bundle / "skills" / "link").symlink_to(tmp_path / "secret")
    ended = cockpit("plugins", "install", "--yes", str(bundle), cwd=root)
    assert ended.code == 1 and "a link that leads out of the bundle" in ended.err
    assert not (home / "data" / "bundles").exists()


def test_every_program_of_a_bundle_is_listed(root: Path, home: Path, bundle: Path) -> None:
    def hook(line: str) -> dict[str, object]:
        return {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": line}]}]}}

    manifest = {
        "name": "release-kit",
        "hooks": ["./more/hooks.json"],
        "mcpServers": {"inside": {"command": "inner", "args": ["a"]}},
        "lspServers": {"go": {"command": "gopls", "extensionToLanguage": {".go": "go"}}},
        "commands": ["./other.md"],
        "agents": "../out",
    }
    (bundle / ".claude-plugin" / "plugin.json").write_text(json.dumps(manifest), encoding="utf-8")
    (bundle / "more").mkdir()
    (bundle / "more" / "hooks.json").write_text(json.dumps(hook("./second.sh \x1b]; ./third.sh \x07")))
    (bundle / "hooks" / "hooks.json").write_text(f"// a comment\n{json.dumps(hook('./bell.sh'))}")
    (bundle / ".mcp.json").write_text('// bare\n{"clock": {"command": "clock"}}', encoding="utf-8")
    (bundle / "other.md").write_text("Other.\n", encoding="utf-8")
    out = cockpit("plugins", "install", "--yes", str(bundle), cwd=root).out
    for line in (
        "hook     Stop: runs ./bell.sh",
        "hook     Stop: runs ./second.sh \\u001b]; ./third.sh",
        "server   clock: clock",
        "server   inside: inner a",
        "server   go: gopls",
        "command  other",
        "left out plugin.json:1: `agents` names '../out'",
    ):
        assert line in out
    assert "command  ship" not in out
    listed = json.loads(cockpit("hooks", "list", "--json", "--trust", cwd=root).out)
    assert [one["fields"]["command"] for one in listed] == ["./bell.sh", "./second.sh \x1b]; ./third.sh \x07"]


def test_info_shows_a_bundle(root: Path, home: Path, bundle: Path) -> None:
    cockpit("plugins", "install", "--yes", str(bundle), cwd=root)
    shown = cockpit("plugins", "info", "release-kit", cwd=root).out
    assert f"a bundle from {bundle}" in shown and "  hook     Stop: runs ./bell.sh" in shown
    [row] = json.loads(cockpit("plugins", "info", "release-kit", "--json", cwd=root).out)
    assert row["state"] == "bundle" and "server   clock: clock --utc" in row["brings"]
