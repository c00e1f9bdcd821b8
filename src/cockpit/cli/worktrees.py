"""`cockpit worktrees list|merge|prune`: the worktrees that agents of this repository worked in."""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from cockpit.builtin.tools.worktrees.lifecycle import describe_merge, describe_pruned, describe_worktrees
from cockpit.cli.command import add_options, print_json
from cockpit.errors import CockpitError
from cockpit.workspace.processes.local_processes import LocalProcesses
from cockpit.workspace.worktrees import branch_merge
from cockpit.workspace.worktrees.git_client import GitClient, open_repository
from cockpit.workspace.worktrees.inventory import MAX_AGE_HOURS, list_rows, prune_worktrees, remove_worktree
from cockpit.workspace.worktrees.values import Repository


def main(argv: Sequence[str]) -> int:
    args = _parser().parse_args(list(argv))
    return asyncio.run(_run(args))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="cockpit worktrees", description="The worktrees that agents of this repository worked in."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    listing = commands.add_parser("list", help="list the worktrees and what was done in each")
    merge = commands.add_parser("merge", help="merge the work of a worktree into the current branch")
    merge.add_argument("name", help="the worktree or its branch")
    text = "merge into this branch instead of the current branch"
    merge.add_argument("--into", default="", metavar="BRANCH", help=text)
    text = "only show what would be merged, or the conflicts"
    merge.add_argument("--dry-run", action="store_true", help=text)
    merge.add_argument("--keep", action="store_true", help="keep the worktree and its branch")
    text = "also merge files that configure programs; review them first"
    merge.add_argument("--protected", action="store_true", help=text)
    pruning = commands.add_parser("prune", help="delete old worktrees whose work exists elsewhere")
    pruning.add_argument("name", nargs="?", default="", help="only this worktree")
    pruning.add_argument("--max-age-hours", type=float, default=MAX_AGE_HOURS, metavar="N")
    text = "also delete unmerged work, which is then lost"
    pruning.add_argument("--unmerged", action="store_true", help=text)
    pruning.add_argument("--dry-run", action="store_true", help="only show what would be deleted")
    for item in (listing, merge, pruning):
        add_options(item, "json")
    return parser


async def _run(args: argparse.Namespace) -> int:
    processes = LocalProcesses(str(Path.cwd()))
    try:
        git, repository = await open_repository(processes, str(Path.cwd()))
        match args.command:
            case "list":
                return await _list_worktrees(git, repository, args.json)
            case "merge":
                return await _merge_worktree(git, repository, args)
            case _:
                return await _prune_worktrees(git, repository, args)
    finally:
        await processes.close()


async def _list_worktrees(git: GitClient, repository: Repository, as_json: bool) -> int:
    worktrees = await list_rows(git, repository)
    if as_json:
        print_json([asdict(row) for row in worktrees])
    else:
        print(describe_worktrees(worktrees))
    return 0


async def _merge_worktree(git: GitClient, repository: Repository, args: argparse.Namespace) -> int:
    """Exit code 0 if merged (or mergeable), 1 for a conflict or nothing to merge."""
    if not args.dry_run:
        await branch_merge.commit_pending_work(git, repository, args.name)
    async with branch_merge.try_merge(git, repository, args.name, args.into) as (merge, _):
        if args.json:
            print_json(asdict(merge))
        else:
            print(describe_merge(merge))
        if args.dry_run:
            return 1 if merge.conflicts or not merge.new else 0
        await branch_merge.apply_merge(git, repository, merge, args.protected)
    if args.keep:
        return 0
    for row in await list_rows(git, repository):
        if row.branch == merge.branch and row.is_merged and not row.uncommitted and not row.is_in_use:
            await remove_worktree(git.at(repository.origin), row)
            print(f"deleted {row.branch} and its worktree", file=sys.stderr)
    return 0


async def _prune_worktrees(git: GitClient, repository: Repository, args: argparse.Namespace) -> int:
    limits = args.max_age_hours, args.dry_run, args.unmerged
    pruned = await prune_worktrees(git, repository, *limits, args.name)
    if args.name and not pruned:
        raise CockpitError(f"there is no worktree {args.name}", "cockpit worktrees list shows all worktrees")
    if args.json:
        print_json([asdict(item) for item in pruned])
    else:
        print(describe_pruned(pruned, args.dry_run))
    return 0
