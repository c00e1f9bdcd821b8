"""The intents that change files, run a command or edit the todo list.

A text that occurs several times is changed only if all occurrences were requested. Changes in several files
are made by one patch, so that one approval shows them all.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from cockpit.builtin.models.offline import answers
from cockpit.builtin.models.offline.answers import SearchHit
from cockpit.builtin.models.offline.intents import AnswerStep, Intent, NextStep, StepContext, ToolStep
from cockpit.builtin.models.offline.read_intents import parse_paths, whole_word_pattern
from cockpit.protocol.messages import Json

MAX_CHANGES = 500
AMBIGUOUS_SYMBOL = re.compile(r" is defined \d+ times: ")
SHELL_SECONDS = 600


@dataclass(frozen=True, slots=True)
class ReplaceIntent(Intent):
    """Replace every `old` if `all`, else only one that is unique."""

    changes: ClassVar[bool] = True
    old: str
    new: str
    path: str = ""
    glob: str = ""
    all: bool = False

    def step(self, now: StepContext) -> NextStep:
        if "\n" in self.old and not now.stage:
            # A text of several lines cannot be searched for; `edit` refuses it if it is not unique.
            return self._edit(self.path) if self.path else AnswerStep(now.say("no_file", name="?"))
        if not now.stage:
            return _search(self.old, self.path, self.glob, literal=True)
        if now.stage == 2 or "\n" in self.old:
            return self._answer(now)
        hits, count, files = answers.parse_hits(now.last.text)
        if not count:
            return AnswerStep(now.say("absent", name=self.old))
        occurrences = sum(max(hit.text.count(self.old), 1) for hit in hits) + count - len(hits)
        if occurrences > 1 and not self.all:
            text = now.say("many", old=self.old, new=self.new, count=occurrences)
            return AnswerStep(f"{text}\n{answers.format_places(hits)}")
        if files == 1:
            return self._edit(hits[0].path)
        return _step_patch(hits, count, lambda line: line.replace(self.old, self.new), now)

    def _edit(self, path: str) -> ToolStep:
        arguments: dict[str, Json] = {"path": path, "old": self.old, "new": self.new}
        return ToolStep("edit", arguments | ({"replace_all": True} if self.all else {}))

    def _answer(self, now: StepContext) -> NextStep:
        hits, _, files = answers.parse_hits(now.results[0].text)
        if files > 1:
            return _answer_changed(self.old, self.new, hits, files, now)
        path = hits[0].path if hits else self.path
        text = now.say("replaced", old=self.old, new=self.new, path=f"`{path}`")
        return AnswerStep("\n".join([text, *(f"- `{hit.place}`" for hit in hits[:20])]))


@dataclass(frozen=True, slots=True)
class RenameIntent(Intent):
    """Rename a symbol or a whole word in the code."""

    changes: ClassVar[bool] = True
    old: str
    new: str
    path: str = ""

    def handles_fault(self, now: StepContext) -> bool:
        return now.stage == 1

    def step(self, now: StepContext) -> NextStep:
        """Rename with the language server, or as text if that is not possible."""
        if not now.stage:
            symbol = f"{self.path}:{self.old}" if self.path and "." in self.path else self.old
            return ToolStep("rename", {"symbol": symbol, "to": self.new})
        first = now.results[0]
        if not first.is_error:
            rows = [line for line in first.text.split("\n") if line.strip()]
            files = sum(line.startswith(("modified ", "moved ")) for line in rows)
            text = now.say("renamed_symbol", old=self.old, new=self.new, count=files)
            return AnswerStep("\n".join([text, *(f"- {line}" for line in rows)]))
        if answers.DENIED_RESULT.match(first.text) or AMBIGUOUS_SYMBOL.search(first.text):
            return AnswerStep(answers.format_fault(first, now.language))
        return self._step_by_text(now.by_text())

    def _step_by_text(self, now: StepContext) -> NextStep:
        word = whole_word_pattern(self.old)
        if not now.stage:
            return _search(word, self.path)
        hits, count, files = answers.parse_hits(now.results[0].text)
        if not count:
            return AnswerStep(now.say("absent", name=self.old))
        if now.stage == 2:
            return _answer_changed(self.old, self.new, hits, files, now)
        return _step_patch(hits, count, lambda line: re.sub(word, lambda match: self.new, line), now)


@dataclass(frozen=True, slots=True)
class FormatIntent(Intent):
    changes: ClassVar[bool] = True
    path: str

    def step(self, now: StepContext) -> NextStep:
        return AnswerStep(now.last.text) if now.stage else ToolStep("format", {"path": self.path})


def _search(pattern: str, path: str, glob: str = "", literal: bool = False) -> ToolStep:
    arguments: dict[str, Json] = {"pattern": pattern, "case": "sensitive", "limit": MAX_CHANGES + 1}
    arguments["path"] = path or "."
    if glob:
        arguments["glob"] = glob
    return ToolStep("search", arguments | ({"literal": True} if literal else {}))


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
    """Change each line of `hits` by a unified diff with one hunk per line."""
    if count > MAX_CHANGES or len(hits) < count:
        return AnswerStep(now.say("too_many", count=count))
    if long := [hit for hit in hits if hit.is_cut]:
        return AnswerStep(f"{now.say('too_long')}\n{answers.format_places(long)}")
    lines: list[str] = []
    path = ""
    for hit in hits:
        if hit.path != path:
            lines += [f"--- a/{hit.path}", f"+++ b/{hit.path}"]
            path = hit.path
        lines += [f"@@ -{hit.line} +{hit.line} @@", f"-{hit.text}", f"+{change(hit.text)}"]
    return ToolStep("apply_patch", {"patch": "\n".join(lines) + "\n"})


@dataclass(frozen=True, slots=True)
class CreateIntent(Intent):
    changes: ClassVar[bool] = True
    path: str
    content: str = ""
    overwrite: bool = False

    def step(self, now: StepContext) -> NextStep:
        if not now.stage and not self.overwrite:
            return ToolStep("glob", {"pattern": self.path})
        if now.stage and now.last.name == "write":
            return AnswerStep(now.say("created", path=self.path))
        if now.stage and self.path in parse_paths(now.last.text):
            return AnswerStep(now.say("exists", path=self.path))
        return ToolStep("write", {"path": self.path, "content": self.content})


@dataclass(frozen=True, slots=True)
class DeleteIntent(Intent):
    changes: ClassVar[bool] = True
    path: str

    def handles_fault(self, now: StepContext) -> bool:
        return True

    def step(self, now: StepContext) -> NextStep:
        if not now.stage:
            return ToolStep("delete", {"path": self.path})
        return _suggest_path(self.path, now) or AnswerStep(now.say("deleted", path=self.path))


@dataclass(frozen=True, slots=True)
class MoveIntent(Intent):
    changes: ClassVar[bool] = True
    path: str
    to: str

    def handles_fault(self, now: StepContext) -> bool:
        return True

    def step(self, now: StepContext) -> NextStep:
        if not now.stage:
            return ToolStep("move", {"path": self.path, "to": self.to})
        return _suggest_path(self.path, now) or AnswerStep(now.say("moved", path=self.path, to=self.to))


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


@dataclass(frozen=True, slots=True)
class ShellIntent(Intent):
    changes: ClassVar[bool] = True
    command: str

    def handles_fault(self, now: StepContext) -> bool:
        # A command that ends with an error code has run: its output is the answer.
        return "[exit code" in now.last.text or "[stopped after" in now.last.text

    def step(self, now: StepContext) -> NextStep:
        if not now.stage:
            return ToolStep("shell", {"command": self.command, "seconds": SHELL_SECONDS})
        return AnswerStep(f"`$ {self.command}`\n{answers.fence(now.last.text)}")


@dataclass(frozen=True, slots=True)
class TodoIntent(Intent):
    """Add `rows` to the list, or mark `done`; neither: show it."""

    rows: tuple[str, ...] = ()
    done: str = ""

    def step(self, now: StepContext) -> NextStep:
        rows = now.todo_rows()
        if not now.stage and self.rows:
            return _write_todo([*rows, *((text, "pending") for text in self.rows)])
        if not now.stage and self.done:
            query = self.done.casefold()
            matching = [text for text, _ in rows if query in text.casefold()]
            if len(matching) != 1:
                return AnswerStep(f"{now.say('no_done', name=self.done)}\n{_format_todo(rows)}".rstrip())
            return _write_todo(
                [(text, "completed" if text == matching[0] else status) for text, status in rows]
            )
        return AnswerStep(f"{now.say('todo')}\n{_format_todo(rows)}" if rows else now.say("no_todo"))


def _write_todo(rows: Sequence[tuple[str, str]]) -> ToolStep:
    return ToolStep("todo", {"rows": [{"text": text, "status": status} for text, status in rows]})


def _format_todo(rows: Sequence[tuple[str, str]]) -> str:
    signs = {"completed": "x", "in_progress": "~"}
    return "\n".join(f"- [{signs.get(status, ' ')}] {text}" for text, status in rows)
