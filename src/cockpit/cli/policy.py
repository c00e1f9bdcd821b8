"""`cockpit policy`: the verdict on command lines and paths, the rules in force, and how one was judged.
Runs nothing that it judges."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from cockpit.cli.lines import rows, said
from cockpit.errors import SettingsInvalid
from cockpit.safety.values import Ground, Platform, Shell

if TYPE_CHECKING:
    from cockpit.safety.rules import RuleSet
    from cockpit.safety.values import Line

WORDS = {"allow": "safe-readonly", "ask": "needs-confirm", "deny": "must-block"}
ACCESS = {"allow": "allow", "ask": "confirm", "deny": "deny"}


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
                return _check(given)
            case "paths":
                return _paths(given)
            case "rules":
                return _rules(given)
            case _:
                return _explain(given)
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


def _ground(given: argparse.Namespace) -> Ground:
    from cockpit.safety.ground import ground_of

    platform: Platform = getattr(given, "os", "windows" if os.name == "nt" else "posix")
    lexical = platform == "windows" and os.name != "nt"
    root = given.root if lexical and ":" in given.root else os.path.realpath(given.root)
    home = given.home or str(Path.home())
    home = home if lexical and ":" in home else os.path.realpath(home)
    if not lexical:
        return ground_of(root, held=bool(getattr(given, "sandbox", False)), home=home)
    return Ground(root, home, sandbox=bool(getattr(given, "sandbox", False)), platform=platform)


def _rule_set(root: str) -> "RuleSet":
    """The rules in force in `root`: the project's own only where the person trusts it."""
    from cockpit.safety.ground import rules_in_force
    from cockpit.settings import trust

    return rules_in_force(root, trust.is_trusted(root) is True)


def _judged(text: str, given: argparse.Namespace, ground: Ground, rules: "RuleSet") -> "Line":
    from cockpit.safety.engine import judge_line

    shell: Shell = given.shell
    return judge_line(text, shell, ground, rules)


def _check(given: argparse.Namespace) -> int:
    if given.jsonl == (given.command is not None):
        print("cockpit policy check: give a command, or --jsonl and lines on stdin", file=sys.stderr)
        return 2
    ground = _ground(given)
    rules = _rule_set(ground.root)
    if given.command is not None:
        line = _judged(given.command, given, ground, rules)
        if given.json:
            _print(_row(line))
        else:
            print(_human(line))
        return 0
    bad = 0
    for row in rows(sys.stdin, "command"):
        if row.fault:
            bad += 1
            print(f"cockpit policy check: line {row.number}: {row.fault}", file=sys.stderr)
            continue
        _print({"id": row.id, **_row(_judged(row.text, given, ground, rules))})
    return 2 if bad else 0


def _paths(given: argparse.Namespace) -> int:
    if given.jsonl == bool(given.path):
        print("cockpit policy paths: give paths, or --jsonl and lines on stdin", file=sys.stderr)
        return 2
    from cockpit.safety.paths import classify

    ground = _ground(given)
    for path in given.path:
        read, write = (classify(path, access, ground) for access in ("read", "write"))
        why = write.reason or read.reason
        print(f"{said(path)}: read {ACCESS[read.level]}, write {ACCESS[write.level]}")
        if why:
            print(f"  {said(why)}")
    bad = 0
    for row in rows(sys.stdin, "path") if given.jsonl else ():
        if row.fault:
            bad += 1
            print(f"cockpit policy paths: line {row.number}: {row.fault}", file=sys.stderr)
            continue
        read, write = (classify(row.text, access, ground) for access in ("read", "write"))
        _print({"id": row.id, "read": ACCESS[read.level], "write": ACCESS[write.level]})
    return 2 if bad else 0


def _rules(given: argparse.Namespace) -> int:
    rules = _rule_set(_ground(given).root)
    if given.json:
        _print([{"id": one.id, "level": WORDS[one.level], "source": one.source} for one in rules.rules])
        return 0
    width = max((len(one.id) for one in rules.rules), default=0)
    for one in rules.rules:
        print(f"{one.id:{width}}  {WORDS[one.level]:13}  {one.source}")
    for left in rules.left_out:
        print(f"! {left}")
    return 0


def _explain(given: argparse.Namespace) -> int:
    ground = _ground(given)
    line = _judged(given.command, given, ground, _rule_set(ground.root))
    print(_human(line))
    for number, part in enumerate(line.verdict.parts, 1):
        words = " ".join("?" if word is None else repr(word) for word in part.argv)
        print(f"\n{number}. {said(part.text)}")
        print(f"   {WORDS[part.level]}, risk {part.risk}: {said(part.reason) or '-'}")
        for name, value in (
            ("words", words), ("rules", ", ".join(part.rules)), ("may", ", ".join(sorted(part.capabilities))),
            ("reads", ", ".join(part.reads)), ("writes", ", ".join(part.writes)), ("to", part.destination),
            ("remembered as", part.shape), ("instead", part.alternative),
        ):  # fmt: skip
            if value:
                print(f"   {name}: {said(value)}")
    print(f"\nwhat would run: {said(line.script)}")
    for name, value in line.environment:
        print(f"  with {name}={said(value)}")
    return 0


def _row(line: "Line") -> dict[str, object]:
    verdict = line.verdict
    return {
        "verdict": WORDS[verdict.level],
        "risk": verdict.risk,
        "capabilities": sorted(verdict.capabilities),
        "rules": list(verdict.rules),
        "reason": verdict.reason,
    }


def _human(line: "Line") -> str:
    verdict = line.verdict
    lines = [f"{WORDS[verdict.level]} (risk {verdict.risk}): {said(verdict.reason)}"]
    if verdict.rules:
        lines.append(f"  rules: {', '.join(verdict.rules)}")
    if verdict.capabilities:
        lines.append(f"  it may: {', '.join(sorted(verdict.capabilities))}")
    if verdict.destination:
        lines.append(f"  to: {said(verdict.destination)}")
    if verdict.alternative:
        lines.append(f"  instead: {said(verdict.alternative)}")
    return "\n".join(lines)


def _print(value: object) -> None:
    print(json.dumps(value, ensure_ascii=True), flush=True)
