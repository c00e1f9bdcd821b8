"""Where a command of a forge, a repository or a package index would send or fetch, for the person who is
asked. Judges nothing."""

from cockpit.safety.bash.commands import Command

TO_REMOTES = frozenset({"push", "pull", "fetch", "clone", "ls-remote"})
UNNAMED = "the configured remote"


def of(command: Command) -> str:
    """The remote that git talks to, by the words of the line; "" for any other command."""
    words = [word.guess for word in command.words]
    if command.program != "git" or len(words) < 2 or words[1] not in TO_REMOTES:
        return ""
    named = [one for one in words[2:] if not one.startswith("-")]
    return named[0] if named else UNNAMED
