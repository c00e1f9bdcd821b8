"""`cockpit hooks [list|run|approve|revoke]`: the hooks of a folder's files, a trial run of an event, and
approving a project's hooks.
"""

import argparse
import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from cockpit.builtin.files.hooks import load_hooks
from cockpit.builtin.files.hooks.approvals import (
    approve_hooks,
    describe_hook,
    fingerprint_hook,
    load_approved,
    revoke_approvals,
)
from cockpit.builtin.files.hooks.events import SessionFacts, build_payload, is_selected, translate_call
from cockpit.cli import definition_list
from cockpit.cli.command import (
    UNTRUSTED_NOTE,
    add_options,
    confirm,
    escape_text,
    is_trusted,
    load_catalog,
    print_json,
    resolve_folder,
)
from cockpit.core.plugins.catalog import plugin_scope
from cockpit.errors import CockpitError
from cockpit.formats.hooks import EVENTS, Hook, HookEvent, explain_unknown_event, find_event
from cockpit.plugin.safety import Guarded
from cockpit.plugin.tools import Tool
from cockpit.plugin.values import Scope
from cockpit.protocol.messages import Json, ToolCall
from cockpit.settings import files

if TYPE_CHECKING:
    from cockpit.formats.hook_protocol import HookAnswer

SESSION_ONLY_KINDS = ("prompt", "agent", "mcp_tool")
# What the matcher of an event usually sees, unless `--match` says otherwise.
DEFAULT_MATCH: Mapping[str, Json] = {
    "source": "startup",
    "kind": "permission_prompt",
    "trigger": "manual",
    "reason": "prompt_input_exit",
    "role": "general",
}


def main(argv: Sequence[str]) -> int:
    """Raises `CockpitError` for a missing folder and an unknown event."""
    words = list(argv)
    if not words or (words[0].startswith("-") and words[0] not in ("-h", "--help")):
        words.insert(0, "list")
    if words[0] == "list":
        return definition_list.run_list("hooks", words[1:])
    args = _parser().parse_args(words)
    root = resolve_folder(args.cwd)
    match args.what:
        case "run":
            return _try_event(args, root)
        case "approve":
            return _approve_hooks(root, args.yes, args.trust)
        case _:
            count = revoke_approvals(root)
            print(f"{count} hooks need approval again" if count else "no hooks were approved here")
            return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="cockpit hooks", description="Hooks defined in files (see docs/use/hooks-of-files.md)."
    )
    what = parser.add_subparsers(dest="what", metavar="WHAT", required=True)
    what.add_parser("list", help="list every hook, where it is defined, and what was refused", add_help=False)
    run = what.add_parser("run", help="show which hooks an event would run; with --really, run them")
    run.add_argument("event", help=", ".join(EVENTS))
    run.add_argument("--tool", default="", help="the tool of the call: Bash, Read, mcp__server__tool")
    run.add_argument(
        "--input", default="{}", metavar="JSON", help='the call\'s arguments: \'{"command": "ls"}\''
    )
    run.add_argument(
        "--match", default="", help="what the matcher sees at other events: startup, manual, a role"
    )
    run.add_argument("--text", default="", help="the prompt, result, error or answer")
    run.add_argument("--really", action="store_true", help="run them and show what they answer")
    add_options(run, "json", "trust")
    approve = what.add_parser("approve", help="show what a project's hooks would run, and approve them")
    add_options(approve, "trust")
    approve.add_argument("--yes", action="store_true", help="do not ask")
    take_back = what.add_parser("revoke", help="revoke every approval for this folder")
    for item in (run, approve, take_back):
        add_options(item, "cwd")
    return parser


def _load_scope(root: str, trusted: bool) -> Scope:
    settings = files.load_settings(root, trusted)
    return plugin_scope("hooks", root, settings, files.load_environment(root, trusted), trusted)


def _approve_hooks(root: str, yes: bool, trusted: bool) -> int:
    """Approve the hooks of this folder's files, each exactly as it is now."""
    if not trusted and not is_trusted(root):
        raise CockpitError(f"{root} is not trusted, so its files are not read", "add --trust to read them")
    hooks = [entry for entry in load_hooks(_load_scope(root, True)).hooks if entry.file.layer == "project"]
    known = load_approved(root)
    fresh = {
        fingerprint_hook(item, root): item for item in hooks if fingerprint_hook(item, root) not in known
    }
    if not fresh:
        print(f"{len(hooks)} hooks in this folder's files, nothing new to approve")
        return 0
    for hook in fresh.values():
        print(escape_text(describe_hook(hook, Path(root))))
    if not confirm(f"Run these {len(fresh)} hooks with your rights whenever their event occurs?", yes):
        print("not approved: they do not run")
        return 1
    approve_hooks(root, fresh)
    print("approved: they run from now on; a hook that changes needs approval again")
    return 0


@dataclass(frozen=True, slots=True)
class HookTrial:
    """A hook tried at an event: whether it is selected, why it would not run, and its answer if it ran."""

    hook: Hook
    name: str
    fits: bool
    left_out: str = ""
    answer: "HookAnswer | None" = None
    seconds: float = 0.0
    also: Mapping[str, Json] = field(default_factory=dict)

    def json(self) -> dict[str, object]:
        out: dict[str, object] = {"name": self.name, "file": str(self.hook.file.path), "line": self.hook.line}
        out |= {"type": self.hook.kind, "does": self.hook.text, "fits": self.fits, "left_out": self.left_out}
        if self.answer is None:
            return out
        return out | {
            "seconds": round(self.seconds, 4),
            "decision": self.answer.decision,
            "reason": self.answer.reason,
            "added": self.answer.added,
            "message": self.answer.message,
            "updated_input": dict(self.answer.arguments) if self.answer.arguments is not None else None,
            "halt": self.answer.halt,
            "faults": list(self.answer.faults),
        }


