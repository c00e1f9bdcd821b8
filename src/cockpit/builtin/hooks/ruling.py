"""What a hook's answer means at its event. An allow means nothing: no hook answers in a person's place."""

from collections.abc import Callable, Mapping
from typing import assert_never

from cockpit.formats.hook_answers import Answer
from cockpit.plugin.safety import Add, Ask, Continue, Guarded, Halt, Refuse, Rewrite, Ruling
from cockpit.protocol.messages import Json

Translate = Callable[[Mapping[str, Json]], Mapping[str, Json]]


def rulings(answer: Answer, guarded: Guarded, name: str, translate: Translate) -> tuple[Ruling, ...]:
    """The rulings of one answer. `translate` turns arguments in Claude Code's words into ours."""
    out: list[Ruling] = []
    if answer.halt and guarded.point not in ("session_end", "notification"):
        out.append(Halt(answer.halt))
    if answer.decision in ("deny", "ask", "defer"):
        out += _objection(answer, guarded, name)
    if answer.arguments is not None and guarded.point == "tool_call":
        out.append(Rewrite(arguments=translate(answer.arguments)))
    if answer.output and guarded.point == "tool_result":
        out.append(Rewrite(answer.output))
    if answer.added:
        out.append(Add(answer.added))
    return tuple(out)


def _objection(answer: Answer, guarded: Guarded, name: str) -> list[Ruling]:
    reason = answer.reason or "a hook said no"
    asks = answer.decision != "deny"
    match guarded.point:
        case "tool_call":
            return [Ask(reason) if asks else Refuse(reason)]
        case "permission" | "prompt" | "compaction":
            return [] if asks else [Refuse(reason)]
        case "tool_result" | "tool_failure":
            # It has run: what is left is to tell the model.
            return [] if asks else [Add(f"[{name}: {reason}]")]
        case "stop" | "subagent_stop" | "answer":
            return [] if asks else [Continue(reason)]
        case "session_start" | "subagent_start" | "compacted" | "notification" | "session_end":
            return []
        case _:
            assert_never(guarded.point)


def is_unheard(answer: Answer, guarded: Guarded) -> bool:
    """Whether a no changes nothing at this point: it is told to the person instead."""
    points = ("session_start", "subagent_start", "compacted", "notification", "session_end")
    return answer.decision == "deny" and guarded.point in points
