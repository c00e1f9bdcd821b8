"""`cockpit hooks [list|run|approve|revoke]`: what files want to run at the points of a session, which of it
would run now, and the yes that a project's hooks need."""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from cockpit.builtin.hooks import hooks_of
from cockpit.builtin.hooks.agreeing import agree, agreed, line_of, pin, revoke
from cockpit.builtin.hooks.fitting import is_meant
from cockpit.builtin.hooks.telling import Scene, call_of, told
from cockpit.cli import listing
from cockpit.cli.catalogs import catalog_of, folder_of, is_trusted
from cockpit.cli.lines import said
from cockpit.core.catalog import scope_of
from cockpit.errors import CockpitError
from cockpit.formats.hook_events import EVENTS, Event, event_of, strange
from cockpit.formats.hooks import Hook
from cockpit.plugin.safety import Guarded
from cockpit.plugin.tools import Tool
from cockpit.plugin.values import Scope
from cockpit.protocol.messages import Json, ToolCall
from cockpit.settings import files

if TYPE_CHECKING:
    from cockpit.formats.hook_answers import Answer

UNSEEN = ("prompt", "agent", "mcp_tool")
# What the matcher of an event usually sees, where `--match` does not say it.
USUAL: Mapping[str, Json] = {
    "source": "startup",
    "kind": "permission_prompt",
    "trigger": "manual",
    "reason": "prompt_input_exit",
    "role": "general",
}


def main(argv: Sequence[str]) -> int:
    """Raises `CockpitError` for a folder that is none and an event that nobody knows."""
    words = list(argv)
    if not words or (words[0].startswith("-") and words[0] not in ("-h", "--help")):
        words.insert(0, "list")
    if words[0] == "list":
        return listing.main("hooks", words[1:])
    given = _parser().parse_args(words)
    root = folder_of(given.cwd)
    match given.what:
        case "run":
            return _run(given, root)
        case "approve":
            return _approve(root, given.yes, given.trust)
        case _:
            count = revoke(root)
            print(f"{count} hooks need a yes again" if count else "nothing was agreed to here")
            return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="cockpit hooks", description="Hooks of files: docs/hooks-of-files.md"
    )
    what = parser.add_subparsers(dest="what", metavar="WHAT", required=True)
    what.add_parser("list", help="every hook, where it stands, what was refused (--json)", add_help=False)
    run = what.add_parser("run", help="which hooks an event would run; with --really, run them")
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
    run.add_argument("--json", action="store_true")
    run.add_argument(
        "--trust", action="store_true", help="read the folder's files although nobody trusts it yet"
    )
    approve = what.add_parser("approve", help="show what a project's hooks would run, and take your yes")
    approve.add_argument("--trust", action="store_true", help="read the folder's files all the same")
    approve.add_argument("--yes", action="store_true", help="without a question")
    take_back = what.add_parser("revoke", help="take back every yes for this folder")
    for one in (run, approve, take_back):
        one.add_argument("--cwd", metavar="DIR", default="", help="the folder (default: this one)")
    return parser


def _scope(root: str, trusted: bool) -> Scope:
    settings = files.load(root, trusted)
    return scope_of("hooks", root, settings, files.environment(root, trusted), trusted)


def _approve(root: str, yes: bool, trusted: bool) -> int:
    """A person's yes for the hooks of this folder's files, each as it is now."""
    if not trusted and not is_trusted(root):
        raise CockpitError(f"{root} is not trusted: its files are not read", "`--trust` reads them")
    hooks = [one for one in hooks_of(_scope(root, True)).hooks if one.file.layer == "project"]
    known = agreed(root)
    fresh = {pin(one, root): one for one in hooks if pin(one, root) not in known}
    if not fresh:
        print(f"{len(hooks)} hooks of this folder's files, nothing to agree to")
        return 0
    for hook in fresh.values():
        print(said(line_of(hook, Path(root))))
    if not yes and not _is_yes(
        f"Run {len(fresh)} of them with your rights whenever their event comes? [y/N] "
    ):
        print("they do not run")
        return 1
    agree(root, fresh)
    print("they run from now on; one that changes is asked about again")
    return 0


def _is_yes(question: str) -> bool:
    if not sys.stdin.isatty():
        raise CockpitError("nobody is there to answer", "`--yes` says it on the command line")
    return input(question).strip().lower() in ("y", "yes")


@dataclass(frozen=True, slots=True)
class Tried:
    """One hook at an event: whether it is meant, why it would not run, and its answer if it ran."""

    hook: Hook
    name: str
    fits: bool
    left_out: str = ""
    answer: "Answer | None" = None
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


