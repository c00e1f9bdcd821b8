"""The steps of the intents that change files, run a command or edit the todo list.

A text that occurs several times is changed only if all occurrences were requested. Changes in several files
are made by one patch, so that one approval shows them all.
"""

import re
from collections.abc import Callable, Sequence

from cockpit.builtin.models.offline import answers, read_steps
from cockpit.builtin.models.offline.answers import SearchHit
from cockpit.builtin.models.offline.intents import (
    AnswerStep,
    CreateIntent,
    DeleteIntent,
    FormatIntent,
    MoveIntent,
    NextStep,
    RenameIntent,
    ReplaceIntent,
    ShellIntent,
    StepContext,
    TodoIntent,
    ToolStep,
)
from cockpit.builtin.models.offline.read_steps import parse_paths
from cockpit.protocol.messages import Json

MAX_CHANGES = 500
AMBIGUOUS_SYMBOL = re.compile(r" is defined \d+ times: ")
SHELL_SECONDS = 600


def step_replace(intent: ReplaceIntent, now: StepContext) -> NextStep:
    if "\n" in intent.old and not now.stage:
        # A text of several lines cannot be searched for; `edit` refuses it if it is not unique.
        if not intent.path:
            return AnswerStep(now.say("no_file", name="?"))
        return ToolStep("edit", _edit_arguments(intent, intent.path))
    if not now.stage:
        search: dict[str, Json] = {
            "pattern": intent.old,
            "literal": True,
            "case": "sensitive",
            "limit": MAX_CHANGES + 1,
        }
        return ToolStep(
            "search", search | {"path": intent.path or "."} | ({"glob": intent.glob} if intent.glob else {})
        )
    if now.stage == 2 or "\n" in intent.old:
        return _answer_replaced(intent, now)
    hits, count, files = answers.parse_hits(now.last.text)
    if not count:
        return AnswerStep(now.say("absent", name=intent.old))
    occurrences = sum(max(hit.text.count(intent.old), 1) for hit in hits) + count - len(hits)
    if occurrences > 1 and not intent.all:
        text = now.say("many", old=intent.old, new=intent.new, count=occurrences)
        return AnswerStep(f"{text}\n{answers.format_places(hits)}")
    if files == 1:
        return ToolStep("edit", _edit_arguments(intent, hits[0].path))
    return _step_patch(hits, count, lambda line: line.replace(intent.old, intent.new), now)


def _edit_arguments(intent: ReplaceIntent, path: str) -> dict[str, Json]:
    arguments: dict[str, Json] = {"path": path, "old": intent.old, "new": intent.new}
    return arguments | ({"replace_all": True} if intent.all else {})


def _answer_replaced(intent: ReplaceIntent, now: StepContext) -> NextStep:
    hits, _, files = answers.parse_hits(now.results[0].text)
    if files > 1:
        return _answer_changed(intent.old, intent.new, hits, files, now)
    path = hits[0].path if hits else intent.path
    lines = "\n".join(f"- `{hit.place}`" for hit in hits[:20])
    return AnswerStep(
        f"{now.say('replaced', old=intent.old, new=intent.new, path=f'`{path}`')}\n{lines}".rstrip()
    )


def step_rename(intent: RenameIntent, now: StepContext) -> NextStep:
    """Rename with the language server, or as text if that is not possible."""
    if not now.stage:
        symbol = f"{intent.path}:{intent.old}" if intent.path and "." in intent.path else intent.old
        return ToolStep("rename", {"symbol": symbol, "to": intent.new})
    first = now.results[0]
    if not first.is_error:
        rows = [line for line in first.text.split("\n") if line.strip()]
        files = sum(line.startswith(("modified ", "moved ")) for line in rows)
        text = now.say("renamed_symbol", old=intent.old, new=intent.new, count=files)
        return AnswerStep("\n".join([text, *(f"- {line}" for line in rows)]))
    if answers.DENIED_RESULT.match(first.text) or AMBIGUOUS_SYMBOL.search(first.text):
        return AnswerStep(answers.format_fault(first, now.language))
    return _step_rename_by_text(intent, now.by_text())


def step_format(intent: FormatIntent, now: StepContext) -> NextStep:
    return AnswerStep(now.last.text) if now.stage else ToolStep("format", {"path": intent.path})


def _step_rename_by_text(intent: RenameIntent, now: StepContext) -> NextStep:
    if not now.stage:
        search: dict[str, Json] = {
            "pattern": read_steps.whole_word_pattern(intent.old),
            "case": "sensitive",
            "limit": MAX_CHANGES + 1,
        }
        return ToolStep("search", search | {"path": intent.path or "."})
    hits, count, files = answers.parse_hits(now.results[0].text)
    if not count:
        return AnswerStep(now.say("absent", name=intent.old))
    if now.stage == 2:
        return _answer_changed(intent.old, intent.new, hits, files, now)
    word = re.compile(read_steps.whole_word_pattern(intent.old))
    return _step_patch(hits, count, lambda line: word.sub(lambda match: intent.new, line), now)