def _try_event(args: argparse.Namespace, root: str) -> int:
    event = find_event(args.event)
    if event is None:
        raise CockpitError(*explain_unknown_event(args.event))
    trusted = args.trust or is_trusted(root)
    scope = _load_scope(root, trusted)
    tools = load_catalog(root, trusted).all(Tool)
    scene = SessionFacts(
        "dry-run", root, "ask", trusted, tools, "main" if event.looks_at != "role" else "main/x-1"
    )
    guarded = _build_guarded(event, args, tools)
    hooks = [hook for hook in load_hooks(scope).hooks if hook.event.name == event.name]

    async def try_hooks() -> list[HookTrial]:
        return [await _try_hook(hook, guarded, scene, scope, args.really) for hook in hooks]

    tried = asyncio.run(try_hooks())
    if args.json:
        print_json([item.json() for item in tried], 1)
        return 0
    for line in _format_trials(event, tried, trusted):
        print(escape_text(line))
    return 0


def _build_guarded(event: HookEvent, args: argparse.Namespace, tools: tuple[Tool, ...]) -> Guarded:
    """What would be checked: a call at a tool's event, else a text and the fact that the matcher looks at."""
    if event.looks_at == "tool":
        try:
            arguments = json.loads(args.input)
        except ValueError as error:
            raise CockpitError(
                f"--input is not valid JSON: {error}", 'write \'{"command": "ls"}\''
            ) from error
        if not isinstance(arguments, dict):
            raise CockpitError("--input is not a JSON object", 'write \'{"command": "ls"}\'')
        name = _resolve_tool_name(args.tool or "Bash", tools)
        call = ToolCall("dry-run", name, cast("Mapping[str, Json]", arguments))
        return Guarded(event.point, args.text, call, name)
    matched = args.match or DEFAULT_MATCH.get(event.looks_at, "")
    if event.looks_at == "reason" and matched == "prompt_input_exit":
        matched = "closed"  # the word cockpit's own events use
    role = str(matched) if event.looks_at == "role" else ""
    facts: dict[str, Json] = {event.looks_at: matched} if event.looks_at not in ("", "role") else {}
    return Guarded(event.point, args.text, role=role, facts=facts)


def _resolve_tool_name(name: str, tools: tuple[Tool, ...]) -> str:
    """cockpit's name of a tool, given any of its names."""
    for tool in tools:
        if name == tool.name or any(alias.name == name for alias in tool.aliases):
            return tool.name
    return name


async def _try_hook(
    hook: Hook, guarded: Guarded, scene: SessionFacts, scope: Scope, really: bool
) -> HookTrial:
    call = translate_call(hook, guarded, scene)
    name = hook.name(scene.root)
    if not await is_selected(hook, guarded, scene, call):
        return HookTrial(hook, name, False)
    left_out = _find_blocker(hook, scene)
    if left_out or not really:
        return HookTrial(hook, name, True, left_out)
    if hook.kind in SESSION_ONLY_KINDS:
        return HookTrial(hook, name, True, "it needs a session, so it is not run here")
    started = time.perf_counter()
    answer = await _run_hook(hook, build_payload(hook, guarded, scene, call), scene, scope)
    return HookTrial(hook, name, True, "", answer, time.perf_counter() - started)


async def _run_hook(hook: Hook, args: Mapping[str, Json], scene: SessionFacts, scope: Scope) -> "HookAnswer":
    from cockpit.builtin.files.hooks import runner
    from cockpit.formats.hook_protocol import HookAnswer
    from cockpit.workspace.processes.local_processes import LocalProcesses

    if hook.kind == "http":
        return await runner.run_http_hook(hook, args, scope.environment)
    if hook.kind == "block":
        return HookAnswer("deny", hook.action_text("reason") or "blocked by a hook")
    processes = LocalProcesses(scene.root)
    try:
        return await runner.run_command_hook(hook, args, scene, processes)
    finally:
        await processes.close()


def _find_blocker(hook: Hook, scene: SessionFacts) -> str:
    """Why the hook would not run now without the user's approval, or an empty string."""
    if not scene.trusted and hook.kind == "command":
        return "this folder is not trusted"
    if hook.file.layer == "project" and fingerprint_hook(hook, scene.root) not in load_approved(scene.root):
        return "it needs approval first: cockpit hooks approve"
    return ""


def _format_trials(event: HookEvent, tried: Sequence[HookTrial], trusted: bool) -> list[str]:
    lines: list[str] = []
    for item in tried:
        state = "fits" if item.fits else "does not fit"
        lines.append(f"{state:12}  {item.name}  {item.hook.kind}: {item.hook.text}")
        if item.left_out:
            lines.append(f"              does not run: {item.left_out}")
        if item.answer is not None:
            decision = item.answer.decision or ("failed" if item.answer.failed else "no objection")
            lines.append(f"              {decision} in {1000 * item.seconds:.0f} ms")
            details = {
                "reason": item.answer.reason,
                "added": item.answer.added,
                "message": item.answer.message,
            }
            details["halt"] = item.answer.halt
            lines += [f"              {name}: {text}" for name, text in details.items() if text]
            if item.answer.arguments is not None:
                lines.append(f"              updated input: {json.dumps(dict(item.answer.arguments))}")
            lines += [f"              {fault}" for fault in item.answer.faults]
    if not tried:
        lines.append(f"no hook for {event.name}")
    if not trusted:
        lines.append(UNTRUSTED_NOTE)
    return lines
