"""What a hook is given and what it answers, in Claude Code's words: users' hooks expect `Bash` and
`tool_input.file_path`.

Tool names come from the tools' own aliases; a tool Claude Code has no word for keeps its name. An answer is
an exit code with stdout and stderr, or JSON: 0 has no objection (JSON is read), 2 refuses with the reason on
stderr, 49 ends the turn (crush), anything else is a failure that decides nothing.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, cast

from cockpit.formats.hooks import HookEvent
from cockpit.plugin.tools import Arguments, Tool
from cockpit.protocol.messages import Json

# Claude Code's tools and their arguments, as its hooks are given them.
CLAUDE_ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "Bash": ("command", "description", "timeout", "run_in_background"),
    "Read": ("file_path", "offset", "limit"),
    "Edit": ("file_path", "old_string", "new_string", "replace_all"),
    "MultiEdit": ("file_path", "edits"),
    "Write": ("file_path", "content"),
    "Grep": ("pattern", "path", "glob", "head_limit"),
    "Glob": ("pattern", "path"),
    "LS": ("path",),
    "WebFetch": ("url", "prompt"),
    "WebSearch": ("query",),
    "Task": ("description", "prompt", "subagent_type", "run_in_background"),
    "Agent": ("description", "prompt", "subagent_type", "run_in_background"),
    "TodoWrite": ("todos",),
    "NotebookEdit": ("notebook_path", "new_source"),
    "Skill": ("skill", "args"),
    "AskUserQuestion": ("questions",),
    "ExitPlanMode": ("plan",),
    "EnterPlanMode": (),
    "BashOutput": ("bash_id",),
    "KillShell": ("shell_id",),
    "ToolSearch": ("query",),
}
EDIT_KEYS = {"old": "old_string", "new": "new_string"}
# crush's names, used in the matchers of its hooks.
CRUSH_NAMES = {"Read": "view", "WebFetch": "fetch", "Task": "agent"}
TIMEOUT_ARGUMENT = "timeout"


@dataclass(frozen=True, slots=True)
class ClaudeCall:
    """A call in Claude Code's words. `names` are those a matcher may use for the tool, the best first."""

    name: str
    names: tuple[str, ...]
    arguments: Mapping[str, Json]


def to_claude_call(tool: Tool, arguments: Arguments, root: str, family: str = "claude") -> ClaudeCall:
    """The call of `tool` as a hook of `family` is given it. File paths are made absolute."""
    name = find_claude_name(tool)
    theirs = {
        _find_claude_argument(tool, name, ours): _to_claude_value(ours, value)
        for ours, value in arguments.items()
    }
    for item in ("file_path", "notebook_path"):
        path = theirs.get(item)
        if isinstance(path, str) and path:
            base = Path.home() / path[2:] if path.startswith("~/") else Path(root) / path
            theirs[item] = os.path.normpath(base)
    seconds = theirs.get(TIMEOUT_ARGUMENT)
    if name == "Bash" and isinstance(seconds, int | float):
        theirs[TIMEOUT_ARGUMENT] = int(1000 * seconds)
    also = [tool.name, *(alias.name for alias in tool.aliases)]
    if tool.kind in ("edit", "delete", "move"):
        # A hook on `Edit` is meant for everything that changes files.
        also.append("Edit")
    if family == "crush":
        name = CRUSH_NAMES.get(name, name.lower()) if name in CLAUDE_ARGUMENTS else name
    return ClaudeCall(name, tuple(dict.fromkeys((name, *also))), theirs)


def find_claude_name(tool: Tool) -> str:
    """Claude Code's name of a tool, or its own name if there is none."""
    own = {tool.name, *(alias.name for alias in tool.aliases)}
    return next((name for name in CLAUDE_ARGUMENTS if name in own), tool.name)


def to_own_arguments(tool: Tool, updated: Arguments, before: Arguments, root: str) -> dict[str, Json]:
    """`updated`, in Claude Code's words, as cockpit's arguments. `before` is the original call: what the
    hook did not change keeps its original form."""
    original = to_claude_call(tool, before, root).arguments
    back = {_find_claude_argument(tool, find_claude_name(tool), item): item for item in before}
    arguments: dict[str, Json] = {}
    for name, value in updated.items():
        own = back.get(name) or _find_own_argument(tool, name)
        if own == "":
            continue
        if name in original and original[name] == value and own in before:
            arguments[own] = before[own]
        else:
            arguments[own] = _to_own_value(name, own, value)
    return arguments


