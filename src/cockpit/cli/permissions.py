"""`cockpit permissions [list|explain|remove|adopt]`: the permission rules of a folder, and which rule
decides about a call.
"""

import argparse
import sys
from collections.abc import Sequence

from cockpit.cli import definition_list
from cockpit.cli.command import (
    UNTRUSTED_NOTE,
    add_options,
    escape_text,
    is_trusted,
    load_catalog,
    print_json,
    resolve_folder,
    unknown_name,
)
from cockpit.core.permission.rules import CallFacts, RuleMatch, match_rules
from cockpit.core.session.assembly import load_rules
from cockpit.errors import CockpitError
from cockpit.plugin.tools import CommandLine, Preview, Tool
from cockpit.settings import permissions
from cockpit.settings.permissions import RULE_LEVELS, PermissionEntry

VERDICT_WORDS: dict[str, str] = {"allow": "safe-readonly", "ask": "needs-confirm", "deny": "must-block"}
LEVEL_VERBS = {"allow": "allows", "ask": "asks about", "deny": "denies"}


def main(argv: Sequence[str]) -> int:
    args = _parser().parse_args(list(argv))
    root = resolve_folder(getattr(args, "cwd", ""))
    trusted = getattr(args, "trust", False) or is_trusted(root)
    match args.what:
        case "explain":
            return _explain_call(args, root, trusted)
        case "remove":
            return _remove_rule(args.rule, root)
        case "adopt":
            return _adopt_rules(args.rules, root, trusted)
        case _:
            return _list_rules(args.json, root, trusted)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="cockpit permissions", description="Permission rules of this folder."
    )
    add_options(parser, "json")
    what = parser.add_subparsers(dest="what", metavar="WHAT")
    listed = what.add_parser("list", help="list every rule, where it is defined, and whether it applies")
    add_options(listed, "cwd", "trust")
    explain = what.add_parser(
        "explain", help="show which rule decides about a call, and which rules it shadows"
    )
    explain.add_argument("call", help="a command line, or a path with --tool")
    explain.add_argument("--tool", default="shell", help="the called tool (default: shell)")
    remove = what.add_parser("remove", help="remove a rule from your own settings")
    remove.add_argument("rule", help="the rule as `list` shows it: 'Bash(git push *)'")
    adopt = what.add_parser("adopt", help="adopt rules that a project or another agent offers")
    adopt.add_argument("rules", nargs="*", help="the rules to adopt (default: all that are offered)")
    for item in (listed, explain, remove, adopt):
        # No default here, so that `--json` also works before the subcommand.
        item.add_argument("--json", action="store_true", default=argparse.SUPPRESS)
    return parser


def _list_rules(as_json: bool, root: str, trusted: bool) -> int:
    rows_and_entries = definition_list.list_permissions(root, trusted)
    if as_json:
        out = [
            row.json() | (_encode_rule(each_item) if each_item is not None else {})
            for row, each_item in rows_and_entries
        ]
        print_json(out)
        return 0
    rows = [item for _, item in rows_and_entries if item is not None]
    if not rows_and_entries:
        print("no rules: cockpit asks whenever the policy does. Answering `always` creates a rule.")
    for level in RULE_LEVELS:
        for entry in (row for row in rows if row.level == level and row.applies):
            print(escape_text(f"{level:5}  {entry.text:40}  {entry.where}"))
    allowed = {row.text for row in rows if row.applies and row.level == "allow"}
    offers = [row for row in rows if not row.applies and row.text not in allowed]
    if offers:
        print("\noffered, not applied (cockpit permissions adopt):")
        for offer in offers:
            print(escape_text(f"       {offer.text:40}  {offer.where}"))
    for fault in (fault for row, element in rows_and_entries if element is None for fault in row.refused):
        print(escape_text(f"refused {definition_list.format_fault(fault, root)}"))
    if not trusted:
        print(UNTRUSTED_NOTE)
    return 0


def _encode_rule(rule: PermissionEntry) -> dict[str, object]:
    return {
        "level": rule.level,
        "rule": rule.text,
        "source": rule.source,
        "scope": rule.scope,
        "applies": rule.applies,
    }


def _explain_call(args: argparse.Namespace, root: str, trusted: bool) -> int:
    catalog = load_catalog(root, trusted)
    tool = catalog.get(Tool, args.tool)
    if tool is None:
        raise unknown_name("tool", args.tool, [tool.name for tool in catalog.all(Tool)])
    says, facts = _judge_call(tool, str(args.call), root, trusted)
    covered = match_rules(load_rules(root, trusted), facts)
    if args.json:
        print_json(says | _encode_covering(covered))
        return 0
    print(f"policy   {says['verdict']}, risk {says['risk']}: {says['reason'] or 'no objections'}")
    if not covered:
        print("rules    none matches")
        return 0
    for rule in covered.by:
        print(f"rule     {rule} {LEVEL_VERBS[rule.level]} it ({rule.source})")
    for rule in covered.shadowed:
        print(f"shadows  {rule.level} {rule} ({rule.source})")
    if says["verdict"] == "must-block" and covered.level == "allow":
        print("         the policy blocks it despite that rule")
    return 0


def _judge_call(tool: Tool, call: str, root: str, trusted: bool) -> tuple[dict[str, object], CallFacts]:
    """The policy's verdict on the call, and the call as rules see it."""
    if tool.kind == "execute":
        from cockpit.builtin.policy import judge_command_line

        line = CommandLine(call, "powershell" if sys.platform == "win32" else "bash", root)
        verdict = judge_command_line(line, root, trusted, False).verdict
        word = VERDICT_WORDS[verdict.level]
        says: dict[str, object] = {"verdict": word, "risk": verdict.risk, "reason": verdict.reason}
        return says, CallFacts(tool, Preview(call, line=line), root, verdict.parts)
    from cockpit.workspace.resolver import Resolver

    is_reading = tool.kind in ("read", "search")
    judgement = Resolver(root).judge(call, "read" if is_reading else "write")
    level = "ask" if judgement.level == "allow" and not is_reading else judgement.level
    says = {"verdict": VERDICT_WORDS[level], "risk": 0 if is_reading else 20, "reason": judgement.reason}
    return says, CallFacts(tool, Preview(call, paths=(judgement.real,)), root)


def _encode_covering(covered: RuleMatch | None) -> dict[str, object]:
    if covered is None:
        return {"rules": "none", "by": [], "shadows": []}
    by = [{"rule": str(rule), "source": rule.source} for rule in covered.by]
    shadows = [{"level": item.level, "rule": str(item), "source": item.source} for item in covered.shadowed]
    return {"rules": covered.level, "by": by, "shadows": shadows}


def _remove_rule(rule: str, root: str) -> int:
    removed = permissions.remove_rule(root, rule)
    if not removed:
        raise CockpitError(
            f"{rule} is not in your settings", "cockpit permissions list shows where it is defined"
        )
    print(f"removed {rule} from {', '.join(removed)}")
    return 0


def _adopt_rules(requested: list[str], root: str, trusted: bool) -> int:
    offers = permissions.find_offers(root, trusted)
    chosen = tuple(offer for offer in offers if not requested or offer.text in requested)
    if unknown := [text for text in requested if text not in {entry.text for entry in offers}]:
        raise CockpitError(f"{unknown[0]} is not offered here", "cockpit permissions list shows what is")
    if not chosen:
        print("nothing is offered here")
        return 0
    permissions.adopt_offers(root, chosen)
    for item in chosen:
        print(f"allow  {item.text}  (from {item.source})")
    return 0
