"""`cockpit hooks [list|run|approve|revoke]`: list the hooks of files, try them at an event, and approve those
of a project.
"""

import argparse
import asyncio
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
    select_fields,
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
    text = 'the call\'s arguments: \'{"command": "ls"}\''
    run.add_argument("--input", default="{}", metavar="JSON", help=text)
    text = "what the matcher sees at other events: startup, manual, a role"
    run.add_argument("--match", default="", help=text)
    run.add_argument("--text", default="", help="the prompt, result, error or answer")
    run.add_argument("--really", action="store_true", help="run them and show what they answer")
    add_options(run, "json", "cwd", "trust")
    approve = what.add_parser("approve", help="show what a project's hooks would run, and approve them")
    add_options(approve, "cwd", "trust")
    approve.add_argument("--yes", action="store_true", help="do not ask")
    add_options(what.add_parser("revoke", help="revoke every approval for this folder"), "cwd")
    return parser


def _load_scope(root: str, trusted: bool) -> Scope:
    settings = files.load_settings(root, trusted)
    return plugin_scope("hooks", root, settings, files.load_environment(root, trusted), trusted)


def _approve_hooks(root: str, yes: bool, trusted: bool) -> int:
    """Approve the hooks of this folder's files, each exactly as it is now."""
    if not trusted and not is_trusted(root):
        raise CockpitError(f"{root} is not trusted, so its files are not read", "add --trust to read them")
    hooks = [hook for hook in load_hooks(_load_scope(root, True)).hooks if hook.file.layer == "project"]
    approved = load_approved(root)
    pending = {fingerprint_hook(hook, root): hook for hook in hooks}
    pending = {key: hook for key, hook in pending.items() if key not in approved}
    if not pending:
        print(f"{len(hooks)} hooks in this folder's files, nothing new to approve")
        return 0
    for hook in pending.values():
        print(escape_text(describe_hook(hook, Path(root))))
    if not confirm(f"Run these {len(pending)} hooks with your rights whenever their event occurs?", yes):
        print("not approved: they do not run")
        return 1
    approve_hooks(root, pending)
    print("approved: they run from now on; a hook that changes needs approval again")
    return 0


@dataclass(frozen=True, slots=True)
class HookTrial:
    """A hook tried at an event: whether its matcher `fits`, why it would not run (`left_out`), and its answer
    if it ran."""

    hook: Hook
    name: str
    fits: bool
    left_out: str = ""
    answer: "HookAnswer | None" = None
    seconds: float = 0.0

    def json(self) -> dict[str, object]:
        encoded = {
            **select_fields(self, "name", "fits", "left_out"),
            "file": str(self.hook.file.path),
            "line": self.hook.line,
            "type": self.hook.kind,
            "does": self.hook.text,
        }
        if self.answer is None:
            return encoded
        return encoded | {
            **select_fields(self.answer, "decision", "reason", "added", "message", "halt", "faults"),
            "seconds": round(self.seconds, 4),
            "updated_input": dict(self.answer.arguments) if self.answer.arguments is not None else None,
        }


def _try_event(args: argparse.Namespace, root: str) -> int:
    event = find_event(args.event)
    if event is None:
        raise CockpitError(*explain_unknown_event(args.event))
    trusted = args.trust or is_trusted(root)
    scope = _load_scope(root, trusted)
    tools = load_catalog(root, trusted).all(Tool)
    agent = "main/x-1" if event.looks_at == "role" else "main"
    session = SessionFacts("dry-run", root, "ask", trusted, tools, agent)
    guarded = _build_guarded(event, args, tools)
    hooks = [hook for hook in load_hooks(scope).hooks if hook.event.name == event.name]

    async def try_hooks() -> list[HookTrial]:
        return [await _try_hook(hook, guarded, session, scope, args.really) for hook in hooks]

    trials = asyncio.run(try_hooks())
    if args.json:
        print_json([trial.json() for trial in trials], 1)
        return 0
    for trial in trials:
        for line in _format_trial(trial):
            print(escape_text(line))
    if not trials:
        print(f"no hook for {event.name}")
    if not trusted:
        print(UNTRUSTED_NOTE)
    return 0


