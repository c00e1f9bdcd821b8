"""Which shell runs a command line, and which pattern of a plain command line can be remembered.

Pure functions; they do not judge what is dangerous.
"""

import re
import shlex
from collections.abc import Callable

from cockpit.workspace.word_set import word_set

PLAIN_COMMAND = re.compile(r"[A-Za-z0-9_@%+=:,./\- '\"]+")
Which = Callable[[str], str | None]


def posix_shell(command: str, which: Which) -> tuple[str, ...]:
    """The argv that runs `command` in bash without start-up files, or in sh where there is no bash."""
    bash = which("bash")
    if bash:
        return (bash, "--noprofile", "--norc", "-c", command)
    return (which("sh") or "/bin/sh", "-c", command)


def windows_shell(command: str, which: Which) -> tuple[str, ...]:
    """The argv that runs `command` in PowerShell without a profile, preferring pwsh."""
    shell = which("pwsh") or which("powershell") or "powershell.exe"
    # Without this the exit code of a failed native program would be 0 or 1, never its own.
    script = f"{command}\nif ($null -ne $LASTEXITCODE) {{ exit $LASTEXITCODE }}"
    return (shell, "-NoLogo", "-NoProfile", "-NonInteractive", "-Command", script)


def parse_plain_command(command: str) -> tuple[str, ...]:
    """The words of `command` if it is a single program with literal arguments, else ().

    Anything that a shell interprets gives (): operators, expansions, globs, escapes, comments, assignments,
    reserved words, several lines.
    """
    if not PLAIN_COMMAND.fullmatch(command):
        return ()
    try:
        words = tuple(shlex.split(command))
    except ValueError:
        return ()
    if not words or "=" in words[0] or words[0] in RESERVED or not words[0]:
        return ()
    return words


RESERVED = word_set(
    """
    if then else elif fi for while until do done case esac in function select time coproc eval exec
    source . builtin command trap alias set export
    """
)


WITH_SUBCOMMANDS = word_set(
    """
    git gh glab npm pnpm yarn bun cargo go docker podman kubectl helm uv pip pip3 poetry hatch pdm conda
    brew apt dotnet mvn gradle terraform aws gcloud az systemctl rustup deno flutter rails bundle composer
    """
)
# What these do depends on the word after them: `npm run build`, `gh pr view`, `docker compose up`.
NESTED_SUBCOMMANDS = word_set(
    """
    npm:run pnpm:run yarn:run bun:run npm:exec gh:pr gh:issue gh:repo gh:run gh:release gh:workflow glab:mr
    docker:compose docker:image docker:container docker:volume podman:compose uv:pip uv:tool uv:python
    git:stash git:remote git:worktree git:submodule git:bisect git:notes aws:s3 cargo:xtask poetry:env
    """
)
# These run the command after them: the pattern is theirs followed by that of the command.
RUNNERS = word_set("uv:run poetry:run pipenv:run hatch:run pdm:run rye:run bundle:exec pnpm:exec")
# Subcommands that run any code or image: only the whole command can be remembered.
OPEN_ENDED = word_set(
    """
    npm:exec pnpm:dlx pnpm:exec docker:run docker:exec podman:run podman:exec kubectl:exec kubectl:run go:run
    gh:api gh:alias gh:extension deno:run deno:eval bun:x
    git:push npm:install npm:i npm:add pnpm:install pnpm:i pnpm:add yarn:add bun:add bun:install pip:install
    pip3:install uv:add poetry:add cargo:install cargo:add go:install go:get gem:install brew:install
    apt:install conda:install composer:require dotnet:add
    """
)
# Python modules that do one thing whatever their arguments are.
SAFE_MODULES = word_set(
    """
    pytest unittest mypy ruff black isort flake8 pylint coverage tox nox build compileall py_compile doctest
    pyright bandit pycodestyle pydocstyle json.tool
    """
)
PACKAGE_RUNNERS = word_set("npx bunx uvx pipx")
# Fetched programs that run any code they are given.
CODE_RUNNERS = word_set("ts-node tsx zx node sh bash env esno vite-node babel-node jiti python ipython")
# What these do depends on their arguments alone: only the whole command can be remembered.
UNPREDICTABLE_PROGRAMS = word_set(
    """
    rm mv dd chmod chown ln kill pkill killall sudo doas su env nice nohup setsid timeout xargs time
    watch ssh scp rsync curl wget sh bash dash zsh fish ksh python python3 node deno ruby perl php lua
    osascript pwsh powershell awk gawk sed find tee npx bunx uvx pipx busybox tar parallel strace gdb
    make just task rake pipenv rye
    """
)
SUBCOMMAND_WORD = re.compile(r"[a-z][a-z0-9:._-]*")


def command_pattern(argv: tuple[str, ...]) -> str:
    """The pattern that an approval of a plain command may store: `git status *`, or the whole command."""
    if not argv or "/" in argv[0]:
        return ""
    first, second, third = (*argv[:3], "", "")[:3]
    if first not in UNPREDICTABLE_PROGRAMS and first not in WITH_SUBCOMMANDS:
        return f"{first} *"
    if re.fullmatch(r"python3?(\.\d+)?", first) and second == "-m" and third in SAFE_MODULES:
        return f"{first} -m {third} *"
    if first in PACKAGE_RUNNERS and SUBCOMMAND_WORD.fullmatch(second) and second not in CODE_RUNNERS:
        return f"{first} {second} *"
    pair = f"{first}:{second}"
    if pair in RUNNERS and (inner := command_pattern(argv[2:])).endswith(" *"):
        return f"{first} {second} {inner}"
    if pair in NESTED_SUBCOMMANDS and SUBCOMMAND_WORD.fullmatch(third) and pair not in OPEN_ENDED:
        return f"{first} {second} {third} *"
    sub = first in WITH_SUBCOMMANDS and SUBCOMMAND_WORD.fullmatch(second) is not None
    if sub and not {pair} & (NESTED_SUBCOMMANDS | OPEN_ENDED | RUNNERS):
        return f"{first} {second} *"
    # Rules match words joined by single spaces: a word that contains a space would match other commands.
    return "" if any(" " in word or not word for word in argv) else " ".join(argv)
