"""`cockpit permissions [list|explain|remove|adopt]`: the permission rules of a folder, and which rule decides
about a call.
"""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from cockpit.cli.command import (
    UNTRUSTED_NOTE,
    add_options,
    escape_text,
    is_trusted,
    load_catalog,
    print_json,
    resolve_folder,
    select_fields,
    unknown_name,
)
from cockpit.cli.definition_list import DefinitionRow, format_fault, shorten_path
from cockpit.cli.policy import VERDICT_WORDS
from cockpit.core.permission.rules import CallFacts, RuleMatch, match_rules
from cockpit.core.session.assembly import load_rules
from cockpit.errors import CockpitError
from cockpit.plugin.origin import FileProblem, Layer
from cockpit.plugin.tools import CommandLine, Preview, Tool
from cockpit.settings import files, permissions
from cockpit.settings.permissions import RULE_LEVELS, PermissionEntry, UnreadableEntry

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
    explain = what.add_parser("explain", help="show which rule decides about a call, and which it shadows")
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
    rules, unreadable = permissions.read_entries(root, trusted)
    if as_json:
        print_json([_encode_rule(rule) for rule in rules] + [_encode_file(item, root) for item in unreadable])
        return 0
    if not rules and not unreadable:
        print("no rules: cockpit asks whenever the policy does. Answering `always` creates a rule.")
    for level in RULE_LEVELS:
        for rule in rules:
            if rule.level == level and rule.applies:
                print(escape_text(f"{level:5}  {rule.text:40}  {rule.where}"))
    allowed = {rule.text for rule in rules if rule.applies and rule.level == "allow"}
    offers = [rule for rule in rules if not rule.applies and rule.text not in allowed]
    if offers:
        print("\noffered, not applied (cockpit permissions adopt):")
    for offer in offers:
        print(escape_text(f"       {offer.text:40}  {offer.where}"))
    for item in unreadable:
        print(escape_text(f"refused {format_fault(_describe_fault(item), root)}"))
    if not trusted:
        print(UNTRUSTED_NOTE)
    return 0


def _encode_rule(rule: PermissionEntry) -> dict[str, object]:
    """A rule as a row of a listing. An offered rule counts as refused until the user adopts it."""
    refused: tuple[FileProblem, ...] = ()
    if not rule.applies:
        reason = "rules of other agents' files allow nothing by themselves"
        remedy = f"adopt it with cockpit permissions adopt '{rule.text}'"
        refused = (FileProblem(rule.source, rule.line, reason, remedy),)
    layer = "user" if rule.scope == "everywhere" else "project"
    facts = select_fields(rule, "level", "scope", "applies")
    row = DefinitionRow(rule.text, rule.source, layer, refused=refused)
    return {**row.json(), "fields": facts, **facts, "rule": rule.text, "source": rule.source}


def _encode_file(item: UnreadableEntry, root: str) -> dict[str, object]:
    """A file that could not be read as a row of a listing."""
    layer: Layer = "project" if Path(item.source).is_relative_to(root) else "user"
    layer = "managed" if Path(item.source) == files.managed_file() else layer
    name = shorten_path(item.source, root)
    return DefinitionRow(name, item.source, layer, refused=(_describe_fault(item),)).json()


def _describe_fault(item: UnreadableEntry) -> FileProblem:
    return FileProblem(item.source, item.line, item.reason, item.remedy)


def _explain_call(args: argparse.Namespace, root: str, trusted: bool) -> int:
    catalog = load_catalog(root, trusted)
    tool = catalog.get(Tool, args.tool)
    if tool is None:
        raise unknown_name("tool", args.tool, [tool.name for tool in catalog.all(Tool)])
    policy, facts = _judge_call(tool, str(args.call), root, trusted)
    match = match_rules(load_rules(root, trusted), facts)
    if args.json:
        print_json(policy | _encode_match(match))
        return 0
    print(f"policy   {policy['verdict']}, risk {policy['risk']}: {policy['reason'] or 'no objections'}")
    if match is None:
        print("rules    none matches")
        return 0
    for rule in match.by:
        print(f"rule     {rule} {LEVEL_VERBS[rule.level]} it ({rule.source})")
    for rule in match.shadowed:
        print(f"shadows  {rule.level} {rule} ({rule.source})")
    if policy["verdict"] == "must-block" and match.level == "allow":
        print("         the policy blocks it despite that rule")
    return 0


def _judge_call(tool: Tool, call: str, root: str, trusted: bool) -> tuple[dict[str, object], CallFacts]:
    """The policy's verdict on the call, and the call as rules see it."""
    if tool.kind == "execute":
        from cockpit.builtin.policy import judge_command_line

        line = CommandLine(call, "powershell" if os.name == "nt" else "bash", root)
        verdict = judge_command_line(line, root, trusted, False).verdict
        policy = {"verdict": VERDICT_WORDS[verdict.level], **select_fields(verdict, "risk", "reason")}
        return policy, CallFacts(tool, Preview(call, line=line), root, verdict.parts)
    from cockpit.workspace.resolver import Resolver

    is_reading = tool.kind in ("read", "search")
    judgement = Resolver(root).judge(call, "read" if is_reading else "write")
    level = "ask" if judgement.level == "allow" and not is_reading else judgement.level
    policy = {"verdict": VERDICT_WORDS[level], "risk": 0 if is_reading else 20, "reason": judgement.reason}
    return policy, CallFacts(tool, Preview(call, paths=(judgement.real,)), root)


def _encode_match(match: RuleMatch | None) -> dict[str, object]:
    if match is None:
        return {"rules": "none", "by": [], "shadows": []}
    by = [{"rule": str(rule), "source": rule.source} for rule in match.by]
    shadows = [{"level": rule.level, "rule": str(rule), "source": rule.source} for rule in match.shadowed]
    return {"rules": match.level, "by": by, "shadows": shadows}


def _remove_rule(rule: str, root: str) -> int:
    removed = permissions.remove_rule(root, rule)
    if not removed:
        hint = "cockpit permissions list shows where it is defined"
        raise CockpitError(f"{rule} is not in your settings", hint)
    print(f"removed {rule} from {', '.join(removed)}")
    return 0


def _adopt_rules(requested: list[str], root: str, trusted: bool) -> int:
    offers = permissions.find_offers(root, trusted)
    chosen = tuple(offer for offer in offers if not requested or offer.text in requested)
    if unknown := [text for text in requested if text not in {offer.text for offer in offers}]:
        hint = "cockpit permissions list shows the rules that are offered"
        raise CockpitError(f"{unknown[0]} is not offered in this folder", hint)
    if not chosen:
        print("no rules are offered in this folder")
        return 0
    permissions.adopt_offers(root, chosen)
    for offer in chosen:
        print(f"allow  {offer.text}  (from {offer.source})")
    return 0