def _build_guarded(event: HookEvent, args: argparse.Namespace, tools: tuple[Tool, ...]) -> Guarded:
    """What a hook would check: a call at a tool's event, else a text and the fact that matchers look at."""
    if event.looks_at == "tool":
        example = 'write \'{"command": "ls"}\''
        try:
            arguments = json.loads(args.input)
        except ValueError as error:
            raise CockpitError(f"--input is not valid JSON: {error}", example) from error
        if not isinstance(arguments, dict):
            raise CockpitError("--input is not a JSON object", example)
        name = _resolve_tool_name(args.tool or "Bash", tools)
        call = ToolCall("dry-run", name, cast("Mapping[str, Json]", arguments))
        return Guarded(event.point, args.text, call, name)
    matched = args.match or DEFAULT_MATCH.get(event.looks_at, "")
    if event.looks_at == "reason" and matched == "prompt_input_exit":
        matched = "closed"  # the name of this reason in cockpit's own events
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
    hook: Hook, guarded: Guarded, session: SessionFacts, scope: Scope, really: bool
) -> HookTrial:
    call = translate_call(hook, guarded, session)
    name = hook.name(session.root)
    if not await is_selected(hook, guarded, session, call):
        return HookTrial(hook, name, False)
    left_out = _find_blocker(hook, session)
    if left_out or not really:
        return HookTrial(hook, name, True, left_out)
    if hook.kind in SESSION_ONLY_KINDS:
        return HookTrial(hook, name, True, "it needs a session, so it is not run here")
    started = time.perf_counter()
    answer = await _run_hook(hook, build_payload(hook, guarded, session, call), session, scope)
    return HookTrial(hook, name, True, "", answer, time.perf_counter() - started)


async def _run_hook(
    hook: Hook, args: Mapping[str, Json], session: SessionFacts, scope: Scope
) -> "HookAnswer":
    from cockpit.builtin.files.hooks import runner
    from cockpit.formats.hook_protocol import HookAnswer
    from cockpit.workspace.processes.local_processes import LocalProcesses

    if hook.kind == "http":
        return await runner.run_http_hook(hook, args, scope.environment)
    if hook.kind == "block":
        return HookAnswer("deny", hook.action_text("reason") or "blocked by a hook")
    processes = LocalProcesses(session.root)
    try:
        return await runner.run_command_hook(hook, args, session, processes)
    finally:
        await processes.close()


def _find_blocker(hook: Hook, session: SessionFacts) -> str:
    """Why the hook would not run now without the user's approval, or an empty string."""
    if not session.trusted and hook.kind == "command":
        return "this folder is not trusted"
    if hook.file.layer == "project" and fingerprint_hook(hook, session.root) not in load_approved(
        session.root
    ):
        return "it needs approval first: cockpit hooks approve"
    return ""


def _format_trial(trial: HookTrial) -> Iterator[str]:
    state = "fits" if trial.fits else "does not fit"
    yield f"{state:12}  {trial.name}  {trial.hook.kind}: {trial.hook.text}"
    indent = " " * 14
    if trial.left_out:
        yield f"{indent}does not run: {trial.left_out}"
    answer = trial.answer
    if answer is None:
        return
    decision = answer.decision or ("failed" if answer.failed else "no objection")
    yield f"{indent}{decision} in {1000 * trial.seconds:.0f} ms"
    for name, text in select_fields(answer, "reason", "added", "message", "halt").items():
        if text:
            yield f"{indent}{name}: {text}"
    if answer.arguments is not None:
        yield f"{indent}updated input: {json.dumps(dict(answer.arguments))}"
    for fault in answer.faults:
        yield f"{indent}{fault}"
