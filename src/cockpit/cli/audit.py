"""`cockpit audit verify|tail|summary`: check the log of permission decisions, and show its content."""

import argparse
import json
import re
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from cockpit import paths
from cockpit.cli.command import add_options, print_json, select_fields
from cockpit.errors import CockpitError
from cockpit.safety import audit_log, audit_report
from cockpit.safety.audit_chain import parse_records

SPAN_PATTERN = re.compile(r"(\d+)([smhdw])")
SECONDS_PER_UNIT = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
ANCHOR_PREFIX = b'{"record":"audit"'
POLL_SECONDS = 0.5


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="cockpit audit", description="The log of permission decisions.")
    commands = parser.add_subparsers(dest="what", required=True)
    text = "check the hash chain; exits with 1 and the first bad line if it is broken"
    verify = commands.add_parser("verify", help=text)
    add_options(verify, "json")
    tail = commands.add_parser("tail", help="show the last decisions")
    tail.add_argument("-n", type=int, default=20, metavar="N")
    tail.add_argument("--follow", "-f", action="store_true", help="also show new decisions as they are made")
    tail.add_argument("--json", action="store_true", help="print the records as JSON lines")
    summary = commands.add_parser("summary", help="count decisions by level, tool and approver")
    summary.add_argument("--since", default="", metavar="WHEN", help="30m, 12h, 7d, or 2026-11-20")
    add_options(summary, "json")
    args = parser.parse_args(list(argv))
    match args.what:
        case "verify":
            return _verify(args.json)
        case "tail":
            return _print_tail(args.n, args.follow, args.json)
        case "summary":
            return _print_summary(_parse_since(args.since), args.json)
        case other:
            raise AssertionError(other)


def _verify(as_json: bool) -> int:
    result = audit_report.verify_audit(paths.state(), _read_anchors())
    fault = result.fault
    if as_json:
        encoded = select_fields(result, "files", "lines", "unchained", "missing")
        if fault is not None:
            encoded |= select_fields(fault, "file", "line", "what")
        print_json({"ok": result.is_whole, **encoded})
    elif fault is not None:
        print(f"broken: {fault.file} line {fault.line}: {fault.what}")
    elif result.missing:
        print(f"broken: the end was cut off or the files were replaced; the chain lacks {result.missing[0]}")
    else:
        before = f"; unchained before line {result.unchained + 1}" if result.unchained else ""
        print(f"ok: {result.lines} lines in {result.files} files{before}")
    return 0 if result.is_whole else 1


def _read_anchors() -> dict[str, str]:
    """The newest hash stored in each transcript."""
    anchors: dict[str, str] = {}
    for path in (paths.state() / "sessions").glob("*/*.jsonl"):
        with path.open("rb") as file:
            marks = [line for line in file if line.startswith(ANCHOR_PREFIX)]
        for record in parse_records(marks[-1]) if marks else ():
            anchors[f"the hash in the transcript of {path.stem}"] = str(record.get("hash", ""))
    return anchors


def _print_tail(number: int, follow: bool, as_json: bool) -> int:
    last = deque(audit_report.read_records(paths.state()), maxlen=max(0, number))
    for row in chain(last, _follow_log() if follow else ()):
        print(json.dumps(row, ensure_ascii=False) if as_json else _format_record(row))
    return 0


def _follow_log() -> Iterator[Mapping[str, object]]:
    """New records as they are written, until interrupted."""
    path, at, inode = audit_log.current_file(paths.state()), -1, 0
    while True:
        try:
            facts = path.stat()
            if at < 0:
                at, inode = facts.st_size, facts.st_ino
            if inode != facts.st_ino or facts.st_size < at:
                at, inode = 0, facts.st_ino
            with path.open("rb") as file:
                file.seek(at)
                raw = file.read()
        except FileNotFoundError:
            at, raw = 0, b""
        whole = raw.rpartition(b"\n")[0]
        if whole:
            at += len(whole) + 1
            yield from parse_records(whole)
        time.sleep(POLL_SECONDS)


def _format_record(row: Mapping[str, object]) -> str:
    when = row.get("time")
    stamp = time.strftime("%m-%d %H:%M:%S", time.localtime(when)) if isinstance(when, int | float) else "-"
    words = [stamp, str(row.get("session", "")), str(row.get("agent", "")), str(row.get("what", ""))]
    words += [str(row[key]) for key in ("tool", "level", "outcome", "approver", "reason") if row.get(key)]
    rules = row.get("rules")
    if isinstance(rules, list) and rules:
        words.append(f"[{', '.join(map(str, rules))}]")
    return " ".join("  ".join(word for word in words if word).split("\n"))


def _parse_since(text: str) -> float:
    if not text:
        return 0.0
    if span := SPAN_PATTERN.fullmatch(text):
        return time.time() - int(span[1]) * SECONDS_PER_UNIT[span[2]]
    try:
        return time.mktime(time.strptime(text, "%Y-%m-%d"))
    except ValueError as error:
        hint = "write 30m, 12h, 7d, or a date like 2026-11-20"
        raise CockpitError(f"{text!r} is not a time", hint) from error


def _print_summary(since: float, as_json: bool) -> int:
    summary = audit_report.summarize(audit_report.read_records(paths.state()), since)
    if as_json:
        print_json(summary.as_json())
        return 0
    print(f"{summary.decisions} decisions, {summary.asked} asked, {sum(summary.denied.values())} denied")
    tables: dict[str, Counter[str]] = {
        "by level": summary.levels,
        "by tool": summary.tools,
        "by approver": summary.approvers,
        "denied": summary.denied,
        "ran without being asked": summary.unasked,
    }
    for title, counts in tables.items():
        if counts:
            print(f"\n{title}")
        for name, number in counts.most_common():
            print(f"{number:6}  {name}")
    return 0
