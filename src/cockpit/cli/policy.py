"""`cockpit policy`: the verdict on command lines and paths, the rules in force, and how one was judged.
Runs nothing that it judges."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from cockpit.cli.command import escape_text, read_json_lines
from cockpit.errors import SettingsInvalid
from cockpit.safety.values import ExecutionContext, Platform, Shell

if TYPE_CHECKING:
    from cockpit.safety.rules.rule import RuleSet
    from cockpit.safety.values import JudgedLine

VERDICT_WORDS = {"allow": "safe-readonly", "ask": "needs-confirm", "deny": "must-block"}
ACCESS_WORDS = {"allow": "allow", "ask": "confirm", "deny": "deny"}


def main(argv: Sequence[str]) -> int:
    # A path or a command may hold bytes that are no UTF-8; they come in and go out as they are.
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            raw = "surrogateescape" if stream is sys.stdin else "backslashreplace"
            reconfigure(encoding="utf-8", errors=raw)
    given = _parser().parse_args(list(argv))
    try:
        match given.what:
            case "check":
                return _check_commands(given)
            case "paths":
                return _check_paths(given)
            case "rules":
                return _print_rules(given)
            case _:
                return _explain_command(given)
    except SettingsInvalid as error:
        print(f"cockpit: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="cockpit policy", description="What cockpit would say, and why.")
    subs = parser.add_subparsers(dest="what", required=True)
    check = subs.add_parser("check", help="the verdict on a command line")
    explain = subs.add_parser("explain", help="its parts, the rules that matched, the form that would run")
    usual = "powershell" if os.name == "nt" else "bash"
    for one in (check, explain):
        one.add_argument("command", nargs="?" if one is check else None)
        one.add_argument("--shell", choices=get_args(Shell), default=usual)
        sandbox = one.add_mutually_exclusive_group()
        sandbox.add_argument("--sandbox", action="store_true", help="as held in by the full read profile")
        alone = "the policy alone (default)"
        sandbox.add_argument("--no-sandbox", dest="sandbox", action="store_false", help=alone)
    check.add_argument("--json", action="store_true")
    check.add_argument("--jsonl", action="store_true", help='{"id","command"} lines from stdin')
    paths = subs.add_parser("paths", help="what reading and writing a path means")
    paths.add_argument("path", nargs="*")
    paths.add_argument("--jsonl", action="store_true", help='{"id","path"} lines from stdin')
    paths.add_argument("--os", choices=get_args(Platform), default="windows" if os.name == "nt" else "posix")
    rules = subs.add_parser("rules", help="the rules in force")
    rules.add_argument("--json", action="store_true")
    for one in (check, explain, paths, rules):
        one.add_argument("--root", default=".", help="the project's folder (default: this one)")
        one.add_argument("--home", default="", help="whose home is meant (default: yours)")
    return parser


def _build_ground(given: argparse.Namespace) -> ExecutionContext:
    from cockpit.safety.policy import build_context

    platform: Platform = getattr(given, "os", "windows" if os.name == "nt" else "posix")
    lexical = platform == "windows" and os.name != "nt"
    root = given.root if lexical and ":" in given.root else os.path.realpath(given.root)
    home = given.home or str(Path.home())
    home = home if lexical and ":" in home else os.path.realpath(home)
    if not lexical:
        return build_context(root, sandbox=bool(getattr(given, "sandbox", False)), home=home)
    return ExecutionContext(root, home, sandbox=bool(getattr(given, "sandbox", False)), platform=platform)


def _load_rules(root: str) -> "RuleSet":
    """The rules in force in `root`: the project's own only where the person trusts it."""
    from cockpit.safety.policy import load_active_rules
    from cockpit.settings import trust

    return load_active_rules(root, trust.is_trusted(root) is True)


def _judge_line(
    text: str, given: argparse.Namespace, ground: ExecutionContext, rules: "RuleSet"
) -> "JudgedLine":
    from cockpit.safety.engine import judge_line

    shell: Shell = given.shell
    return judge_line(text, shell, ground, rules)


