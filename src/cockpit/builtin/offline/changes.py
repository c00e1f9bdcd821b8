"""Next steps of the intents that change files, run a command or keep the list.

A text that stands in several places is changed only where all of them were asked for; several files
are changed by one patch, so that one approval shows them all.
"""

import re
from collections.abc import Callable, Sequence

from cockpit.builtin.offline import answers, patterns
from cockpit.builtin.offline.answers import Hit
from cockpit.builtin.offline.intents import Create, Delete, Format, Move, Rename, Replace, Shell, Todo
from cockpit.builtin.offline.outcome import Do, Say, Situation, Step
from cockpit.builtin.offline.reading import paths_in
from cockpit.protocol.messages import Json

MOST = 500
AMBIGUOUS = re.compile(r" is defined \d+ times: ")
SECONDS = 600


def replace(intent: Replace, now: Situation) -> Step:
    if "\n" in intent.old and not now.stage:
        # A text of several lines cannot be searched for; `edit` itself refuses it if it is not unique.
        return Do("edit", _edit(intent, intent.path)) if intent.path else Say(now.say("no_file", name="?"))
    if not now.stage:
        wanted: dict[str, Json] = {
            "pattern": intent.old,
            "literal": True,
            "case": "sensitive",
            "limit": MOST + 1,
        }
        return Do(
            "search", wanted | {"path": intent.path or "."} | ({"glob": intent.glob} if intent.glob else {})
        )
    if now.stage == 2 or "\n" in intent.old:
        return _replaced(intent, now)
    hits, count, files = answers.hits_in(now.last.text)
    if not count:
        return Say(now.say("absent", name=intent.old))
    occurrences = sum(max(hit.text.count(intent.old), 1) for hit in hits) + count - len(hits)
    if occurrences > 1 and not intent.all:
        said = now.say("many", old=intent.old, new=intent.new, count=occurrences)
        return Say(f"{said}\n{answers.places(hits)}")
    if files == 1:
        return Do("edit", _edit(intent, hits[0].path))
    return _patch(hits, count, lambda line: line.replace(intent.old, intent.new), now)


def _edit(intent: Replace, path: str) -> dict[str, Json]:
    arguments: dict[str, Json] = {"path": path, "old": intent.old, "new": intent.new}
    return arguments | ({"replace_all": True} if intent.all else {})


def _replaced(intent: Replace, now: Situation) -> Step:
    hits, _, files = answers.hits_in(now.results[0].text)
    if files > 1:
        return _changed(intent.old, intent.new, hits, files, now)
    path = hits[0].path if hits else intent.path
    lines = "\n".join(f"- `{hit.place}`" for hit in hits[:20])
    return Say(f"{now.say('replaced', old=intent.old, new=intent.new, path=f'`{path}`')}\n{lines}".rstrip())


def rename(intent: Rename, now: Situation) -> Step:
    """By the symbol's language server; as text where none can."""
    if not now.stage:
        symbol = f"{intent.path}:{intent.old}" if intent.path and "." in intent.path else intent.old
        return Do("rename", {"symbol": symbol, "to": intent.new})
    first = now.results[0]
    if not first.is_error:
        rows = [line for line in first.text.split("\n") if line.strip()]
        files = sum(line.startswith(("modified ", "moved ")) for line in rows)
        said = now.say("renamed_symbol", old=intent.old, new=intent.new, count=files)
        return Say("\n".join([said, *(f"- {line}" for line in rows)]))
    if answers.DENIED.match(first.text) or AMBIGUOUS.search(first.text):
        return Say(answers.fault(first, now.tongue))
    return _rename_by_text(intent, now.by_text())


def format_file(intent: Format, now: Situation) -> Step:
    return Say(now.last.text) if now.stage else Do("format", {"path": intent.path})


def _rename_by_text(intent: Rename, now: Situation) -> Step:
    if not now.stage:
        wanted: dict[str, Json] = {
            "pattern": patterns.whole_word(intent.old),
            "case": "sensitive",
            "limit": MOST + 1,
        }
        return Do("search", wanted | {"path": intent.path or "."})
    hits, count, files = answers.hits_in(now.results[0].text)
    if not count:
        return Say(now.say("absent", name=intent.old))
    if now.stage == 2:
        return _changed(intent.old, intent.new, hits, files, now)
    word = re.compile(patterns.whole_word(intent.old))
    return _patch(hits, count, lambda line: word.sub(lambda found: intent.new, line), now)


