"""`cockpit skills`: shown, installed after a yes, removed, switched off and on."""

import io
import json
import os
import stat
import subprocess
import sys
import tarfile
import zipfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from tests.support.command import Ended, command
from tests.support.in_process import cockpit
from tests.support.skills import House
from tests.support.terminals import Terminal

from cockpit.cli import skills
from cockpit.errors import CockpitError
from cockpit.settings import trust

SCRIPTED = "Build $ARGUMENTS: !`make $0`, see @notes.md.\n"


@pytest.fixture
def house(root: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    home = root.parent / "person"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    (root / ".git").mkdir()
    return House(root, home)


@pytest.fixture
def pack(house: House) -> Path:
    """A folder with two skills, a broken one, and a paper."""
    base = house.root.parent / "pack"
    first = house.skill(
        "builder", SCRIPTED, base=str(base), allowed_tools="Bash(make *), Read", model="sonnet"
    )
    house.file(first.parent / "scripts" / "go.sh", "#!/bin/sh\n").chmod(0o755)
    house.file(first.parent / "docs" / "more.md", "MORE")
    house.skill("other", base=str(base), context="fork", agent="Explore")
    house.file(base / "skills" / "broken" / "SKILL.md", "---\nname: broken\n---\n")
    house.file(base / "README.md", "A pack.")
    return base


def run(house: House, *arguments: str) -> Ended:
    """`cockpit skills ...` in this process, with nobody at the keyboard."""
    out, err = io.StringIO(), io.StringIO()
    where = () if "--cwd" in arguments else ("--cwd", str(house.root))
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = skills.main([*arguments, *where])
        except CockpitError as error:
            print(f"cockpit: {error}", file=sys.stderr)
            code = 1
    return Ended(code, out.getvalue(), err.getvalue())


def user_home() -> Path:
    return Path(os.environ["COCKPIT_HOME"]) / "config" / "skills"


def names(house: House, *more: str) -> dict[str, dict[str, object]]:
    return {row["name"]: row for row in json.loads(run(house, "list", "--json", *more).out)}


def test_show_prints_what_a_model_would_get_and_runs_nothing(house: House) -> None:
    house.file("notes.md", "NOTES")
    house.file("Makefile", "all:\n\ttouch made\n")
    house.skill("builder", SCRIPTED + "```!\ntouch made\n```", hooks="{Stop: [{hooks: [{type: command}]}]}")
    assert run(house, "show", "builder").code == 1
    shown = run(house, "show", "builder", "--args", "all now", "--trust")
    assert shown.code == 0 and "Build all now: !`make all`, see @notes.md." in shown.out
    assert "[@notes.md]\nNOTES" in shown.out and "```!\ntouch made\n```" in shown.out
    assert "would run: make all" in shown.err and "would run: touch made" in shown.err
    assert "never run" in shown.err and '"Stop"' in shown.err
    told = json.loads(run(house, "show", "builder", "--args", "all now", "--trust", "--json").out)
    assert told["commands"] == ["make all", "touch made"] and told["files"] == ["notes.md"]
    assert told["text"].strip() == shown.out.strip() and told["layer"] == "project"
    assert told["hooks"] == {"Stop": [{"hooks": [{"type": "command"}]}]} and told["refused"][0]["line"] == 3
    assert not (house.root / "made").exists()


def test_show_reads_no_secret_and_nothing_outside(house: House) -> None:
    house.file(".env", "KEY=SECRET")
    house.file(house.root.parent / "outside.txt", "OUTSIDE")
    house.skill("peek", "@.env and @../outside.txt and @$0")
    shown = run(house, "show", "peek", "--trust", "--args", str(house.root.parent / "outside.txt"))
    assert "SECRET" not in shown.out and "OUTSIDE" not in shown.out


def test_show_of_a_broken_skill_says_why(house: House) -> None:
    house.file(".cockpit/skills/broken/SKILL.md", "---\nname: broken\n---\n")
    shown = run(house, "show", "broken", "--trust")
    assert shown.code == 1 and "SKILL.md:1" in shown.err and "description" in shown.err


def test_install_shows_programs_and_waits_for_consent(house: House, pack: Path) -> None:
    unasked = run(house, "install", str(pack))
    assert unasked.code == 1 and not user_home().exists() and "--yes" in unasked.err
    for line in (
        "runs when used: make $0",
        "program: scripts/go.sh",
        "uses only these tools: Bash(make *)",
    ):
        assert line in unasked.out
    assert (
        "runs in a subagent: Explore" in unasked.out
        and "left out:" in unasked.out
        and "broken" in unasked.out
    )
    done = run(house, "install", str(pack), "--yes")
    assert done.code == 0, done
    target = user_home() / "builder"
    assert (target / "docs" / "more.md").read_text() == "MORE"
    assert (target / "scripts" / "go.sh").stat().st_mode & stat.S_IXUSR
    rows = names(house)
    assert {"builder", "other"} <= set(rows) and rows["builder"]["layer"] == "user" and "broken" not in rows
    assert str(pack) in run(house, "show", "builder").err


def test_user_at_a_terminal_answers_yes_or_no(house: House, pack: Path) -> None:
    for answer, installed in (("n", False), ("y", True)):
        argv = command("skills", "install", str(pack), "--skill", "other", "--cwd", str(house.root))
        terminal = Terminal(argv, dict(os.environ), 100, 30)
        try:
            terminal.until_text("[y/N]")
            terminal.send(f"{answer}\r".encode())
            terminal.until_end()
        finally:
            terminal.close()
        assert (user_home() / "other").exists() == installed
    assert not (user_home() / "builder").exists()


def test_installed_skill_is_replaced_only_with_replace(house: House, pack: Path) -> None:
    assert run(house, "install", str(pack / "skills" / "other"), "--yes").code == 0
    house.skill("other", "NEW", base=str(pack))
    again = run(house, "install", str(pack / "skills" / "other"), "--yes")
    assert again.code == 1 and "--replace" in again.err
    assert run(house, "install", str(pack / "skills" / "other"), "--yes", "--replace").code == 0
    assert "NEW" in (user_home() / "other" / "SKILL.md").read_text()
    assert sorted(one.name for one in user_home().iterdir()) == ["other"]


def test_project_skill_is_installed_in_the_repository(house: House, pack: Path) -> None:
    inner = house.root / "packages"
    inner.mkdir()
    done = run(house, "install", str(pack), "--skill", "other", "--project", "--yes", "--cwd", str(inner))
    assert done.code == 0 and (house.root / ".cockpit" / "skills" / "other" / "SKILL.md").is_file()
    assert "not trusted" in done.out
    assert "other" not in names(house) and names(house, "--trust")["other"]["layer"] == "project"


@pytest.mark.parametrize("ending", ["zip", "skill", "tar.gz", "tgz", "tar.xz", "tar"])
def test_archives_are_unpacked(house: House, pack: Path, ending: str) -> None:
    archive = house.root.parent / f"my-pack.{ending}"
    if ending in ("zip", "skill"):
        with zipfile.ZipFile(archive, "w") as out:
            for path in sorted(pack.rglob("*")):
                out.write(path, path.relative_to(pack.parent))
    else:
        mode = {"tar.gz": "w:gz", "tgz": "w:gz", "tar.xz": "w:xz", "tar": "w"}[ending]
        with tarfile.open(str(archive), mode) as out:  # a mode that is worked out has no overload
            out.add(pack, "pack")
    assert run(house, "install", str(archive), "--yes").code == 0
    assert (user_home() / "builder" / "scripts" / "go.sh").stat().st_mode & stat.S_IXUSR
    assert run(house, "remove", "builder", "--yes").code == 0


def test_skill_without_a_folder_is_named_after_its_archive(house: House) -> None:
    archive = house.root.parent / "tidy-up.zip"
    with zipfile.ZipFile(archive, "w") as out:
        out.writestr("SKILL.md", "---\ndescription: Tidies.\n---\nTidy.")
    assert run(house, "install", str(archive), "--yes").code == 0
    assert (user_home() / "tidy-up" / "SKILL.md").is_file()


def tar_of(archive: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(archive, "w:gz") as out:
        head = tarfile.TarInfo("s/SKILL.md")
        text = b"---\nname: s\ndescription: D\n---\n"
        head.size = len(text)
        out.addfile(head, io.BytesIO(text))
        for member, content in members:
            member.size = len(content)
            out.addfile(member, io.BytesIO(content))
    return archive


def link(name: str, target: str, kind: bytes) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, target
    return made


@pytest.mark.parametrize(
    "member",
    [
        (tarfile.TarInfo("../evil"), b"x"),
        (tarfile.TarInfo("/tmp/evil"), b"x"),
        (tarfile.TarInfo("s/../../evil"), b"x"),
        (tarfile.TarInfo("s\\..\\..\\evil"), b"x"),
        (link("s/link", "/etc", tarfile.SYMTYPE), b""),
        (link("s/hard", "s/SKILL.md", tarfile.LNKTYPE), b""),
        (link("s/pipe", "", tarfile.FIFOTYPE), b""),
        (link("s/device", "", tarfile.CHRTYPE), b""),
    ],
    ids=lambda member: member[0].name,
)
def test_malicious_archive_is_refused(house: House, member: tuple[tarfile.TarInfo, bytes]) -> None:
    archive = tar_of(house.root.parent / "s.tar.gz", member)
    refused = run(house, "install", str(archive), "--yes")
    assert refused.code == 1 and "not unpacked" in refused.err and "Traceback" not in refused.err
    assert not user_home().exists() and not list(house.root.parent.rglob("evil"))


def test_a_zip_with_a_link_or_a_bomb_is_refused(house: House) -> None:
    archive = house.root.parent / "s.zip"
    with zipfile.ZipFile(archive, "w") as out:
        made = zipfile.ZipInfo("s/link")
        made.external_attr = (stat.S_IFLNK | 0o777) << 16
        out.writestr(made, "/etc/passwd")
    assert "link or a device" in run(house, "install", str(archive), "--yes").err
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as out, out.open("s/SKILL.md", "w") as file:
        for _ in range(101):
            file.write(b"\0" * 1_000_000)
    assert "larger than" in run(house, "install", str(archive), "--yes").err
    archive.write_bytes(b"PK no zip")
    broken = run(house, "install", str(archive), "--yes")
    assert "cannot be unpacked" in broken.err and "Traceback" not in broken.err


def test_a_folder_with_a_link_is_refused(house: House, pack: Path) -> None:
    (pack / "skills" / "builder" / "key").symlink_to("/etc/passwd")
    refused = run(house, "install", str(pack), "--yes")
    assert refused.code == 1 and "plain files" in refused.err and not user_home().exists()


def git(folder: Path, *arguments: str) -> str:
    named = ("-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main")
    ended = subprocess.run(
        ["git", *named, "-C", str(folder), *arguments], check=True, capture_output=True, text=True
    )
    return ended.stdout.strip()


def test_a_repository_is_cloned_without_its_hooks(house: House, pack: Path) -> None:
    git(pack, "init", "-q")
    git(pack, "add", "-A")
    git(pack, "commit", "-qm", "one")
    first = git(pack, "rev-parse", "HEAD")
    git(pack, "tag", "v1")
    house.skill("other", "SECOND", base=str(pack))
    git(pack, "commit", "-qam", "two")
    mark = house.root.parent / "hooked"
    template = house.root.parent / "template" / "hooks"
    house.file(template / "post-checkout", f"#!/bin/sh\ntouch '{mark}'\n").chmod(0o755)
    house.file(house.home / ".gitconfig", f"[init]\n\ttemplateDir = {template.parent}\n")
    done = run(house, "install", pack.as_uri(), "--skill", "other", "--yes")
    assert done.code == 0 and "from commit" in done.out, done
    assert "SECOND" in (user_home() / "other" / "SKILL.md").read_text() and not mark.exists()
    assert not (user_home() / "other" / ".git").exists()
    one = f"git+{pack.as_uri()}@v1#subdirectory=skills/other"
    assert run(house, "install", one, "--yes", "--replace").code == 0
    assert "SECOND" not in (user_home() / "other" / "SKILL.md").read_text()
    assert first[:12] in run(house, "show", "other").err


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("nothing-there", "does not exist"),
        ("ftp://x/y.git", "not a git address"),
        ("ext::sh -c touch% made", "does not exist"),
        ("git+--upload-pack=touch made", "git"),
        ("file:///nothing/there.git", "git clone"),
    ],
)
def test_invalid_source_is_reported(house: House, source: str, said: str) -> None:
    refused = run(house, "install", source, "--yes")
    assert refused.code == 1 and said in refused.err and "Traceback" not in refused.err
    assert not (house.root / "made").exists()


