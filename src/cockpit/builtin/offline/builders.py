"""From what a phrase captured to an intent, or None where the parts do not make one after all.

A phrase that changes something is strict: a path must look like one, old and new must both be there.
"""

import re
from collections.abc import Mapping
from typing import Literal

from cockpit.builtin.offline.intents import (
    Chat,
    Create,
    Delete,
    Find,
    FindFile,
    Git,
    Help,
    Intent,
    ListFolder,
    Map,
    Move,
    Rename,
    Replace,
    RunTests,
    Shell,
    Show,
    Todo,
)
from cockpit.builtin.offline.naming import NAME, SOURCE, define, explain, formatted, outline, problems, uses
from cockpit.builtin.offline.phrases import Build, Parts

PLACE = re.compile(r"(.+?)(?::|#L)(\d+)(?:(?:-|–|:|\.\.)L?(\d+))?")
KINDS = {
    "python": "*.py",
    "javascript": "*.{js,mjs,cjs,jsx}",
    "typescript": "*.{ts,tsx}",
    "markdown": "*.md",
    "rust": "*.rs",
    "go": "*.go",
    "java": "*.java",
    "json": "*.json",
    "yaml": "*.{yml,yaml}",
    "toml": "*.toml",
    "test": "*test*",
    "测试": "*test*",
}


def find(parts: Parts) -> Intent | None:
    text, is_quoted, regex = parts["x"], parts.is_quoted("x"), parts.has("regex")
    if not text.strip() or "\n" in text or (not is_quoted and len(text.split()) > 12):
        return None
    # /x/ is a regular expression, /etc/hosts a text.
    if not is_quoted and (slashed := re.fullmatch(r"/([^/].*)/", text)):
        text, regex = slashed[1], True
    path, glob = _where(parts["path"].removeprefix("@"), parts.is_quoted("path"))
    return Find(text, path, glob, regex)


def _where(place: str, is_quoted: bool = False) -> tuple[str, str]:
    """A place to search as path and glob: `*.py`, `src/`, `python files`."""
    word = place.strip().rstrip("?.!")
    if not is_quoted:
        word = re.sub(
            r"\s+(?:files?|code)$|文件$|^(?:the )?(?:file|folder|directory) |^the ", "", word, flags=re.I
        )
        if word.lower() in ("project", "repo", "repository", "code", "codebase", "files", "项目", "代码"):
            return "", ""
        if word.lower() in KINDS:
            return "", KINDS[word.lower()]
    return ("", word) if "*" in word or "{" in word else (word, "")


def todos(parts: Parts) -> Intent | None:
    return Find(r"\b(TODO|FIXME|XXX|HACK)\b", *_where(parts["path"], parts.is_quoted("path")), regex=True)


def show(parts: Parts) -> Intent | None:
    path = parts.path()
    if path is None:
        return None
    start, end = parts.number("a"), parts.number("b")
    if head := parts.number("head"):
        start, end = 1, head
    if not parts.is_quoted("path") and (found := PLACE.fullmatch(path)):
        path, start, end = found[1], int(found[2][:9]), int((found[3] or "0")[:9])
    start, end = (end, start) if 0 < end < start else (start, end or start)
    if path.endswith(("/", "\\")) and not start:
        return ListFolder(path.rstrip("/\\") or "/")
    return Show(path, start, end, parts.number("tail"))


def ends(parts: Parts) -> Intent | None:
    path, count = parts.path(), parts.number("n") or 10
    if path is None:
        return None
    is_tail = parts["end"].lower() in ("tail", "last", "end", "final", "bottom", "最后", "后", "末尾", "末")
    return Show(path, tail=count) if is_tail else Show(path, 1, count)


def project(parts: Parts) -> Intent | None:
    return Map()


def folder(parts: Parts) -> Intent | None:
    if not parts.has("path"):
        return ListFolder()
    value = parts["path"].removeprefix("@")
    if "\n" in value or (re.search(r"\s", value) and not parts.is_quoted("path")):
        return None
    return ListFolder(value.rstrip("/") or "/")


def file(parts: Parts) -> Intent | None:
    word = parts.word("x")
    return FindFile(word.rstrip("?").removeprefix("@")) if word else None


def files_of(parts: Parts) -> Intent | None:
    return FindFile(KINDS[kind]) if (kind := parts["x"].lower()) in KINDS else None


