"""Builders of what is asked about code by name or file: definitions, uses, outlines, problems.

From what a phrase captured to an intent, or None where the parts do not make one after all.

A phrase that changes something is strict: a path must look like one, old and new must both be there.
"""

import re
from collections.abc import Mapping
from typing import Literal

from cockpit.builtin.models.offline.grammar import Captures, IntentBuilder
from cockpit.builtin.models.offline.intents import (
    ChatIntent,
    CreateIntent,
    DefineIntent,
    DeleteIntent,
    FindFileIntent,
    FindIntent,
    FormatIntent,
    GitIntent,
    HelpIntent,
    Intent,
    ListFolderIntent,
    MapIntent,
    MoveIntent,
    OutlineIntent,
    ProblemsIntent,
    RenameIntent,
    ReplaceIntent,
    RunTestsIntent,
    ShellIntent,
    ShowIntent,
    TodoIntent,
    UsesIntent,
)

PRONOUNS = frozenset(
    ("it", "this", "that", "everything", "here", "there", "them", "it's", "它", "这", "这个", "那个", "什么")
)
SOURCE_FILE = re.compile(
    r"\.(py|js|mjs|ts|tsx|jsx|go|rs|md|toml|json|ya?ml|c|h|cc|cpp|java|txt|sh|cfg|ini|css|html)$", re.I
)
CODE_NAME = re.compile(r"[^\W\d][\w$]*(?:[.:#-]+[\w$]+)*", re.U)


def build_define(parts: Captures) -> Intent | None:
    word = parts.word("x")
    # `os.path` is a name, `paths.py` a file.
    if word and not parts.is_quoted("x") and ("/" in word or SOURCE_FILE.search(word)):
        return FindFileIntent(word)
    return DefineIntent(word) if (word := _captured_name(parts)) else None


def build_uses(parts: Captures) -> Intent | None:
    return UsesIntent(word) if (word := _captured_name(parts)) else None


def build_explain(parts: Captures) -> Intent | None:
    path = parts.path()
    if path is None:
        return None
    is_folder = path.endswith("/") or "." not in path.rstrip("/").rsplit("/", 1)[-1]
    return MapIntent(path.rstrip("/") or "/") if is_folder else OutlineIntent(path)


def build_outline(parts: Captures) -> Intent | None:
    return OutlineIntent(path) if (path := parts.path()) else None


def build_problems(parts: Captures) -> Intent | None:
    if not parts.has("path"):
        return ProblemsIntent()
    return ProblemsIntent(path.rstrip("?/")) if (path := parts.path()) else None


def build_format(parts: Captures) -> Intent | None:
    return FormatIntent(path) if (path := parts.path()) and not re.search(r"[*?]", path) else None


def _captured_name(parts: Captures) -> str | None:
    word = parts.word("x")
    if word is None or word.lower() in PRONOUNS:
        return None
    return word if parts.is_quoted("x") or CODE_NAME.fullmatch(word) else None


