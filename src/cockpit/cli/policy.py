"""`cockpit policy`: the verdict on command lines and paths, the rules in force, and how a verdict came
about. Runs nothing that it judges.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, get_args

from cockpit.cli.command import add_options, escape_text
from cockpit.errors import SettingsInvalid
from cockpit.safety.values import ExecutionContext, Platform, Shell

if TYPE_CHECKING:
    from cockpit.safety.rules.rule import RuleSet
    from cockpit.safety.values import JudgedLine

VERDICT_WORDS = {"allow": "safe-readonly", "ask": "needs-confirm", "deny": "must-block"}
ACCESS_WORDS = {"allow": "allow", "ask": "confirm", "deny": "deny"}


@dataclass(frozen=True, slots=True)
class JsonLine:
    """One line of JSON input with its id and text; `fault` says why it has none."""

    number: int
    id: str | int = ""
    text: str = ""
    fault: str = ""


def read_json_lines(stream: TextIO, key: str) -> Iterator[JsonLine]:
    """The lines of `stream` whose text is under `key`. Empty lines are skipped."""
    for number, line in enumerate(stream, 1):
        if line.strip():
            yield _parse_json_line(number, line, key)


def _parse_json_line(number: int, line: str, key: str) -> JsonLine:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        return JsonLine(number, fault=f"not valid JSON ({error})")
    if not isinstance(value, dict):
        return JsonLine(number, fault=f'not a JSON object; write {{"id": "1", "{key}": "..."}}')
    id, text = value.get("id"), value.get(key)
    if not isinstance(id, str | int) or isinstance(id, bool):
        return JsonLine(number, fault='"id" is not a string')
    if not isinstance(text, str):
        return JsonLine(number, fault=f'"{key}" is not a string')
    return JsonLine(number, id, text)


def main(argv: Sequence[str]) -> int:
    # A path or a command may hold bytes that are not UTF-8; pass them through unchanged.
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            raw = "surrogateescape" if stream is sys.stdin else "backslashreplace"
            reconfigure(encoding="utf-8", errors=raw)
    args = _parser().parse_args(list(argv))
    try:
        match args.what:
            case "check":
                return _check_commands(args)
            case "paths":
                return _check_paths(args)
            case "rules":
                return _print_rules(args)
            case _:
                return _explain_command(args)
    except SettingsInvalid as error:
        print(f"cockpit: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="cockpit policy", description="Show what the policy decides, and why."
    )
    subs = parser.add_subparsers(dest="what", required=True)
    check = subs.add_parser("check", help="the verdict on a command line")
    explain = subs.add_parser(
        "explain", help="its parts, the rules that matched, and the script that would run"
    )
    usual = "powershell" if os.name == "nt" else "bash"
    for item in (check, explain):
        item.add_argument("command", nargs="?" if item is check else None)
        item.add_argument("--shell", choices=get_args(Shell), default=usual)
        sandbox = item.add_mutually_exclusive_group()
        sandbox.add_argument(
            "--sandbox", action="store_true", help="judge as if it ran in the sandbox with full read access"
        )
        alone = "judge without a sandbox (default)"
        sandbox.add_argument("--no-sandbox", dest="sandbox", action="store_false", help=alone)
    add_options(check, "json")
    check.add_argument("--jsonl", action="store_true", help='{"id","command"} lines from stdin')
    paths = subs.add_parser("paths", help="the verdict on reading and writing a path")
    paths.add_argument("path", nargs="*")
    paths.add_argument("--jsonl", action="store_true", help='{"id","path"} lines from stdin')
    paths.add_argument("--os", choices=get_args(Platform), default="windows" if os.name == "nt" else "posix")
    rules = subs.add_parser("rules", help="the rules in force")
    add_options(rules, "json")
    for entry in (check, explain, paths, rules):
        entry.add_argument("--root", default=".", help="project folder (default: .)")
        entry.add_argument("--home", default="", help="home folder to assume (default: yours)")
    return parser


def _build_ground(args: argparse.Namespace) -> ExecutionContext:
    from cockpit.safety.policy import build_context

    platform: Platform = getattr(args, "os", "windows" if os.name == "nt" else "posix")
    lexical = platform == "windows" and os.name != "nt"
    root = args.root if lexical and ":" in args.root else os.path.realpath(args.root)
    home = args.home or str(Path.home())
    home = home if lexical and ":" in home else os.path.realpath(home)
    if not lexical:
        return build_context(root, sandbox=bool(getattr(args, "sandbox", False)), home=home)
    return ExecutionContext(root, home, sandbox=bool(getattr(args, "sandbox", False)), platform=platform)


def _load_rules(root: str) -> "RuleSet":
    """The rules in force in `root`; the project's own only if the user trusts it."""
    from cockpit.safety.policy import load_active_rules
    from cockpit.settings import trust

    return load_active_rules(root, trust.is_trusted(root) is True)


