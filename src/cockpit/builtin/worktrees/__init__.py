"""Worktrees: entered and left by the session, merged back, pruned; and the verdict on each. The git of it is
`cockpit.workspace.worktrees`' part."""

from collections.abc import Callable

from cockpit.builtin.worktrees import entering, merging, pruning
from cockpit.builtin.worktrees.commands import command
from cockpit.builtin.worktrees.judging import decide
from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import schema, typed
from cockpit.plugin.safety import Decider
from cockpit.plugin.tools import Alias, Arguments, Tool
from cockpit.plugin.values import Register, Scope

WORDS = ("worktree", "branch", "isolate", "parallel", "git")


def _titled(verb: str, *names: str) -> Callable[[Arguments], str]:
    def title(arguments: Arguments) -> str:
        return " ".join((verb, *(str(arguments[name]) for name in names if arguments.get(name))))

    return title


def tools() -> tuple[Tool, ...]:
    return (
        Tool(
            name="enter_worktree",
            kind="edit",
            description="Work in a git worktree of this repository: its own folder and branch, with what is "
            "not committed yet. All tools work there until leave_worktree.",
            parameters=schema(entering.Enter),
            capabilities=frozenset({"vcs.local", "fs.write"}),
            run=typed(entering.Enter, entering.enter),
            title=_titled("enter worktree", "name"),
            deferred=True,
            aliases=(
                Alias("EnterWorktree", reshape=entering.theirs),
                Alias("git_worktree_enter", reshape=entering.theirs),
            ),
            keywords=WORDS,
            seconds=600.0,
        ),
        Tool(
            name="leave_worktree",
            kind="other",
            description="Work in the session's own folder again. Work that is nowhere else needs a word: "
            "keep, merge, or remove with discard.",
            parameters=schema(entering.Leave),
            capabilities=frozenset({"vcs.local", "fs.write"}),
            run=typed(entering.Leave, entering.leave),
            title=_titled("leave worktree"),
            deferred=True,
            aliases=(Alias("ExitWorktree", reshape=entering.theirs_leaving),),
            keywords=WORDS,
            seconds=3600.0,
        ),
        Tool(
            name="merge_worktree",
            kind="edit",
            description="Bring the work of a worktree's branch (a subagent's, say) into the branch you work "
            "on. It is tried beside: a conflict is listed and changes nothing. The tree must be clean.",
            parameters=schema(merging.MergeBack),
            capabilities=frozenset({"vcs.local", "fs.write"}),
            run=typed(merging.MergeBack, merging.run),
            title=_titled("merge", "branch"),
            preview=merging.preview,
            deferred=True,
            aliases=(
                Alias("WorktreeMergeBack", (("source_branch", "branch"), ("target_branch", "target"))),
                Alias("worktree_merge_back", (("source_branch", "branch"), ("target_branch", "target"))),
            ),
            keywords=(*WORDS, "merge"),
            seconds=600.0,
        ),
        Tool(
            name="prune_worktrees",
            kind="delete",
            description="Take away old worktrees whose work is merged, or that hold none.",
            parameters=schema(pruning.Prune),
            capabilities=frozenset({"vcs.local", "fs.delete"}),
            run=typed(pruning.Prune, pruning.run),
            title=_titled("prune worktrees", "name"),
            preview=pruning.preview,
            deferred=True,
            aliases=(Alias("worktree_prune"), Alias("WorktreePrune")),
            keywords=(*WORDS, "clean"),
            seconds=600.0,
        ),
    )


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    for tool in tools():
        register(tool)


@hookimpl
def register_commands(register: Register, scope: Scope) -> None:
    register(command())


@hookimpl
def register_deciders(register: Register, scope: Scope) -> None:
    register(Decider("worktrees", decide))
