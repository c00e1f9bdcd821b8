"""The environment a child gets: ours without what opens doors. Pure functions of their arguments."""

import os
import re
from collections.abc import Mapping

from cockpit.workspace.words import words

SECRET = re.compile(
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
STARTERS = words("BASH_ENV ENV PROMPT_COMMAND PS4 SHELLOPTS BASHOPTS LD_AUDIT")
FIXED = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}


def is_secret(name: str) -> bool:
    """Whether a variable's name says that it holds a key."""
    return SECRET.search(name) is not None


def scrubbed(ours: Mapping[str, str], given: Mapping[str, str] | None = None) -> dict[str, str]:
    """`ours` without secrets and starters, for a child without a terminal; `given` is added as it is."""
    kept = {
        name: value
        for name, value in ours.items()
        if not is_secret(name) and name not in STARTERS and not name.startswith("BASH_FUNC_")
    }
    if "PATH" in kept:
        kept["PATH"] = search_path(kept["PATH"])
    return kept | FIXED | dict(given or {})


def search_path(value: str) -> str:
    """`PATH` without relative entries: with `.` in it a folder would say which `git` is run."""
    return os.pathsep.join(entry for entry in value.split(os.pathsep) if os.path.isabs(entry))