def _judge_line(
    text: str, args: argparse.Namespace, ground: ExecutionContext, rules: "RuleSet"
) -> "JudgedLine":
    from cockpit.safety.engine import judge_line

    shell: Shell = args.shell
    return judge_line(text, shell, ground, rules)


def _check_commands(args: argparse.Namespace) -> int:
    if args.jsonl == (args.command is not None):
        print("cockpit policy check: pass a command, or --jsonl with lines on stdin", file=sys.stderr)
        return 2
    ground = _build_ground(args)
    rules = _load_rules(ground.root)
    if args.command is not None:
        line = _judge_line(args.command, args, ground, rules)
        if args.json:
            _print_json(_encode_line(line))
        else:
            print(_format_line(line))
        return 0
    invalid = 0
    for row in read_json_lines(sys.stdin, "command"):
        if row.fault:
            invalid += 1
            print(f"cockpit policy check: line {row.number}: {row.fault}", file=sys.stderr)
            continue
        _print_json({"id": row.id, **_encode_line(_judge_line(row.text, args, ground, rules))})
    return 2 if invalid else 0


def _check_paths(args: argparse.Namespace) -> int:
    if args.jsonl == bool(args.path):
        print("cockpit policy paths: pass paths, or --jsonl with lines on stdin", file=sys.stderr)
        return 2
    from cockpit.safety.path_classifier import classify_path

    ground = _build_ground(args)
    for path in args.path:
        read, write = (classify_path(path, access, ground) for access in ("read", "write"))
        why = write.reason or read.reason
        print(f"{escape_text(path)}: read {ACCESS_WORDS[read.level]}, write {ACCESS_WORDS[write.level]}")
        if why:
            print(f"  {escape_text(why)}")
    invalid = 0
    for row in read_json_lines(sys.stdin, "path") if args.jsonl else ():
        if row.fault:
            invalid += 1
            print(f"cockpit policy paths: line {row.number}: {row.fault}", file=sys.stderr)
            continue
        read, write = (classify_path(row.text, access, ground) for access in ("read", "write"))
        _print_json({"id": row.id, "read": ACCESS_WORDS[read.level], "write": ACCESS_WORDS[write.level]})
    return 2 if invalid else 0


def _print_rules(args: argparse.Namespace) -> int:
    rules = _load_rules(_build_ground(args).root)
    if args.json:
        _print_json(
            [
                {"id": entry.id, "level": VERDICT_WORDS[entry.level], "source": entry.source}
                for entry in rules.rules
            ]
        )
        return 0
    width = max((len(rule.id) for rule in rules.rules), default=0)
    for item in rules.rules:
        print(f"{item.id:{width}}  {VERDICT_WORDS[item.level]:13}  {item.source}")
    for problem in rules.left_out:
        print(f"! {problem}")
    return 0


def _explain_command(args: argparse.Namespace) -> int:
    ground = _build_ground(args)
    line = _judge_line(args.command, args, ground, _load_rules(ground.root))
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