def _changed(old: str, new: str, hits: Sequence[Hit], files: int, now: Situation) -> Step:
    said = now.say("renamed", old=old, new=new, count=len(hits), files=files)
    listed: dict[str, list[str]] = {}
    for hit in hits:
        listed.setdefault(hit.path, []).append(str(hit.line))
    rows = [f"- `{path}`: {', '.join(lines[:20])}" for path, lines in listed.items()]
    return Say("\n".join([said, *rows]))


def _patch(hits: Sequence[Hit], count: int, change: Callable[[str], str], now: Situation) -> Step:
    if count > MOST or len(hits) < count:
        return Say(now.say("too_many", count=count))
    if long := [hit for hit in hits if hit.is_cut]:
        return Say(f"{now.say('too_long')}\n{answers.places(long)}")
    return Do("apply_patch", {"patch": unified(hits, change)})


def unified(hits: Sequence[Hit], change: Callable[[str], str]) -> str:
    """A unified diff that changes each line of `hits`, one hunk a line."""
    lines: list[str] = []
    path = ""
    for hit in hits:
        if hit.path != path:
            lines += [f"--- a/{hit.path}", f"+++ b/{hit.path}"]
            path = hit.path
        lines += [f"@@ -{hit.line} +{hit.line} @@", f"-{hit.text}", f"+{change(hit.text)}"]
    return "\n".join(lines) + "\n"


def create(intent: Create, now: Situation) -> Step:
    if not now.stage and not intent.overwrite:
        return Do("glob", {"pattern": intent.path})
    if now.stage == 1 and not intent.overwrite:
        if intent.path in paths_in(now.last.text):
            return Say(now.say("exists", path=intent.path))
        return Do("write", {"path": intent.path, "content": intent.content})
    if not now.stage:
        return Do("write", {"path": intent.path, "content": intent.content})
    return Say(now.say("created", path=intent.path))


def delete(intent: Delete, now: Situation) -> Step:
    if not now.stage:
        return Do("delete", {"path": intent.path})
    return _elsewhere(intent.path, now) or Say(now.say("deleted", path=intent.path))


def move(intent: Move, now: Situation) -> Step:
    if not now.stage:
        return Do("move", {"path": intent.path, "to": intent.to})
    return _elsewhere(intent.path, now) or Say(now.say("moved", path=intent.path, to=intent.to))


def _elsewhere(path: str, now: Situation) -> Step | None:
    """Where a file that is not at `path` may be meant: looked for, then listed; never taken."""
    if not now.results[0].is_error:
        return None
    told = answers.fault(now.results[0], now.tongue)
    if now.stage == 1 and re.search(r"does not exist|no such file|not found", now.last.text, re.I):
        return Do("glob", {"pattern": f"**/{path.rstrip('/').rsplit('/', 1)[-1]}"})
    paths = paths_in(now.last.text) if now.stage == 2 else ()
    if not paths:
        return Say(told)
    listed = "\n".join(f"- `{one}`" for one in paths[:20])
    return Say(f"{told}\n{now.say('meant')}\n{listed}")


def shell(intent: Shell, now: Situation) -> Step:
    if not now.stage:
        return Do("shell", {"command": intent.command, "seconds": SECONDS})
    return Say(f"`$ {intent.command}`\n{answers.fenced(now.last.text)}")


def todo(intent: Todo, now: Situation) -> Step:
    rows = [*now.rows]
    if not now.stage and intent.rows:
        rows += [(text, "pending") for text in intent.rows]
        return Do("todo", {"rows": _rows(rows)})
    if not now.stage and intent.done:
        wanted = intent.done.casefold()
        matching = [text for text, _ in rows if wanted in text.casefold()]
        if len(matching) != 1:
            return Say(f"{now.say('no_done', name=intent.done)}\n{_listed(rows)}".rstrip())
        rows = [(text, "completed" if text == matching[0] else status) for text, status in rows]
        return Do("todo", {"rows": _rows(rows)})
    if not rows:
        return Say(now.say("no_todo"))
    return Say(f"{now.say('todo')}\n{_listed(rows)}")


def _rows(rows: Sequence[tuple[str, str]]) -> Json:
    return [{"text": text, "status": status} for text, status in rows]


def _listed(rows: Sequence[tuple[str, str]]) -> str:
    signs = {"completed": "x", "in_progress": "~"}
    return "\n".join(f"- [{signs.get(status, ' ')}] {text}" for text, status in rows)
