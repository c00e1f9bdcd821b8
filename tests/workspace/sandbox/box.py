"""A project, a home folder with secrets and an outside folder, for programs that try to escape."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.parts import skip_without

from cockpit.plugin.workspace import Launch, ProcessResult, Profile
from cockpit.workspace.processes.local_processes import LocalProcesses

CANARY = "canary-7f3a"


@dataclass(frozen=True)
class Box:
    """`claimed`: cockpit reports a full sandbox on this machine, so every probe must fail."""

    root: Path
    home: Path
    outside: Path
    processes: LocalProcesses
    claimed: bool

    async def run(self, script: str, profile: Profile = "build", seconds: float = 30.0) -> ProcessResult:
        launch = Launch(self.processes.shell(script), str(self.root), (), profile)
        return await self.processes.run_sealed(launch, launch.seal(), seconds=seconds)

    async def python(self, script: str, profile: Profile = "build") -> ProcessResult:
        launch = Launch((sys.executable, "-I", "-c", script), str(self.root), (), profile)
        return await self.processes.run_sealed(launch, launch.seal())

    async def require_sandbox(self, profile: Profile = "build") -> None:
        """Skip the test where there is no full sandbox, after checking that no record claims one."""
        if not self.claimed:
            ended = await self.run("true", profile)
            assert ended.isolation in ("none", f"landlock {profile}")
            skip_without("sandbox", "bubblewrap does not work on this machine")


@contextmanager
def environment(values: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def furnish(base: Path) -> tuple[Path, Path, Path]:
    """A repository with what steers programs, a home with secrets, a folder that is neither."""
    root, home, outside = base / "work" / "project", base / "person", base / "outside"
    for folder in (root, home, outside):
        folder.mkdir(parents=True)
    for name, text in (
        (home / ".ssh" / "id_ed25519", CANARY),
        (home / ".aws" / "credentials", CANARY),
        (home / ".netrc", CANARY),
        (home / ".bashrc", "# mine\n"),
        (home / "notes.txt", CANARY),
        (outside / "file.txt", "theirs\n"),
        (root / "main.py", "print(1)\n"),
        (root / ".env", f"KEY={CANARY}\n"),
        (root / "sub" / ".env", f"KEY={CANARY}\n"),
        (root / ".cockpit" / "settings.toml", 'mode = "ask"\n'),
        (root / ".vscode" / "settings.json", "{}\n"),
        (root / "sub" / ".claude" / "settings.json", "{}\n"),
    ):
        name.parent.mkdir(parents=True, exist_ok=True)
        name.write_text(text)
    (home / ".gitconfig").write_text("[user]\n name = n\n email = a@b.c\n")
    setup = "git init -q . && git add main.py && git -c user.name=n -c user.email=a@b.c commit -qm one"
    subprocess.run(("bash", "-c", setup), cwd=root, check=True, capture_output=True)
    return root, home, outside