def _find_claude_argument(tool: Tool, name: str, ours: str) -> str:
    known = CLAUDE_ARGUMENTS.get(name, ())
    if ours in known:
        return ours
    pairs = [pair for alias in tool.aliases if alias.name == name for pair in alias.arguments]
    return next((theirs for theirs, own in pairs if own == ours and theirs in known), ours)


def _find_own_argument(tool: Tool, theirs: str) -> str:
    """cockpit's name of an argument; an empty string if it is dropped, unchanged if unknown."""
    properties = tool.parameters.get("properties")
    if isinstance(properties, Mapping) and theirs in properties:
        return theirs
    pairs = {entry: own for alias in tool.aliases for entry, own in reversed(alias.arguments)}
    return pairs.get(theirs, theirs)


def _to_claude_value(ours: str, value: Json) -> Json:
    return _rename_edit_keys(value, EDIT_KEYS) if ours == "edits" else value


def _to_own_value(name: str, own: str, value: Json) -> Json:
    """A value in cockpit's form: milliseconds as seconds, the keys of edits renamed."""
    if name == TIMEOUT_ARGUMENT and own == "seconds" and isinstance(value, int | float):
        return value / 1000
    return (
        _rename_edit_keys(value, {theirs: ours for ours, theirs in EDIT_KEYS.items()})
        if own == "edits"
        else value
    )


def _rename_edit_keys(edits: Json, names: Mapping[str, str]) -> Json:
    if not isinstance(edits, list):
        return edits
    return [
        {names.get(key, key): value for key, value in edit.items()} if isinstance(edit, dict) else edit
        for edit in edits
    ]


HookDecision = Literal["", "allow", "deny", "ask", "defer"]
DECISIONS: Mapping[str, HookDecision] = {
    **dict.fromkeys(("allow", "approve"), "allow"),
    **dict.fromkeys(("deny", "block"), "deny"),
    "ask": "ask",
    "defer": "defer",
}
EXIT_BLOCKED = 2
EXIT_HALTED = 49
# Events where plain text that a command prints is given to the model.
CONTEXT_EVENTS = frozenset({"UserPromptSubmit", "SessionStart"})
MAX_OUTPUT_SHOWN = 300


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """`added` is read by the model, `message` by the user. `arguments` and `output` replace the tool's
    arguments and its result. `halt` ends the turn. `faults` lists what was not understood; `failed` means
    that the hook did not do its work and decided nothing."""

    decision: HookDecision = ""
    reason: str = ""
    added: str = ""
    message: str = ""
    arguments: Mapping[str, Json] | None = None
    output: str = ""
    halt: str = ""
    faults: tuple[str, ...] = ()
    failed: bool = False


def parse_process_result(event: HookEvent, code: int, out: str, errors: str) -> HookAnswer:
    """The answer of a command that has ended."""
    reason = errors.strip()
    if code == EXIT_BLOCKED:
        return HookAnswer("deny", reason or "a hook refused and gave no reason")
    if code == EXIT_HALTED:
        return HookAnswer("deny", reason, halt=reason or "a hook ended the turn")
    if code != 0:
        shown = f": {reason[:MAX_OUTPUT_SHOWN]}" if reason else ""
        return make_failed_answer(f"it ended with exit code {code}{shown}")
    return parse_text_answer(event, out)


def parse_text_answer(event: HookEvent, text: str) -> HookAnswer:
    """The answer in a text: JSON if it starts like JSON, else plain text, which some events accept."""
    text = text.strip()
    if text.startswith("{"):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            return make_failed_answer(f"its output is not valid JSON: {error}")
        return parse_json_answer(event, value) if isinstance(value, dict) else HookAnswer()
    return HookAnswer(added=text if event.name in CONTEXT_EVENTS else "")