FILE_PLACE = re.compile(r"(.+?)(?::|#L)(\d+)(?:(?:-|–|:|\.\.)L?(\d+))?")
FILE_KINDS = {
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


def build_find(parts: Captures) -> Intent | None:
    text, is_quoted, regex = parts["x"], parts.is_quoted("x"), parts.has("regex")
    if not text.strip() or "\n" in text or (not is_quoted and len(text.split()) > 12):
        return None
    # /x/ is a regular expression, /etc/hosts a text.
    if not is_quoted and (slashed := re.fullmatch(r"/([^/].*)/", text)):
        text, regex = slashed[1], True
    path, glob = _split_place(parts["path"].removeprefix("@"), parts.is_quoted("path"))
    return FindIntent(text, path, glob, regex)


def _split_place(place: str, is_quoted: bool = False) -> tuple[str, str]:
    """A place to search as path and glob: `*.py`, `src/`, `python files`."""
    word = place.strip().rstrip("?.!")
    if not is_quoted:
        word = re.sub(
            r"\s+(?:files?|code)$|文件$|^(?:the )?(?:file|folder|directory) |^the ", "", word, flags=re.I
        )
        if word.lower() in ("project", "repo", "repository", "code", "codebase", "files", "项目", "代码"):
            return "", ""
        if word.lower() in FILE_KINDS:
            return "", FILE_KINDS[word.lower()]
    return ("", word) if "*" in word or "{" in word else (word, "")


def build_find_todos(parts: Captures) -> Intent | None:
    return FindIntent(
        r"\b(TODO|FIXME|XXX|HACK)\b", *_split_place(parts["path"], parts.is_quoted("path")), regex=True
    )


def build_show(parts: Captures) -> Intent | None:
    path = parts.path()
    if path is None:
        return None
    start, end = parts.number("a"), parts.number("b")
    if head := parts.number("head"):
        start, end = 1, head
    if not parts.is_quoted("path") and (found := FILE_PLACE.fullmatch(path)):
        path, start, end = found[1], int(found[2][:9]), int((found[3] or "0")[:9])
    start, end = (end, start) if 0 < end < start else (start, end or start)
    if path.endswith(("/", "\\")) and not start:
        return ListFolderIntent(path.rstrip("/\\") or "/")
    return ShowIntent(path, start, end, parts.number("tail"))


def build_show_ends(parts: Captures) -> Intent | None:
    path, count = parts.path(), parts.number("n") or 10
    if path is None:
        return None
    is_tail = parts["end"].lower() in ("tail", "last", "end", "final", "bottom", "最后", "后", "末尾", "末")
    return ShowIntent(path, tail=count) if is_tail else ShowIntent(path, 1, count)


def build_map(parts: Captures) -> Intent | None:
    return MapIntent()


def build_list_folder(parts: Captures) -> Intent | None:
    if not parts.has("path"):
        return ListFolderIntent()
    value = parts["path"].removeprefix("@")
    if "\n" in value or (re.search(r"\s", value) and not parts.is_quoted("path")):
        return None
    return ListFolderIntent(value.rstrip("/") or "/")


def build_find_file(parts: Captures) -> Intent | None:
    word = parts.word("x")
    return FindFileIntent(word.rstrip("?").removeprefix("@")) if word else None


def build_find_kind(parts: Captures) -> Intent | None:
    return FindFileIntent(FILE_KINDS[kind]) if (kind := parts["x"].lower()) in FILE_KINDS else None


def _git_builder(what: Literal["status", "diff", "log", "show"], staged: bool = False) -> IntentBuilder:
    def build(parts: Captures) -> Intent | None:
        path = parts.path() if parts.has("path") else ""
        if path is None or parts["ref"].startswith("-"):
            return None
        return GitIntent(what, path, parts["ref"], 0, parts.number("n"), staged)

    return build


def build_blame(parts: Captures) -> Intent | None:
    path, line = parts.path(), parts.number("line")
    if path is None:
        return None
    if not parts.is_quoted("path") and (found := FILE_PLACE.fullmatch(path)):
        path, line = found[1], int(found[2][:9])
    return GitIntent("blame", path, line=line)


def build_run_tests(parts: Captures) -> Intent | None:
    value = parts["path"].removeprefix("@")
    if "\n" in value or value.startswith("-") or (re.search(r"\s", value) and not parts.is_quoted("path")):
        return None
    return RunTestsIntent("" if value.lower() in ("everything", "all", "again", "project", "the") else value)


def build_shell(parts: Captures) -> Intent | None:
    command = parts["x"]
    return ShellIntent(command) if command.strip() and "\n" not in command.strip() else None


def build_replace(parts: Captures) -> Intent | None:
    old, new, place = parts["old"], parts["new"], parts["path"].removeprefix("@")
    if not old or old == new or not (parts.has("new") or parts.is_quoted("new")):
        return None
    everywhere = parts.has("all") or parts.has("everywhere")
    if not parts.has("path"):
        return ReplaceIntent(old, new, all=everywhere)
    path, glob = _split_place(place, parts.is_quoted("path"))
    if glob:
        return ReplaceIntent(old, new, "", glob, True)
    if not path:
        return ReplaceIntent(old, new, all=everywhere)
    known = parts.path()
    return ReplaceIntent(old, new, known.rstrip("?.!"), "", everywhere) if known else None


def build_create(parts: Captures) -> Intent | None:
    path = parts.path()
    if path is None or path.endswith("/") or re.search(r"[*?]", path):
        return None
    content = parts["content"]
    if parts.has("content") and content and not content.endswith("\n"):
        content += "\n"
    return CreateIntent(path, content, parts.has("over"))


def build_rename(parts: Captures) -> Intent | None:
    old, new = parts.word("old"), parts.word("new")
    if not old or not new or old == new:
        return None
    is_file = parts.has("file") or ("/" in old or bool(SOURCE_FILE.search(old)))
    if is_file and not parts.has("symbol"):
        return MoveIntent(old.removeprefix("@"), new.removeprefix("@"))
    if not CODE_NAME.fullmatch(old) or not CODE_NAME.fullmatch(new):
        return None
    path = parts.path() if parts.has("path") else ""
    return None if path is None else RenameIntent(old, new, path)


def build_move(parts: Captures) -> Intent | None:
    path, to = parts.path("path"), parts.path("to")
    return MoveIntent(path, to) if path and to else None


def build_delete(parts: Captures) -> Intent | None:
    path = parts.path()
    if path is None and parts.has("file"):
        path = parts.word("path")
    return DeleteIntent(path) if path and not re.search(r"[*?]", path) else None


def build_todo(parts: Captures) -> Intent | None:
    rows = tuple(row.strip(" -*") for row in re.split(r"[,，;；、\n]", parts["x"]))
    rows = tuple(row for row in rows if row)
    return TodoIntent(rows) if rows else None


def build_todo_done(parts: Captures) -> Intent | None:
    return TodoIntent(done=parts["x"]) if parts["x"] else None


BUILDERS: Mapping[str, IntentBuilder] = {
    "help": lambda parts: HelpIntent(),
    "hello": lambda parts: ChatIntent("hello"),
    "thanks": lambda parts: ChatIntent("thanks"),
    "who": lambda parts: ChatIntent("who"),
    "bye": lambda parts: ChatIntent("bye"),
    "project": build_map,
    "explain": build_explain,
    "define": build_define,
    "uses": build_uses,
    "find": build_find,
    "todos": build_find_todos,
    "show": build_show,
    "ends": build_show_ends,
    "outline": build_outline,
    "problems": build_problems,
    "format": build_format,
    "folder": build_list_folder,
    "file": build_find_file,
    "files_of": build_find_kind,
    "status": _git_builder("status"),
    "diff": _git_builder("diff"),
    "staged": _git_builder("diff", True),
    "log": _git_builder("log"),
    "commit": _git_builder("show"),
    "blame": build_blame,
    "tests": build_run_tests,
    "shell": build_shell,
    "replace": build_replace,
    "create": build_create,
    "rename": build_rename,
    "move": build_move,
    "delete": build_delete,
    "todo": build_todo,
    "todo_list": lambda parts: TodoIntent(),
    "done": build_todo_done,
}
