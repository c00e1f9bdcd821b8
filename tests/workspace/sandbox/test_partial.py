"""Without bubblewrap, Landlock confines files and sockets, and is called partial. What it does not confine is
tested here too."""

import os
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support.parts import skip_without
from tests.workspace.sandbox.box import CANARY, Box

from cockpit.workspace.processes.local_processes import LocalProcesses
from cockpit.workspace.sandbox import kernel_limits


@pytest.fixture
async def partial(box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Box]:
    """The box on a machine without bubblewrap."""
    if kernel_limits.landlock_version() == 0:
        skip_without("landlock", "this kernel has no Landlock")
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("bash", "sh", "cat", "env", "ls", "ln", "git", "grep"):
        for folder in ("/bin", "/usr/bin"):
            if os.path.exists(f"{folder}/{name}") and not (programs / name).exists():
                (programs / name).symlink_to(f"{folder}/{name}")
    monkeypatch.setenv("PATH", str(programs))
    processes = LocalProcesses(str(box.root))
    await processes.isolation()
    yield Box(box.root, box.home, box.outside, processes, False)
    await processes.close()


WRITES = (
    "echo x > {outside}/file.txt && echo ESCAPED",
    "echo x > {home}/.bashrc && echo ESCAPED",
    "echo x > /etc/cockpit-probe && echo ESCAPED",
    "ln -s {outside}/file.txt out; echo x > out && echo ESCAPED",
    "/bin/cat {home}/.ssh/id_ed25519",
    "/bin/cat {home}/notes.txt",
    "/bin/cat /etc/shadow && echo ESCAPED",
)


@pytest.mark.parametrize("script", WRITES)
async def test_landlock_confines_files(partial: Box, script: str) -> None:
    ended = await partial.run("echo tried; " + script.format(home=partial.home, outside=partial.outside))
    assert ended.isolation == "landlock build" and ended.output.startswith("tried\n"), ended.output
    assert "ESCAPED" not in ended.output and CANARY not in ended.output, ended.output
    assert (partial.outside / "file.txt").read_text() == "theirs\n"


async def test_landlock_follows_the_profile_in_the_workspace(partial: Box) -> None:
    assert (await partial.run("echo x > built")).code == 0
    assert (partial.root / "built").exists()
    ended = await partial.run("echo x > read", "read")
    assert ended.code != 0


async def test_landlock_leaves_no_network_and_no_privileges(partial: Box) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        for kind in ("SOCK_STREAM", "SOCK_DGRAM"):
            connect = f"socket.socket(type=socket.{kind}).connect(('127.0.0.1', {port}))"
            ended = await partial.python(f"import socket; {connect}; print('OUT')")
            assert "OUT" not in ended.output, ended.output
    ended = await partial.python("print(open('/proc/self/status').read())")
    assert "CapEff:\t0000000000000000" in ended.output and "NoNewPrivs:\t1" in ended.output
    assert "Seccomp:\t2" in ended.output


async def test_landlock_does_not_protect_git_settings(partial: Box) -> None:
    """It sees no names within the workspace: its label is not the one of a sandbox."""
    ended = await partial.run("echo '# mine' >> .git/config && echo written")
    assert ended.output == "written\n" and ended.isolation != "bwrap build"


def test_landlock_exists_only_on_linux() -> None:
    assert (kernel_limits.landlock_version() > 0) <= (sys.platform == "linux")
    hides = ("/root", "/tmp", "/var/tmp")
    if sys.platform == "linux":
        opened = list(kernel_limits.visible_paths(hides))
        assert "/usr" in opened and "/var" not in opened and not set(hides) & set(opened)