def parse_judgement(text: str) -> HookAnswer:
    """The answer of a model: `{"ok": true}` or `{"ok": false, "reason": "..."}`, possibly with text around
    it."""
    begin, end = text.find("{"), text.rfind("}")
    try:
        value = json.loads(text[begin : end + 1]) if begin >= 0 else None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict) or not isinstance(value.get("ok"), bool):
        expected = '{"ok": true} or {"ok": false}'
        return make_failed_answer(f"the model did not answer {expected}: {text[:MAX_OUTPUT_SHOWN]!r}")
    reason = value.get("reason")
    text_reason = reason if isinstance(reason, str) and reason else "a model asked by a hook refused"
    return HookAnswer() if value["ok"] else HookAnswer("deny", text_reason)


def parse_json_answer(event: HookEvent, value: Mapping[str, Json]) -> HookAnswer:
    """The answer in Claude Code's fields, at the top level and in `hookSpecificOutput`."""
    top = _AnswerReader(value)
    decision = top.decision("decision")
    answer = HookAnswer(decision, top.text("reason"), top.text("context"), top.text("systemMessage"))
    answer = replace(answer, arguments=top.table("updated_input"))
    if value.get("continue") is False or value.get("halt") is True:
        answer = replace(answer, halt=top.text("stopReason") or top.text("reason") or "a hook ended the turn")
    own = top.table("hookSpecificOutput")
    faults = list(top.faults)
    if own is not None:
        named = own.get("hookEventName")
        if named in (None, event.name):
            answer, more = _apply_specific_output(answer, own)
            faults += more
        else:
            faults.append(f"its hookSpecificOutput is for {named}, not for {event.name}")
    return replace(answer, faults=tuple(faults))


def _apply_specific_output(answer: HookAnswer, own: Mapping[str, Json]) -> tuple[HookAnswer, list[str]]:
    inner = _AnswerReader(own)
    decision = inner.decision("permissionDecision")
    reason = inner.text("permissionDecisionReason")
    arguments, halt = inner.table("updatedInput"), answer.halt
    output = inner.text("updatedToolOutput") or inner.text("updatedMCPToolOutput")
    faults = inner.faults
    if (approval := own.get("decision")) is not None and isinstance(approval, dict):
        person = _AnswerReader(approval)
        decision, reason = person.decision("behavior"), person.text("message")
        arguments = person.table("updatedInput")
        halt = reason or "a hook ended the turn" if approval.get("interrupt") is True else halt
        faults = [*faults, *person.faults]
    answer = replace(
        answer,
        decision=decision or answer.decision,
        reason=reason or answer.reason,
        added=inner.text("additionalContext") or answer.added,
        arguments=answer.arguments if arguments is None else arguments,
        output=output,
        halt=halt,
    )
    return answer, faults


def make_failed_answer(fault: str) -> HookAnswer:
    """The answer of a hook that failed."""
    return HookAnswer(faults=(fault,), failed=True)


def make_timeout_answer(fault: str) -> HookAnswer:
    """The answer of a hook that timed out: it has not agreed, so the user is asked before a call."""
    return HookAnswer("ask", fault, faults=(fault,), failed=True)


class _AnswerReader:
    """Reads the fields of a table; fields of the wrong type are recorded and ignored."""

    def __init__(self, value: Mapping[str, Json]) -> None:
        self._value = value
        self.faults: list[str] = []

    def text(self, name: str) -> str:
        value = self._value.get(name)
        if value is None or isinstance(value, str):
            return value or ""
        if name.startswith("updated"):
            return json.dumps(value, ensure_ascii=False)
        self.faults.append(f"its `{name}` is not text")
        return ""

    def table(self, name: str) -> Mapping[str, Json] | None:
        value = self._value.get(name)
        if value is not None and not isinstance(value, dict):
            self.faults.append(f"its `{name}` is not a table")
        return cast("Mapping[str, Json]", value) if isinstance(value, dict) else None

    def decision(self, name: str) -> HookDecision:
        value = self._value.get(name)
        if value is None or value == "":
            return ""
        decision = DECISIONS.get(value) if isinstance(value, str) else None
        if decision is None:
            self.faults.append(f"its `{name}` is {value!r}, which is not a decision")
        return decision or ""
