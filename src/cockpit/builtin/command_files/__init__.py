"""Command files of Claude Code, opencode, Gemini, Codex, crush and our own as slash commands."""

from collections.abc import Iterator
from pathlib import Path

from cockpit.builtin.command_files.running import command_of
from cockpit.formats.command_places import find
from cockpit.plugin import hookimpl
from cockpit.plugin.origin import Unloaded
from cockpit.plugin.values import Command, Register, Scope, Source


def of_files(scope: Scope) -> Iterator[Command | Unloaded]:
    for one in find(Path(scope.root), scope.trusted, Path.home()):
        yield one if isinstance(one, Unloaded) else command_of(one)


@hookimpl
def register_commands(register: Register, scope: Scope) -> None:
    register(Source("command-files", of_files))
