"""The reported isolation is the real one, also where bubblewrap is missing, broken or fake."""

import stat
import sys
from pathlib import Path

import pytest
from tests.support.parts import skip_without
from tests.workspace.sandbox.box import Box

from cockpit.errors import SettingsInvalid
from cockpit.plugin.workspace import Launch, SandboxMissing, SealBroken
from cockpit.workspace.processes.child_process import ProcessFailed
from cockpit.workspace.processes.local_processes import LocalProcesses
from cockpit.workspace.sandbox import kernel_limits, probe
from cockpit.workspace.sandbox.values import parse_sandbox_use


async def test_isolation_has_a_reason_unless_it_is_full(box: Box) -> None:
    isolation = await box.processes.isolation()
    assert (isolation.reason == "") == (isolation.level == "full")
    assert (isolation.runner == "bwrap") == (isolation.level == "full")
    if isolation.level != "full":
        skip_without("sandbox", isolation.reason)


def put(folder: Path, script: str) -> str:
    """A `bwrap` of our own making, alone in PATH but for the shell's folder."""
    folder.mkdir()
    program = folder / "bwrap"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(folder)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 1", "does not respond"),
        ('case "$1" in --help) echo --disable-userns;; *) echo broken >&2; exit 1;; esac', "broken"),
        # It runs the command in nothing at all: the number of its process gives it away.
        ('while [ "$1" != -- ]; do [ "$1" = --help ] && exit 0; shift; done; shift; exec "$@"', "code 0"),
    ],
)
async def test_a_bubblewrap_that_does_not_confine_is_detected(
    box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, said: str
) -> None:
    monkeypatch.setenv("PATH", put(tmp_path / "fake", script))
    processes = LocalProcesses(str(box.root))
    try:
        isolation = await processes.isolation()
        assert isolation.level == ("partial" if kernel_limits.landlock_version() else "none")
        assert sys.platform != "linux" or said in isolation.reason, isolation.reason
        launch = Launch(("/bin/sh", "-c", "echo ran"), str(box.root), (), "build")
        ended = await processes.run_sealed(launch, launch.seal())
        assert ended.output == "ran\n"
        assert ended.isolation == ("landlock build" if kernel_limits.landlock_version() else "none")
    finally:
        await processes.close()


async def test_without_bubblewrap_the_reason_names_the_fix(
    box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    processes = LocalProcesses(str(box.root), "required")
    try:
        isolation = await processes.isolation()
        assert isolation.level != "full"
        assert sys.platform != "linux" or "bubblewrap is not installed" in isolation.reason
        launch = Launch(("/bin/sh", "-c", "echo ran > trace"), str(box.root), (), "read")
        with pytest.raises(SandboxMissing, match="require a sandbox"):
            await processes.run_sealed(launch, launch.seal())
        with pytest.raises(SandboxMissing):
            await processes.start_sealed(launch, launch.seal())
        assert not (box.root / "trace").exists()
    finally:
        await processes.close()


def test_an_unknown_setting_of_the_sandbox_is_refused() -> None:
    assert [parse_sandbox_use(word) for word in ("auto", "required", "off")] == [
        "auto",
        "required",
        "off",
    ]
    with pytest.raises(SettingsInvalid, match="maybe"):
        parse_sandbox_use("maybe")


async def test_a_switched_off_sandbox_is_reported(box: Box) -> None:
    processes = LocalProcesses(str(box.root), "off")
    isolation = await processes.isolation()
    assert (isolation.level, isolation.runner) == ("none", "none") and "switched off" in isolation.reason
    launch = Launch(("/bin/sh", "-c", "echo ran"), str(box.root), (), "read")
    ended = await processes.run_sealed(launch, launch.seal())
    assert (ended.output, ended.isolation) == ("ran\n", "none")
    await processes.close()


async def test_a_launch_without_a_profile_is_recorded_as_unconfined(box: Box) -> None:
    launch = Launch(("/bin/sh", "-c", "echo ran"), str(box.root))
    assert (await box.processes.run_sealed(launch, launch.seal())).isolation == "none"


async def test_a_launch_other_than_the_sealed_one_does_not_start(box: Box) -> None:
    launch = Launch(("/bin/sh", "-c", "echo ran > trace"), str(box.root), (), "build")
    for other in (
        Launch(("/bin/sh", "-c", "echo more > trace"), launch.cwd, (), "build"),
        Launch(launch.argv, launch.cwd, (), "net"),
        Launch(launch.argv, launch.cwd, (("A", "b"),), "build"),
        Launch(launch.argv, str(box.outside), (), "build"),
    ):
        with pytest.raises(SealBroken):
            await box.processes.run_sealed(other, launch.seal())
        with pytest.raises(SealBroken):
            await box.processes.start_sealed(other, launch.seal())
    assert not (box.root / "trace").exists()


async def test_a_launch_gets_the_environment_it_was_sealed_with(box: Box) -> None:
    for profile in ("none", "build"):
        launch = Launch(("/bin/sh", "-c", "echo $GIVEN $HOME"), str(box.root), (("GIVEN", "this"),), profile)
        ended = await box.processes.run_sealed(launch, launch.seal())
        assert ended.output == f"this {box.home}\n"
        job = await box.processes.start_sealed(launch, launch.seal(), label="said")
        assert (await box.processes.wait(job, 20)).code == 0
        assert (await box.processes.output(job))[0] == f"this {box.home}\n"


async def test_a_missing_program_is_named(box: Box) -> None:
    for profile in ("none", "build"):
        launch = Launch(("no-such-program",), str(box.root), (), profile)
        with pytest.raises(ProcessFailed, match="no-such-program is not installed"):
            await box.processes.run_sealed(launch, launch.seal())
    assert sorted(one.name for one in box.root.iterdir() if one.name.startswith(".c")) == [".cockpit"]


def test_each_unsupported_system_has_a_reason() -> None:
    for platform, words in (("darwin", "macOS"), ("win32", "Windows"), ("sunos5", "sunos5")):
        probed = probe.probe_sandbox(platform)
        assert probed.isolation.level == "none" and words in probed.isolation.reason
        assert probed.isolation.label("build") == "none" and probed.features is None


def test_a_reason_names_one_command_that_fixes_it() -> None:
    def nothing(name: str) -> str:
        return ""

    apt = {"apt-get": "/usr/bin/apt-get"}.get
    assert "`sudo apt-get install -y bubblewrap`" in probe.bubblewrap_failure_reason("", "", apt, nothing)
    assert "install the package" in probe.bubblewrap_failure_reason("", "", dict[str, str]().get, nothing)
    for knob, value in (
        ("kernel/unprivileged_userns_clone", "0"),
        ("user/max_user_namespaces", "0"),
        ("kernel/apparmor_restrict_unprivileged_userns", "1"),
    ):

        def seen(name: str, knob: str = knob, value: str = value) -> str:
            return value if name == knob else ""

        assert "sysctl" in probe.bubblewrap_failure_reason("/usr/bin/bwrap", "x", apt, seen)
    assert "its words" in probe.bubblewrap_failure_reason("/usr/bin/bwrap", "its words", apt, nothing)


def test_a_bubblewrap_in_the_workspace_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake, mark = tmp_path / "bwrap", tmp_path / "ran"
    fake.write_text(f"#!/bin/sh\ntouch {mark}\n")
    fake.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", ".:")
    assert probe.probe_sandbox().isolation.level != "full" and not mark.exists()
