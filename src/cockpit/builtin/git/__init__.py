"""`git` reads the repository, `git_change` changes it locally. Nothing here reaches a remote."""

from cockpit.builtin.git import mutations, readers
from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import schema, typed
from cockpit.plugin.tools import Alias, Arguments, Cap, Tool
from cockpit.plugin.values import Register, Scope

LINES = (("start_line", "start"), ("end_line", "end"), ("file", "path"))
READERS = ("status", "diff", "log", "show", "blame")
CHANGES = ("add", "commit", "restore", "branch", "switch", "stash")


def _title(arguments: Arguments) -> str:
    parts = ("git", *(str(arguments.get(name, "")) for name in ("what", "ref", "path", "name")))
    return " ".join(part for part in parts if part)


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    renamed = (("commit", "ref"), ("revision", "ref"), ("cached", "staged"), ("max_count", "limit"), *LINES)
    register(
        Tool(
            name="git",
            kind="read",
            description="Read the git repository: status, diff, log, show, blame.",
            parameters=schema(readers.Git),
            capabilities=frozenset({"fs.read"}),
            run=typed(readers.Git, readers.run),
            title=_title,
            preview=readers.preview,
            is_concurrent=lambda arguments: True,
            cap=Cap(shape="head"),
            aliases=tuple(Alias(f"git_{what}", renamed, (("what", what),)) for what in READERS),
            keywords=("history", "changes", "author"),
        )
    )
    register(
        Tool(
            name="git_change",
            kind="execute",
            description="Change the local repository: add, commit, restore, branch, switch, stash, unstash.",
            parameters=schema(mutations.GitChange),
            capabilities=frozenset({"vcs.local", "fs.write"}),
            run=typed(mutations.GitChange, mutations.run),
            title=_title,
            preview=mutations.preview,
            deferred=True,
            aliases=tuple(
                Alias(f"git_{what}", (("files", "paths"), ("branch", "name")), (("what", what),))
                for what in CHANGES
            ),
            keywords=("commit", "stage", "branch", "stash", "restore", "checkout", "git"),
        )
    )
