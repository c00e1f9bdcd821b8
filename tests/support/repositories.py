"""Real git repositories for tests."""

import subprocess
from pathlib import Path


class Repo:
    """A repository in a folder of a test, with a first commit."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("config", "user.name", "A Person")
        self.git("config", "user.email", "person@example.org")
        self.write("app.py", "one\ntwo\nthree\n")
        self.write("src/part.py", "value = 1\n")
        self.commit("first")

    def git(self, *arguments: str, at: Path | str | None = None) -> str:
        ended = subprocess.run(
            ("git", *arguments), cwd=at or self.folder, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, f"git {arguments}: {ended.stderr}{ended.stdout}"
        return ended.stdout

    def write(self, path: str, text: str, at: Path | str | None = None) -> Path:
        file = Path(at or self.folder, path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def commit(self, message: str, at: Path | str | None = None) -> str:
        self.git("add", "--all", at=at)
        self.git("commit", "--quiet", "--no-verify", "-m", message, at=at)
        return self.head(at)

    def head(self, at: Path | str | None = None) -> str:
        return self.git("rev-parse", "HEAD", at=at).strip()

    def state(self) -> tuple[str, str, bytes]:
        """All that a person would see of their tree, byte for byte: status, HEAD and the index."""
        shown = ("--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--ignored=no")
        status = self.git("status", *shown)
        return status, self.head(), (self.folder / ".git" / "index").read_bytes()

    def branches(self) -> set[str]:
        return set(self.git("for-each-ref", "--format=%(refname:short)", "refs/heads").split())