def test_remove_deletes_only_installed_skills(house: House, pack: Path) -> None:
    foreign = house.skill("theirs", base=str(house.home / ".claude"))
    assert "did not install" in run(house, "remove", "theirs", "--yes").err and foreign.exists()
    run(house, "install", str(pack), "--yes")
    assert run(house, "remove", "builder").code == 1 and (user_home() / "builder").exists()
    assert run(house, "remove", "builder", "--yes").code == 0
    assert sorted(one.name for one in user_home().iterdir()) == ["other"]
    assert "no skill builder is installed" in run(house, "remove", "builder", "--yes").err


def test_skill_is_disabled_and_enabled(house: House) -> None:
    assert run(house, "disable", "review").code == 0
    assert names(house)["review"]["fields"]["enabled"] is False
    assert "○ review" in run(house, "list").out
    assert run(house, "enable", "review").code == 0
    assert "enabled" not in names(house)["review"]["fields"]
    assert run(house, "disable", "nobody").code == 1
    house.file(".cockpit/settings.toml", '[skills]\ndisabled = ["review"]\n')
    trust.save_trust(str(house.root), True)
    run(house, "disable", "review")
    stays = run(house, "enable", "review")
    assert stays.code == 1 and "still disabled by" in stays.out and "settings.toml" in stays.out


def test_the_command_itself_works_in_its_folder(house: House, pack: Path) -> None:
    assert cockpit("skills", "install", str(pack), "--yes", cwd=house.root).code == 0
    assert "builder" in cockpit("skills", cwd=house.root).out
    assert cockpit("skills", "remove", "nobody", cwd=house.root).code == 1
