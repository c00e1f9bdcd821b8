"""Git for worktrees, and the repository a folder lies in. As a reader's git it runs no hook, helper or
filter of the repository's; beyond that nothing is signed, and what the repository names to merge files with
is replaced by git's own way with text.
"""

import asyncio
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from cockpit.errors import CockpitError
from cockpit.plugin.workspace import Ended, Processes
from cockpit.workspace.git import ENVIRONMENT, TRUSTED_SCOPES, filters_off, reading
from cockpit.workspace.worktrees.names import origin_of
from cockpit.workspace.worktrees.values import Repository

SECONDS = 300.0
SETTINGS = {
    "commit.gpgSign": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "merge.default": "text",
    "merge.autoStash": "false",
    "rerere.enabled": "false",
    "diff.ignoreSubmodules": "dirty",
    "diff.renames": "false",
    "advice.detachedHead": "false",
    "checkout.guess": "false",
    "worktree.guessRemote": "false",
    "core.safecrlf": "false",
}
DRIVERS = ("config", "--null", "--show-scope", "--includes", "--get-regexp", r"^merge\..*\.driver$")
TEXT = "git merge-file %A %O %B"
FALLBACK = ("cockpit", "cockpit@localhost")
# Git reads every worktree's folder, also one that another git is just making: it says so, and does nothing.
HALF_MADE = re.compile(r"failed to read \S*worktrees/\S+: (Success|No such file)")
PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8, 0.0)
NO_REPOSITORY = "worktrees need a git repository, and this folder is in none"


@dataclass(frozen=True, slots=True)
class Git:
    """Git in the work tree whose top is `top`; `off` is what `opened` found to be switched off."""

    processes: Processes
    top: str
    off: tuple[str, ...] = ()

    def at(self, top: str) -> "Git":
        """The same repository's git in another work tree of it."""
        return replace(self, top=top)

    async def run(
        self, *arguments: str, stdin: bytes = b"", environment: Mapping[str, str] | None = None
    ) -> tuple[int, str]:
        """The exit code and all of the output. Raises `ProcessFailed` where there is no git."""
        for pause in PAUSES:
            code, said = await self._once(arguments, stdin, environment or {})
            if code == 0 or HALF_MADE.search(said) is None:
                break
            await asyncio.sleep(pause)
        return code, said

    async def _once(
        self, arguments: tuple[str, ...], stdin: bytes, environment: Mapping[str, str]
    ) -> tuple[int, str]:
        pieces: list[str] = []
        ended: Ended = await self.processes.run(
            reading(self.top, *arguments, off=self.off),
            cwd=self.top,
            stdin=stdin,
            seconds=SECONDS,
            environment={**ENVIRONMENT, **environment},
            on_output=pieces.append,
        )
        if ended.timed_out:
            raise CockpitError(f"git {arguments[0]} took longer than {SECONDS:g} s and was stopped")
        return ended.code, "".join(pieces)

    async def say(
        self, *arguments: str, stdin: bytes = b"", environment: Mapping[str, str] | None = None
    ) -> str:
        """The output. Raises `CockpitError` with git's own words where it fails."""
        code, said = await self.run(*arguments, stdin=stdin, environment=environment)
        if code != 0:
            raise CockpitError(f"git {arguments[0]}: {_words(said) or f'it ended with code {code}'}")
        return said

    async def commit_of(self, name: str) -> str:
        """The commit that a ref names, or "". Raises `CockpitError` where git cannot tell."""
        asked = ("--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        code, said = await self.run("rev-parse", *asked)
        if code == 1:
            return ""
        if code != 0 or not said.strip():
            raise CockpitError(f"git rev-parse {name}: {_words(said) or f'it ended with code {code}'}")
        return said.strip()

    async def identity(self) -> dict[str, str]:
        """Who commits: as the person's git says, and cockpit where it says nothing."""
        kept: dict[str, str] = {}
        for field, fallback in zip(("name", "email"), FALLBACK, strict=True):
            code, said = await self.run("config", "--get", f"user.{field}")
            value = said.strip() if code == 0 and said.strip() else fallback
            for role in ("AUTHOR", "COMMITTER"):
                name = f"GIT_{role}_{field.upper()}"
                kept[name] = os.environ.get(name) or value
        return kept


async def opened(processes: Processes, root: str) -> tuple[Git, Repository]:
    """Git and the repository of `root`. Raises `CockpitError` where worktrees cannot be."""
    plain = Git(processes, root)
    code, said = await plain.run("rev-parse", "--is-bare-repository", "--is-inside-work-tree")
    if code != 0:
        raise _no_repository(said)
    if said.split() != ["false", "true"]:
        raise CockpitError(
            "worktrees for agents need a work tree, and this folder is in a bare repository or in .git",
            "open cockpit in a folder that is checked out",
        )
    said = await plain.say("rev-parse", "--path-format=absolute", "--show-toplevel", "--git-common-dir")
    top, store, home, here = _real(*said.splitlines()[:2], "~", root)
    if home == top:
        raise CockpitError(
            "the repository is your home folder: no worktree is made of it",
            "open cockpit in a project with a repository of its own",
        )
    git = Git(processes, top, await _switched_off(plain))
    head = await git.commit_of("HEAD")
    if not head:
        raise CockpitError(
            "the repository has no commit yet, so there is nothing to make a worktree from", "commit first"
        )
    code, said = await git.run("symbolic-ref", "--quiet", "--short", "HEAD")
    branch = said.strip() if code == 0 else ""
    origin, inside = _real(origin_of(top))[0], here[len(top) :].lstrip("/\\")
    return git, Repository(top, origin, store, head, branch, inside)


async def _switched_off(git: Git) -> tuple[str, ...]:
    """The options that keep git from running what the repository names."""

    async def run(argv: tuple[str, ...]) -> Ended:
        return await git.processes.run(argv, seconds=SECONDS, environment=ENVIRONMENT)

    off = [part for name, value in SETTINGS.items() for part in ("-c", f"{name}={value}")]
    fields = (await git.run(*DRIVERS))[1].split("\0")
    for scope, setting in zip(fields[::2], fields[1::2], strict=False):
        if scope not in TRUSTED_SCOPES:
            off += ["-c", f"{setting.partition(chr(10))[0]}={TEXT}"]
    return (*off, *await filters_off(run, git.top, "status"))


def _real(*paths: str) -> list[str]:
    return [os.path.realpath(os.path.expanduser(path)) for path in paths]


def _no_repository(said: str) -> CockpitError:
    if "dubious ownership" in said:
        hint = "git config --global --add safe.directory FOLDER, if you trust it"
        return CockpitError("the repository belongs to another user, and git refuses it", hint)
    if "not a git repository" in said:
        return CockpitError(NO_REPOSITORY, "git init makes one; or work without a worktree")
    return CockpitError(f"worktrees need a git repository: {_words(said)}")


def _words(said: str) -> str:
    """What git says is wrong, in one line."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    named = [line for line in lines if line.startswith(("fatal:", "error:"))]
    return "; ".join(named or lines[-3:])[:400]
