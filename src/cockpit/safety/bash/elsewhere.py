"""git that is told to work in the tree a worktree was made from: it would move a person's branch, index or
files from where nobody looks. Reading there is judged as reading anywhere outside."""

import posixpath
from collections.abc import Iterator

from cockpit.safety.bash import places, readers
from cockpit.safety.bash.commands import Command
from cockpit.safety.bash.findings import Finding, deny
from cockpit.safety.bash.words import Word
from cockpit.safety.values import Ground
from cockpit.workspace.words import words
from cockpit.workspace.worktrees.names import FOLDER, tree_of

PLACES = ("--git-dir", "--work-tree")
READERS = words(
    """
    log show diff status blame grep shortlog describe rev-parse rev-list ls-files ls-tree cat-file name-rev
    merge-base for-each-ref show-ref count-objects check-ignore check-attr cherry diff-tree diff-index
    diff-files version help annotate whatchanged ls-remote
    """
)


def look(command: Command, ground: Ground) -> list[Finding]:
    """A refusal where git would change the tree that this worktree was made from."""
    tree = tree_of(ground.root) if command.program == "git" else ""
    if not tree or readers.subcommand(command)[0] in READERS:
        return []
    own = _top(ground.root, tree)
    for folder in _folders(command, ground):
        if places.within(folder, tree) and not places.within(folder, own):
            reason = f"git would work in {folder}, in the tree that this worktree was made from"
            return [deny("write.origin", f"{reason}; run it in the worktree", "vcs.local", "fs.outside")]
    return []


def _top(root: str, tree: str) -> str:
    """The top of the worktree that `root` lies in."""
    depth = len(FOLDER) + 1
    return posixpath.join(tree, *root[len(tree) :].strip("/").split("/")[:depth])


def _folders(command: Command, ground: Ground) -> Iterator[str]:
    """Where it works, as far as the line says it: `-C` after `-C` from the folder it runs in, and the
    places that options and variables name."""
    folder = command.cwd or command.near
    named = [word for name, word in command.assignments if name in ("GIT_DIR", "GIT_WORK_TREE")]
    given = list(command.words[1:])
    while given and given[0].guess.startswith("-"):
        option, _, value = given.pop(0).text.partition("=")
        if option == "-C" and given:
            folder = places.place(given.pop(0), folder, folder, ground).path
        elif option in PLACES and value:
            named.append(Word(value))
        elif option in readers.GIT_VALUED and given:
            word = given.pop(0)
            named += [word] if option in PLACES else []
    yield folder
    for word in named:
        yield places.place(word, folder, folder, ground).path
