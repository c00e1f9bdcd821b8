"""`cockpit policy`: the verdict on command lines and paths, the reasons for it, and the rules in force. The
judged commands are not run.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, get_args

from cockpit.cli.command import add_options, escape_text, select_fields
from cockpit.errors import SettingsInvalid
from cockpit.safety.values import ExecutionContext, Platform, Shell

if TYPE_CHECKING:
    from cockpit.safety.rules.rule import RuleSet
    from cockpit.safety.values import JudgedLine

VERDICT_WORDS = {"allow": "safe-readonly", "ask": "needs-confirm", "deny": "must-block"}
ACCESS_WORDS = {"allow": "allow", "ask": "confirm", "deny": "deny"}


@dataclass(frozen=True, slots=True)
class JsonLine:
    """One line of JSON input with its id and text, or the `fault` that makes it invalid."""

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
        return JsonLine(number, fault=_describe_invalid(value, "id", "a string or a whole number"))
    if not isinstance(text, str):
        return JsonLine(number, fault=_describe_invalid(value, key, "a string"))
    return JsonLine(number, id, text)


def _describe_invalid(row: dict[str, object], key: str, expected: str) -> str:
    return f'"{key}" is {json.dumps(row[key]) if key in row else "missing"}; it must be {expected}'


def main(argv: Sequence[str]) -> int:
    # A path or a command may hold bytes that are not UTF-8; pass them through unchanged.
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            errors = "surrogateescape" if stream is sys.stdin else "backslashreplace"
            stream.reconfigure(encoding="utf-8", errors=errors)
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
    text = "its parts, the rules that matched, and the script that would run"
    explain = subs.add_parser("explain", help=text)
    usual = "powershell" if os.name == "nt" else "bash"
    for item in (check, explain):
        item.add_argument("command", nargs="?" if item is check else None)
        item.add_argument("--shell", choices=get_args(Shell), default=usual)
        sandbox = item.add_mutually_exclusive_group()
        text = "judge as if it ran in the sandbox with full read access"
        sandbox.add_argument("--sandbox", action="store_true", help=text)
        text = "judge without a sandbox (default)"
        sandbox.add_argument("--no-sandbox", dest="sandbox", action="store_false", help=text)
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


def _build_context(args: argparse.Namespace) -> ExecutionContext:
    from cockpit.safety.policy import build_context

    platform: Platform = getattr(args, "os", "windows" if os.name == "nt" else "posix")
    sandbox = bool(getattr(args, "sandbox", False))
    home = args.home or str(Path.home())
    if platform != "windows" or os.name == "nt":
        return build_context(os.path.realpath(args.root), sandbox=sandbox, home=os.path.realpath(home))
    # A Windows path on another system: it does not exist here, so it is taken as written.
    root, home = (path if ":" in path else os.path.realpath(path) for path in (args.root, home))
    return ExecutionContext(root, home, sandbox=sandbox, platform=platform)


def _load_rules(root: str) -> "RuleSet":
    """The rules in force in `root`; the project's own only if the user trusts it."""
    from cockpit.safety.policy import load_active_rules
    from cockpit.settings import trust

    return load_active_rules(root, trust.is_trusted(root) is True)


def _check_commands(args: argparse.Namespace) -> int:
    from cockpit.safety.engine import judge_line

    if args.jsonl == (args.command is not None):
        print("cockpit policy check: pass a command, or --jsonl with lines on stdin", file=sys.stderr)
        return 2
    context = _build_context(args)
    rules = _load_rules(context.root)
    if args.command is not None:
        line = judge_line(args.command, args.shell, context, rules)
        if args.json:
            _print_json(_encode_line(line))
        else:
            print(_format_line(line))
        return 0
    return _answer_lines(
        "check", "command", lambda text: _encode_line(judge_line(text, args.shell, context, rules))
    )


def _answer_lines(verb: str, key: str, answer: Callable[[str], dict[str, object]]) -> int:
    """Answer each line of JSON on stdin with one on stdout. Exit code 2 if a line was invalid."""
    code = 0
    for row in read_json_lines(sys.stdin, key):
        if row.fault:
            code = 2
            print(f"cockpit policy {verb}: line {row.number}: {row.fault}", file=sys.stderr)
        else:
            _print_json({"id": row.id, **answer(row.text)})
    return code


def _check_paths(args: argparse.Namespace) -> int:
    if args.jsonl == bool(args.path):
        print("cockpit policy paths: pass paths, or --jsonl with lines on stdin", file=sys.stderr)
        return 2
    from cockpit.safety.path_classifier import classify_path

    context = _build_context(args)
    for path in args.path:
        read, write = (classify_path(path, access, context) for access in ("read", "write"))
        print(escape_text(f"{path}: read {ACCESS_WORDS[read.level]}, write {ACCESS_WORDS[write.level]}"))
        if why := write.reason or read.reason:
            print(escape_text(f"  {why}"))

    def answer(path: str) -> dict[str, object]:
        read, write = (classify_path(path, access, context) for access in ("read", "write"))
        return {"read": ACCESS_WORDS[read.level], "write": ACCESS_WORDS[write.level]}

    return _answer_lines("paths", "path", answer) if args.jsonl else 0


def _print_rules(args: argparse.Namespace) -> int:
    rules = _load_rules(_build_context(args).root)
    rows = [(rule.id, VERDICT_WORDS[rule.level], rule.source) for rule in rules.rules]
    if args.json:
        _print_json([{"id": id, "level": level, "source": source} for id, level, source in rows])
        return 0
    width = max((len(id) for id, _, _ in rows), default=0)
    for id, level, source in rows:
        print(f"{id:{width}}  {level:13}  {source}")
    for problem in rules.left_out:
        print(f"! {problem}")
    return 0


def _explain_command(args: argparse.Namespace) -> int:
    from cockpit.safety.engine import judge_line

    context = _build_context(args)
    line = judge_line(args.command, args.shell, context, _load_rules(context.root))
    print(_format_line(line))
    for number, part in enumerate(line.verdict.parts, 1):
        print(f"\n{number}. {escape_text(part.text)}")
        print(f"   {VERDICT_WORDS[part.level]}, risk {part.risk}: {escape_text(part.reason) or '-'}")
        details = {
            "words": " ".join("?" if word is None else repr(word) for word in part.argv),
            "rules": ", ".join(part.rules),
            "may": ", ".join(sorted(part.capabilities)),
            "reads": ", ".join(part.reads),
            "writes": ", ".join(part.writes),
            "to": part.destination,
            "remembered as": part.shape,
            "instead": part.alternative,
        }
        for name, value in details.items():
            if value:
                print(f"   {name}: {escape_text(value)}")
    print(f"\nwhat would run: {escape_text(line.script)}")
    for name, value in line.environment:
        print(escape_text(f"  with {name}={value}"))
    return 0


def _encode_line(line: "JudgedLine") -> dict[str, object]:
    verdict = line.verdict
    return {
        "verdict": VERDICT_WORDS[verdict.level],
        "capabilities": sorted(verdict.capabilities),
        **select_fields(verdict, "risk", "rules", "reason"),
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