def _run(given: argparse.Namespace, root: str) -> int:
    event = event_of(given.event)
    if event is None:
        raise CockpitError(*strange(given.event))
    trusted = given.trust or is_trusted(root)
    scope = _scope(root, trusted)
    tools = catalog_of(root, trusted).all(Tool)
    scene = Scene("dry-run", root, "ask", trusted, tools, "main" if event.looks_at != "role" else "main/x-1")
    guarded = _guarded(event, given, tools)
    hooks = [one for one in hooks_of(scope).hooks if one.event.name == event.name]
    tried = asyncio.run(_try_all(hooks, guarded, scene, scope, given.really))
    if given.json:
        print(json.dumps([one.json() for one in tried], ensure_ascii=False, indent=1))
        return 0
    for line in _lines(event, tried, trusted):
        print(said(line))
    return 0


def _guarded(event: Event, given: argparse.Namespace, tools: tuple[Tool, ...]) -> Guarded:
    """What would pass: a call at a tool's event, else a text and the fact that the matcher looks at."""
    if event.looks_at == "tool":
        try:
            arguments = json.loads(given.input)
        except ValueError as error:
            raise CockpitError(f"--input is no JSON: {error}", 'write \'{"command": "ls"}\'') from error
        if not isinstance(arguments, dict):
            raise CockpitError("--input is no table", 'write \'{"command": "ls"}\'')
        name = _tool(given.tool or "Bash", tools)
        call = ToolCall("dry-run", name, cast("Mapping[str, Json]", arguments))
        return Guarded(event.point, given.text, call, name)
    seen = given.match or USUAL.get(event.looks_at, "")
    if event.looks_at == "reason" and seen == "prompt_input_exit":
        seen = "closed"  # as our own events say it
    role = str(seen) if event.looks_at == "role" else ""
    facts: dict[str, Json] = {event.looks_at: seen} if event.looks_at not in ("", "role") else {}
    return Guarded(event.point, given.text, role=role, facts=facts)


def _tool(name: str, tools: tuple[Tool, ...]) -> str:
    """Our name of a tool, whatever others call it."""
    for tool in tools:
        if name == tool.name or any(alias.name == name for alias in tool.aliases):
            return tool.name
    return name


async def _try_all(
    hooks: Sequence[Hook], guarded: Guarded, scene: Scene, scope: Scope, really: bool
) -> list[Tried]:
    return [await _try(hook, guarded, scene, scope, really) for hook in hooks]


async def _try(hook: Hook, guarded: Guarded, scene: Scene, scope: Scope, really: bool) -> Tried:
    call = call_of(hook, guarded, scene)
    name = hook.name(scene.root)
    if not await is_meant(hook, guarded, scene, call):
        return Tried(hook, name, False)
    left_out = _left_out(hook, scene)
    if left_out or not really:
        return Tried(hook, name, True, left_out)
    if hook.kind in UNSEEN:
        return Tried(hook, name, True, "it needs a session; it is not run here")
    started = time.perf_counter()
    answer = await _answer(hook, told(hook, guarded, scene, call), scene, scope)
    return Tried(hook, name, True, "", answer, time.perf_counter() - started)


async def _answer(hook: Hook, given: Mapping[str, Json], scene: Scene, scope: Scope) -> "Answer":
    from cockpit.builtin.hooks import posting, running
    from cockpit.formats.hook_answers import Answer
    from cockpit.workspace.processes import LocalProcesses

    if hook.kind == "http":
        return await posting.post(hook, given, scope.environment)
    if hook.kind == "block":
        return Answer("deny", hook.action_text("reason") or "a hook forbids it")
    processes = LocalProcesses(scene.root)
    try:
        return await running.command(hook, given, scene, processes)
    finally:
        await processes.close()


def _left_out(hook: Hook, scene: Scene) -> str:
    """Why it would not run now without a word of the person's."""
    if not scene.trusted and hook.kind == "command":
        return "this folder is not trusted"
    if hook.file.layer == "project" and pin(hook, scene.root) not in agreed(scene.root):
        return "it needs your yes first: cockpit hooks approve"
    return ""


def _lines(event: Event, tried: Sequence[Tried], trusted: bool) -> list[str]:
    lines: list[str] = []
    for one in tried:
        state = "fits" if one.fits else "does not fit"
        lines.append(f"{state:12}  {one.name}  {one.hook.kind}: {one.hook.text}")
        if one.left_out:
            lines.append(f"              does not run: {one.left_out}")
        if one.answer is not None:
            decision = one.answer.decision or ("failed" if one.answer.failed else "no objection")
            lines.append(f"              {decision} in {1000 * one.seconds:.0f} ms")
            told = {"reason": one.answer.reason, "added": one.answer.added, "message": one.answer.message}
            told["halt"] = one.answer.halt
            lines += [f"              {name}: {text}" for name, text in told.items() if text]
            if one.answer.arguments is not None:
                lines.append(f"              updated input: {json.dumps(dict(one.answer.arguments))}")
            lines += [f"              {fault}" for fault in one.answer.faults]
    if not tried:
        lines.append(f"no hook for {event.name}")
    if not trusted:
        lines.append("this folder is not trusted: its own files were not read (--trust reads them)")
    return lines