def _check_commands(given: argparse.Namespace) -> int:
    if given.jsonl == (given.command is not None):
        print("cockpit policy check: give a command, or --jsonl and lines on stdin", file=sys.stderr)
        return 2
    ground = _build_ground(given)
    rules = _load_rules(ground.root)
    if given.command is not None:
        line = _judge_line(given.command, given, ground, rules)
        if given.json:
            _print_json(_encode_line(line))
        else:
            print(_format_line(line))
        return 0
    bad = 0
    for row in read_json_lines(sys.stdin, "command"):
        if row.fault:
            bad += 1
            print(f"cockpit policy check: line {row.number}: {row.fault}", file=sys.stderr)
            continue
        _print_json({"id": row.id, **_encode_line(_judge_line(row.text, given, ground, rules))})
    return 2 if bad else 0


def _check_paths(given: argparse.Namespace) -> int:
    if given.jsonl == bool(given.path):
        print("cockpit policy paths: give paths, or --jsonl and lines on stdin", file=sys.stderr)
        return 2
    from cockpit.safety.path_classifier import classify_path

    ground = _build_ground(given)
    for path in given.path:
        read, write = (classify_path(path, access, ground) for access in ("read", "write"))
        why = write.reason or read.reason
        print(f"{escape_text(path)}: read {ACCESS_WORDS[read.level]}, write {ACCESS_WORDS[write.level]}")
        if why:
            print(f"  {escape_text(why)}")
    bad = 0
    for row in read_json_lines(sys.stdin, "path") if given.jsonl else ():
        if row.fault:
            bad += 1
            print(f"cockpit policy paths: line {row.number}: {row.fault}", file=sys.stderr)
            continue
        read, write = (classify_path(row.text, access, ground) for access in ("read", "write"))
        _print_json({"id": row.id, "read": ACCESS_WORDS[read.level], "write": ACCESS_WORDS[write.level]})
    return 2 if bad else 0


def _print_rules(given: argparse.Namespace) -> int:
    rules = _load_rules(_build_ground(given).root)
    if given.json:
        _print_json(
            [{"id": one.id, "level": VERDICT_WORDS[one.level], "source": one.source} for one in rules.rules]
        )
        return 0
    width = max((len(one.id) for one in rules.rules), default=0)
    for one in rules.rules:
        print(f"{one.id:{width}}  {VERDICT_WORDS[one.level]:13}  {one.source}")
    for left in rules.left_out:
        print(f"! {left}")
    return 0


def _explain_command(given: argparse.Namespace) -> int:
    ground = _build_ground(given)
    line = _judge_line(given.command, given, ground, _load_rules(ground.root))
    print(_format_line(line))
    for number, part in enumerate(line.verdict.parts, 1):
        words = " ".join("?" if word is None else repr(word) for word in part.argv)
        print(f"\n{number}. {escape_text(part.text)}")
        print(f"   {VERDICT_WORDS[part.level]}, risk {part.risk}: {escape_text(part.reason) or '-'}")
        for name, value in (
            ("words", words), ("rules", ", ".join(part.rules)), ("may", ", ".join(sorted(part.capabilities))),
            ("reads", ", ".join(part.reads)), ("writes", ", ".join(part.writes)), ("to", part.destination),
            ("remembered as", part.shape), ("instead", part.alternative),
        ):  # fmt: skip
            if value:
                print(f"   {name}: {escape_text(value)}")
    print(f"\nwhat would run: {escape_text(line.script)}")
    for name, value in line.environment:
        print(f"  with {name}={escape_text(value)}")
    return 0


def _encode_line(line: "JudgedLine") -> dict[str, object]:
    verdict = line.verdict
    return {
        "verdict": VERDICT_WORDS[verdict.level],
        "risk": verdict.risk,
        "capabilities": sorted(verdict.capabilities),
        "rules": list(verdict.rules),
        "reason": verdict.reason,
    }


def _format_line(line: "JudgedLine") -> str:
    verdict = line.verdict
    lines = [f"{VERDICT_WORDS[verdict.level]} (risk {verdict.risk}): {escape_text(verdict.reason)}"]
    if verdict.rules:
        lines.append(f"  rules: {', '.join(verdict.rules)}")
    if verdict.capabilities:
        lines.append(f"  it may: {', '.join(sorted(verdict.capabilities))}")
    if verdict.destination:
        lines.append(f"  to: {escape_text(verdict.destination)}")
    if verdict.alternative:
        lines.append(f"  instead: {escape_text(verdict.alternative)}")
    return "\n".join(lines)


def _print_json(value: object) -> None:
    print(json.dumps(value, ensure_ascii=True), flush=True)
