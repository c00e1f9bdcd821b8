"""What may be remembered of a command: a rule of its words, never a prefix of its text."""

from cockpit.plugin.safety import Level
from cockpit.safety.bash.commands import Command
from cockpit.safety.bash.findings import Finding
from cockpit.safety.bash.wrappers import RUNNERS, TRANSPARENT
from cockpit.workspace.shells import shape
from cockpit.workspace.words import words

NEVER = frozenset(
    {
        "secret.read",
        "persist",
        "agent.self",
        "priv",
        "code.remote",
        "shell.opaque",
        "host.mutate",
        "fs.delete",
    }
)
NEVER_RULES = words(
    """
    git.override git.config-runs net.send net.tunnel write.outside write.unknown assign code.unknown
    container.privileged environment read.secret-file xargs mode.open
    """
)

# Under these a command is remembered as it is by itself.
PASSING = TRANSPARENT | {name for name, _ in RUNNERS}


def of(command: Command, found: list[Finding], level: Level) -> str:
    """`pytest *`, `git commit *`, the whole command; "" for what is asked about each time."""
    if level == "deny" or not PASSING.issuperset(command.under):
        return ""
    if any(one.capabilities & NEVER or one.rule in NEVER_RULES for one in found):
        return ""
    # A rule's words say nothing of a redirection: leave to run pytest is no leave to write over a file.
    redirects = any(one.writes for one in command.redirects)
    if redirects and any(one.rule == "write.inside" for one in found):
        return ""
    argv = tuple(word.literal for word in command.words)
    known = tuple(one for one in argv if one is not None)
    if not known or argv[0] is None:
        return ""
    if len(known) < len(argv):
        sure = next(at for at, one in enumerate(argv) if one is None)
        made = shape(known[:sure]) if sure > 1 else ""
        return made if made.endswith(" *") else ""
    return shape(known)
