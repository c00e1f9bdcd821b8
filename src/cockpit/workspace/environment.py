"""The environment of child processes: the user's, without secrets and variables that run other code."""

import os
import re
from collections.abc import Mapping

from cockpit.workspace.word_set import word_set

SECRET_NAME = re.compile(
    r"""
    (^|_)(API_?KEYS?|ACCESS_?KEYS?|SECRET_?KEYS?|PRIVATE_?KEYS?|TOKENS?|SECRETS?|CREDENTIALS?)(_|$)
    | (^|_)(PASSWORDS?|PASSWD|PASSPHRASE|AUTH|PAT|APIKEY|DSN)(_|$)
    | _KEY$
    | ^AWS_(?!REGION$|DEFAULT_REGION$|PROFILE$)
    | ^AZURE_CLIENT_ | ^GOOGLE_APPLICATION_ | ^PGPASSFILE$ | ^NETRC$
    | ^(OPENAI|ANTHROPIC)_(?!BASE_URL$)
    | ^(DATABASE|REDIS|MONGO(DB)?|POSTGRES(QL)?)_UR[IL]$
    """,
    re.VERBOSE | re.IGNORECASE,
)
# Each makes a shell or a loader run a file before the command that was shown.
STARTUP_VARIABLES = word_set("BASH_ENV ENV PROMPT_COMMAND PS4 SHELLOPTS BASHOPTS LD_AUDIT")
# These git variables say who the user is and how git connects; every other one points it at another
# repository, other configuration or a program (cockpit may itself be run by a hook).
GIT_ALLOWED = re.compile(
    r"GIT_(AUTHOR_\w+|COMMITTER_\w+|SSL_\w+|SSH|SSH_COMMAND|SSH_VARIANT|CEILING_DIRECTORIES|"
    r"CONFIG_(GLOBAL|SYSTEM|NOSYSTEM)|TERMINAL_PROMPT)"
)
# Each leads to a service of the user's, or to a folder that does not exist in the sandbox.
SERVICE_VARIABLES = word_set(
    """
    SSH_AUTH_SOCK SSH_AGENT_PID GPG_AGENT_INFO DBUS_SESSION_BUS_ADDRESS DBUS_SYSTEM_BUS_ADDRESS DISPLAY
    WAYLAND_DISPLAY XAUTHORITY DOCKER_HOST DOCKER_CONFIG KUBECONFIG TMUX STY TMPDIR TMP TEMP COCKPIT_HOME
    """
)
# Values that are keys under any name: a provider's prefix, or a password in a URL.
KEY_VALUE = re.compile(
    r"""
    ^(sk-|sk_live_|rk_live_|gh[pousr]_|github_pat_|glpat-|npm_|pypi-|xox[abpors]-|hf_|AIza|AKIA|ASIA)[\w-]{12}
    | ://[^/\s:@]*:[^/\s@]+@ | -----BEGIN\ [A-Z ]*PRIVATE
    """,
    re.VERBOSE,
)
FIXED_VARIABLES = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}


def is_secret_variable(name: str) -> bool:
    """Whether the name of a variable says that it holds a key."""
    return SECRET_NAME.search(name) is not None


def scrub_environment(
    environment: Mapping[str, str], extra: Mapping[str, str] | None = None
) -> dict[str, str]:
    """`environment` without secrets and start-up variables, for a child without a terminal, plus `extra`."""
    allowed = {
        name: value
        for name, value in environment.items()
        if not is_secret_variable(name)
        and name not in STARTUP_VARIABLES
        and not name.startswith("BASH_FUNC_")
        and (not name.startswith("GIT_") or GIT_ALLOWED.fullmatch(name))
        and (KEY_VALUE.search(value) is None or name.lower().endswith("_proxy"))
    }
    if "PATH" in allowed:
        allowed["PATH"] = absolute_search_path(allowed["PATH"])
    return allowed | FIXED_VARIABLES | dict(extra or {})


def sandbox_environment(scrubbed: Mapping[str, str], extra: Mapping[str, str], home: str) -> dict[str, str]:
    """A scrubbed environment for a sandboxed program: no services of the user, folders that exist inside."""
    allowed = {
        name: value
        for name, value in scrubbed.items()
        if name not in SERVICE_VARIABLES
        and not name.startswith(("XDG_", "VSCODE_"))
        and not KEY_VALUE.search(value)
    }
    user = allowed.get("USER") or allowed.get("LOGNAME") or os.path.basename(home)
    names = {"HOME": home, "USER": user, "LOGNAME": user, "TMPDIR": "/tmp"}
    return allowed | names | dict(extra)


def absolute_search_path(value: str) -> str:
    """`PATH` without relative entries: with `.` in it, a folder would decide which `git` runs."""
    return os.pathsep.join(entry for entry in value.split(os.pathsep) if os.path.isabs(entry))
