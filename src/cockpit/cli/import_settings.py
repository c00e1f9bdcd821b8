"""`cockpit import [AGENT...] [--apply]`: import the settings of other agents. A dry run without `--apply`.

No secret is copied and nothing is overwritten; whatever allows more than now needs consent.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from cockpit import paths
from cockpit.cli.command import (
    UNTRUSTED_NOTE,
    add_options,
    escape_text,
    print_json,
    resolve_project,
    select_fields,
)
from cockpit.cli.definition_list import shorten_path
from cockpit.errors import CockpitError
from cockpit.formats.imports import plan
from cockpit.formats.imports.plan import AGENTS, ImportRow
from cockpit.settings import files

STATE_SIGNS = {"new": "+", "there": "=", "other": "!", "in place": "·", "left": "-"}
STATE_WORDS = {
    "new": "can be imported",
    "there": "exist already",
    "other": "differ from yours",
    "in place": "read in place",
    "left": "left out",
}


def main(argv: Sequence[str]) -> int:
    args = _parser().parse_args(list(argv))
    requested = set(args.agents) or {"all"}
    if unknown := sorted(requested - {*AGENTS, "all"}):
        raise CockpitError(f"unknown agent {unknown[0]!r}", f"choose from {', '.join(AGENTS)}, all")
    root, trusted = resolve_project(args)
    agents = list(AGENTS) if "all" in requested else requested
    found = plan.collect_settings(agents, Path(root), trusted, Path.home(), _list_providers(root))
    rows = plan.plan_import(found, args.copy)
    written = plan.apply_import(rows, _confirm_loosening(args, rows)) if args.apply else []
    if args.json:
        print_json([_encode_row(row, written) for row in rows], 1)
        return 0
    _print_rows(rows, written, args.apply)
    if not trusted:
        print(UNTRUSTED_NOTE)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="cockpit import",
        description="Import the settings of other agents. A dry run without --apply.",
    )
    parser.add_argument("agents", nargs="*", metavar="AGENT", help=f"{', '.join(AGENTS)} or all (default)")
    parser.add_argument("--apply", action="store_true", help="write the new settings")
    text = "also import what allows more than now, without asking"
    parser.add_argument("--yes", action="store_true", help=text)
    parser.add_argument("--copy", action="store_true", help="also import what cockpit reads in place")
    add_options(parser, "json", "cwd", "trust")
    return parser


def _list_providers(root: str) -> tuple[str, ...]:
    """The names of all providers, including the user's own."""
    from cockpit.builtin.models.openai_chat.presets import known_presets

    return tuple(known_presets(files.load_settings(root, False).table("plugins.openai_chat")))


def _confirm_loosening(args: argparse.Namespace, rows: list[ImportRow]) -> bool:
    """Whether the user agrees to settings that allow more than now. Without a terminal the answer is no."""
    loosening = plan.select_loosening(rows)
    if args.yes or not loosening:
        return bool(args.yes)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    print("these settings allow more than now:", file=sys.stderr)
    for row in loosening:
        print(escape_text(f"  {row.setting.name}  ({row.setting.file}:{row.setting.line})"), file=sys.stderr)
    print("import them too? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _encode_row(row: ImportRow, written: list[ImportRow]) -> dict[str, object]:
    return {
        **select_fields(row.setting, "agent", "what", "name", "file", "line", "loosens", "notes"),
        **select_fields(row, "state", "becomes", "why"),
        "written": row in written,
    }


def _print_rows(rows: list[ImportRow], written: list[ImportRow], is_applied: bool) -> None:
    if not rows:
        print(f"no settings of {', '.join(AGENTS)} found")
        return
    width = min(44, max(len(row.setting.name) for row in rows))
    agent = ""
    for row in rows:
        if row.setting.agent != agent:
            agent = row.setting.agent
            print(f"\n{agent}")
        for line in _format_row(row, width, row in written):
            print(escape_text(line))
    counts = {state: sum(row.state == state for row in rows) for state in STATE_WORDS}
    words = ", ".join(f"{count} {STATE_WORDS[state]}" for state, count in counts.items() if count)
    print(f"\n{words}")
    if is_applied:
        plural = "" if len(written) == 1 else "s"
        print(escape_text(f"wrote {len(written)} setting{plural} to {paths.config()}"))
    elif counts["new"]:
        print("nothing was written; run with --apply to import")


def _format_row(row: ImportRow, width: int, is_written: bool) -> list[str]:
    setting = row.setting
    name = setting.name if len(setting.name) <= width else f"{setting.name[: width - 1]}…"
    where = shorten_path(setting.file) + (f":{setting.line}" if setting.line else "")
    sign = "✓" if is_written else STATE_SIGNS[row.state]
    details = [row.why]
    if row.state in ("new", "other"):
        details = [f"-> {row.becomes}" if row.becomes else "", row.why, *setting.notes]
    line = f"{sign} {setting.what:8}  {name:{width}}  {where}"
    return [line, *(f"             {detail}" for detail in details if detail)]
