"""Which shell runs a command line, and when a command line is plainly one program with arguments.
Pure; knows nothing of what is dangerous."""

import re
import shlex
from collections.abc import Callable

from cockpit.workspace.words import words

PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./\- '\"]+")
Which = Callable[[str], str | None]


def posix_shell(command: str, which: Which) -> tuple[str, ...]:
    """The argv of `command` under bash without start-up files, or sh where there is no bash."""
    bash = which("bash")
    if bash:
        return (bash, "--noprofile", "--norc", "-c", command)
    return (which("sh") or "/bin/sh", "-c", command)


def windows_shell(command: str, which: Which) -> tuple[str, ...]:
    """The argv of `command` under PowerShell without a profile; pwsh where it is installed."""
    shell = which("pwsh") or which("powershell") or "powershell.exe"
    # Without this the exit code of a failed native program would be 0 or 1, never its own.
    script = f"{command}\nif ($null -ne $LASTEXITCODE) {{ exit $LASTEXITCODE }}"
    return (shell, "-NoLogo", "-NoProfile", "-NonInteractive", "-Command", script)


def plain_argv(command: str) -> tuple[str, ...]:
    """The words of `command` when it is one program with literal arguments, else ().

    Anything a shell would act on makes it (): operators, expansions, globs, escapes, comments,
    assignments, reserved words, several lines.
    """
    if not PLAIN.fullmatch(command):
        return ()
    try:
        words = tuple(shlex.split(command))
    except ValueError:
        return ()
    if not words or "=" in words[0] or words[0] in RESERVED or not words[0]:
        return ()
    return words


RESERVED = words(
    """
    if then else elif fi for while until do done case esac in function select time coproc eval exec
    source . builtin command trap alias set export
    """
)


WITH_SUBCOMMANDS = words(
    """
    git gh npm pnpm yarn bun npx cargo go docker podman kubectl helm uv pip pip3 poetry hatch pdm conda
    brew apt dotnet mvn gradle terraform aws gcloud az systemctl make just rustup deno flutter rails
    bundle composer
    """
)
# What these do hangs on their arguments alone: nothing less than the whole command can be remembered.
ANYTHING = words(
    """
    rm mv dd chmod chown ln kill pkill killall sudo doas su env nice nohup setsid timeout xargs time
    watch ssh scp rsync curl wget sh bash dash zsh fish ksh python python3 node deno ruby perl php lua
    osascript pwsh powershell awk gawk sed find tee npx bunx uvx pipx busybox tar parallel strace gdb
    """
)


def shape(argv: tuple[str, ...]) -> str:
    """What may be remembered for a plain command: `git status *`, `ls *`, or the whole command."""
    if not argv or "/" in argv[0]:
        return ""
    if argv[0] not in ANYTHING and argv[0] not in WITH_SUBCOMMANDS:
        return f"{argv[0]} *"
    if argv[0] in WITH_SUBCOMMANDS and len(argv) > 1 and re.fullmatch(r"[a-z][a-z0-9:-]*", argv[1]):
        return f"{argv[0]} {argv[1]} *"
    # A rule is matched against the words with single spaces between: one with a space would fit others.
    return "" if any(" " in word or not word for word in argv) else " ".join(argv)