def _git(what: Literal["status", "diff", "log", "show"], staged: bool = False) -> Build:
    def build(parts: Parts) -> Intent | None:
        path = parts.path() if parts.has("path") else ""
        if path is None or parts["ref"].startswith("-"):
            return None
        return Git(what, path, parts["ref"], 0, parts.number("n"), staged)

    return build


def blame(parts: Parts) -> Intent | None:
    path, line = parts.path(), parts.number("line")
    if path is None:
        return None
    if not parts.is_quoted("path") and (found := PLACE.fullmatch(path)):
        path, line = found[1], int(found[2][:9])
    return Git("blame", path, line=line)


def tests(parts: Parts) -> Intent | None:
    value = parts["path"].removeprefix("@")
    if "\n" in value or value.startswith("-") or (re.search(r"\s", value) and not parts.is_quoted("path")):
        return None
    return RunTests("" if value.lower() in ("everything", "all", "again", "project", "the") else value)


def shell(parts: Parts) -> Intent | None:
    command = parts["x"]
    return Shell(command) if command.strip() and "\n" not in command.strip() else None


def replace(parts: Parts) -> Intent | None:
    old, new, place = parts["old"], parts["new"], parts["path"].removeprefix("@")
    if not old or old == new or not (parts.has("new") or parts.is_quoted("new")):
        return None
    everywhere = parts.has("all") or parts.has("everywhere")
    if not parts.has("path"):
        return Replace(old, new, all=everywhere)
    path, glob = _where(place, parts.is_quoted("path"))
    if glob:
        return Replace(old, new, "", glob, True)
    if not path:
        return Replace(old, new, all=everywhere)
    known = parts.path()
    return Replace(old, new, known.rstrip("?.!"), "", everywhere) if known else None


def create(parts: Parts) -> Intent | None:
    path = parts.path()
    if path is None or path.endswith("/") or re.search(r"[*?]", path):
        return None
    content = parts["content"]
    if parts.has("content") and content and not content.endswith("\n"):
        content += "\n"
    return Create(path, content, parts.has("over"))


def rename(parts: Parts) -> Intent | None:
    old, new = parts.word("old"), parts.word("new")
    if not old or not new or old == new:
        return None
    is_file = parts.has("file") or ("/" in old or bool(SOURCE.search(old)))
    if is_file and not parts.has("symbol"):
        return Move(old.removeprefix("@"), new.removeprefix("@"))
    if not NAME.fullmatch(old) or not NAME.fullmatch(new):
        return None
    path = parts.path() if parts.has("path") else ""
    return None if path is None else Rename(old, new, path)


def move(parts: Parts) -> Intent | None:
    path, to = parts.path("path"), parts.path("to")
    return Move(path, to) if path and to else None


def delete(parts: Parts) -> Intent | None:
    path = parts.path()
    if path is None and parts.has("file"):
        path = parts.word("path")
    return Delete(path) if path and not re.search(r"[*?]", path) else None


def todo(parts: Parts) -> Intent | None:
    rows = tuple(row.strip(" -*") for row in re.split(r"[,，;；、\n]", parts["x"]))
    rows = tuple(row for row in rows if row)
    return Todo(rows) if rows else None


def done(parts: Parts) -> Intent | None:
    return Todo(done=parts["x"]) if parts["x"] else None


BUILDERS: Mapping[str, Build] = {
    "help": lambda parts: Help(),
    "hello": lambda parts: Chat("hello"),
    "thanks": lambda parts: Chat("thanks"),
    "who": lambda parts: Chat("who"),
    "bye": lambda parts: Chat("bye"),
    "project": project,
    "explain": explain,
    "define": define,
    "uses": uses,
    "find": find,
    "todos": todos,
    "show": show,
    "ends": ends,
    "outline": outline,
    "problems": problems,
    "format": formatted,
    "folder": folder,
    "file": file,
    "files_of": files_of,
    "status": _git("status"),
    "diff": _git("diff"),
    "staged": _git("diff", True),
    "log": _git("log"),
    "commit": _git("show"),
    "blame": blame,
    "tests": tests,
    "shell": shell,
    "replace": replace,
    "create": create,
    "rename": rename,
    "move": move,
    "delete": delete,
    "todo": todo,
    "todo_list": lambda parts: Todo(),
    "done": done,
}