def _answer_changed(old: str, new: str, hits: Sequence[SearchHit], files: int, now: StepContext) -> NextStep:
    text = now.say("renamed", old=old, new=new, count=len(hits), files=files)
    lines_by_path: dict[str, list[str]] = {}
    for hit in hits:
        lines_by_path.setdefault(hit.path, []).append(str(hit.line))
    rows = [f"- `{path}`: {', '.join(lines[:20])}" for path, lines in lines_by_path.items()]
    return AnswerStep("\n".join([text, *rows]))


def _step_patch(
    hits: Sequence[SearchHit], count: int, change: Callable[[str], str], now: StepContext
) -> NextStep:
    if count > MAX_CHANGES or len(hits) < count:
        return AnswerStep(now.say("too_many", count=count))
    if long := [hit for hit in hits if hit.is_cut]:
        return AnswerStep(f"{now.say('too_long')}\n{answers.format_places(long)}")
    return ToolStep("apply_patch", {"patch": build_patch(hits, change)})


def build_patch(hits: Sequence[SearchHit], change: Callable[[str], str]) -> str:
    """A unified diff that changes each line of `hits`, with one hunk per line."""
    lines: list[str] = []
    path = ""
    for hit in hits:
        if hit.path != path:
            lines += [f"--- a/{hit.path}", f"+++ b/{hit.path}"]
            path = hit.path
        lines += [f"@@ -{hit.line} +{hit.line} @@", f"-{hit.text}", f"+{change(hit.text)}"]
    return "\n".join(lines) + "\n"


def step_create(intent: CreateIntent, now: StepContext) -> NextStep:
    if not now.stage and not intent.overwrite:
        return ToolStep("glob", {"pattern": intent.path})
    if now.stage and now.last.name == "write":
        return AnswerStep(now.say("created", path=intent.path))
    if now.stage and intent.path in parse_paths(now.last.text):
        return AnswerStep(now.say("exists", path=intent.path))
    return ToolStep("write", {"path": intent.path, "content": intent.content})


def step_delete(intent: DeleteIntent, now: StepContext) -> NextStep:
    if not now.stage:
        return ToolStep("delete", {"path": intent.path})
    return _suggest_path(intent.path, now) or AnswerStep(now.say("deleted", path=intent.path))


def step_move(intent: MoveIntent, now: StepContext) -> NextStep:
    if not now.stage:
        return ToolStep("move", {"path": intent.path, "to": intent.to})
    return _suggest_path(intent.path, now) or AnswerStep(now.say("moved", path=intent.path, to=intent.to))


def _suggest_path(path: str, now: StepContext) -> NextStep | None:
    """For a `path` that does not exist: search for files of that name and list them. None is changed."""
    if not now.results[0].is_error:
        return None
    fault = answers.format_fault(now.results[0], now.language)
    if now.stage == 1 and re.search(r"does not exist|no such file|not found", now.last.text, re.I):
        return ToolStep("glob", {"pattern": f"**/{path.rstrip('/').rsplit('/', 1)[-1]}"})
    paths = parse_paths(now.last.text) if now.stage == 2 else ()
    if not paths:
        return AnswerStep(fault)
    listed = "\n".join(f"- `{found}`" for found in paths[:20])
    return AnswerStep(f"{fault}\n{now.say('meant')}\n{listed}")


def step_shell(intent: ShellIntent, now: StepContext) -> NextStep:
    if not now.stage:
        return ToolStep("shell", {"command": intent.command, "seconds": SHELL_SECONDS})
    return AnswerStep(f"`$ {intent.command}`\n{answers.fence(now.last.text)}")


def step_todo(intent: TodoIntent, now: StepContext) -> NextStep:
    rows = [*now.rows]
    if not now.stage and intent.rows:
        rows += [(text, "pending") for text in intent.rows]
        return ToolStep("todo", {"rows": _todo_arguments(rows)})
    if not now.stage and intent.done:
        query = intent.done.casefold()
        matching = [text for text, _ in rows if query in text.casefold()]
        if len(matching) != 1:
            return AnswerStep(f"{now.say('no_done', name=intent.done)}\n{_format_todo(rows)}".rstrip())
        rows = [(text, "completed" if text == matching[0] else status) for text, status in rows]
        return ToolStep("todo", {"rows": _todo_arguments(rows)})
    if not rows:
        return AnswerStep(now.say("no_todo"))
    return AnswerStep(f"{now.say('todo')}\n{_format_todo(rows)}")


def _todo_arguments(rows: Sequence[tuple[str, str]]) -> Json:
    return [{"text": text, "status": status} for text, status in rows]


def _format_todo(rows: Sequence[tuple[str, str]]) -> str:
    signs = {"completed": "x", "in_progress": "~"}
    return "\n".join(f"- [{signs.get(status, ' ')}] {text}" for text, status in rows)
