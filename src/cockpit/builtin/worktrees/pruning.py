"""`prune_worktrees`: what is old and holds nothing that is nowhere else goes."""

from dataclasses import asdict, dataclass
from typing import Annotated

from cockpit.builtin.worktrees.words import WORDS, pruned_words, titled
from cockpit.plugin.arguments import parse, schema, typed
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Alias, Arguments, Done, Part, Preview, Tool
from cockpit.workspace.worktrees.pruning import HOURS, prune
from cockpit.workspace.worktrees.running import opened


@dataclass(frozen=True, slots=True)
class Prune:
    max_age_hours: Annotated[float, "only those that nobody used for so long"] = HOURS
    dry_run: Annotated[bool, "only say what would go"] = False
    unmerged: Annotated[bool, "also work that is nowhere else: it is lost"] = False
    name: Annotated[str, "only this worktree or branch"] = ""


async def preview(arguments: Arguments, context: Context) -> Preview:
    wanted = parse(Prune, arguments)
    if wanted.dry_run:
        return Preview(title="prune worktrees (only a look)")
    said = await _pruned(wanted, context, dry_run=True)
    return Preview("prune worktrees", (Part("prune", "prune worktrees", said.text),))


async def run(arguments: Prune, context: Context) -> Done:
    return await _pruned(arguments, context, arguments.dry_run)


async def _pruned(wanted: Prune, context: Context, dry_run: bool) -> Done:
    git, seen = await opened(context.workspace.processes, context.workspace.root)
    found = await prune(git, seen, wanted.max_age_hours, dry_run, wanted.unmerged, wanted.name)
    return Done(pruned_words(found, dry_run), data=[asdict(one) for one in found])


def tool() -> Tool:
    return Tool(
        name="prune_worktrees",
        kind="delete",
        description="Take away old worktrees whose work is merged, or that hold none.",
        parameters=schema(Prune),
        capabilities=frozenset({"vcs.local", "fs.delete"}),
        run=typed(Prune, run),
        title=titled("prune worktrees", "name"),
        preview=preview,
        deferred=True,
        aliases=(Alias("worktree_prune"), Alias("WorktreePrune")),
        keywords=(*WORDS, "clean"),
        seconds=600.0,
    )
