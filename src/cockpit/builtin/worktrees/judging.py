"""The verdict on calls about worktrees: a look is free, and what brings work into a person's branch or throws
work away is theirs to say, in every mode."""

from cockpit.plugin.safety import Judged, Verdict


async def decide(judged: Judged) -> Verdict | None:
    arguments, caps = judged.call.arguments, judged.tool.capabilities
    match judged.tool.name:
        case "merge_worktree" | "prune_worktrees" if arguments.get("dry_run") is True:
            return Verdict("allow", capabilities=frozenset({"fs.read"}))
        case "merge_worktree":
            reason = "it brings the work of a worktree into your branch"
            return Verdict("ask", reason, 40, caps, ("worktree.merge",), may_remember=False, person_only=True)
        case "leave_worktree" if arguments.get("discard") is True:
            reason = "it throws the work of a worktree away"
            return Verdict(
                "ask", reason, 60, caps, ("worktree.discard",), may_remember=False, person_only=True
            )
        case "leave_worktree":
            return Verdict("allow", capabilities=caps)
        case "prune_worktrees":
            lost = arguments.get("unmerged") is True
            reason = "it throws work away that is nowhere else" if lost else "it takes worktrees away"
            risk = 60 if lost else 30
            return Verdict(
                "ask", reason, risk, caps, ("worktree.prune",), may_remember=False, person_only=lost
            )
        case "enter_worktree":
            return Verdict("ask", "it makes a worktree and works there", 20, caps, ("worktree.enter",))
        case _:
            return None
