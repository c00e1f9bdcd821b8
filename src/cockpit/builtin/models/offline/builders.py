"""Builds an intent from what a phrase captured, or None if the captures do not make one.

Changes are strict: a path must look like a path, and a replacement needs both texts. `BUILDERS` maps the
`means` of a phrase in the TOML files to its builder.
"""

import re
from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from cockpit.builtin.models.offline import change_intents as changes
from cockpit.builtin.models.offline import read_intents as reads
from cockpit.builtin.models.offline.captures import Captures
from cockpit.builtin.models.offline.intents import ChatIntent, HelpIntent, Intent

TAIL_WORDS = ("tail", "last", "end", "final", "bottom", "最后", "后", "末尾", "末")
IntentBuilder: TypeAlias = Callable[[Captures], Intent | None]
PRONOUNS = frozenset(
    ("it", "this", "that", "everything", "here", "there", "them", "it's", "它", "这", "这个", "那个", "什么")
)
SOURCE_FILE = re.compile(
    r"\.(py|js|mjs|ts|tsx|jsx|go|rs|md|toml|json|ya?ml|c|h|cc|cpp|java|txt|sh|cfg|ini|css|html)$", re.I
)
CODE_NAME = re.compile(r"[^\W\d][\w$]*(?:[.:#-]+[\w$]+)*", re.U)
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


def build_define(captures: Captures) -> Intent | None:
    word = captures.word("x")
    # `os.path` is a name, `paths.py` is a file.
    if word and not captures.is_quoted("x") and ("/" in word or SOURCE_FILE.search(word)):
        return reads.FindFileIntent(word)
    return reads.DefineIntent(word) if (word := _captured_name(captures)) else None


def build_explain(captures: Captures) -> Intent | None:
    path = captures.path()
    if path is None:
        return None
    is_folder = path.endswith("/") or "." not in path.rstrip("/").rsplit("/", 1)[-1]
    return reads.MapIntent(path.rstrip("/") or "/") if is_folder else reads.OutlineIntent(path)


def build_problems(captures: Captures) -> Intent | None:
    if not captures.has("path"):
        return reads.ProblemsIntent()
    return reads.ProblemsIntent(path.rstrip("?/")) if (path := captures.path()) else None


def _captured_name(captures: Captures) -> str | None:
    word = captures.word("x")
    if word is None or word.lower() in PRONOUNS:
        return None
    return word if captures.is_quoted("x") or CODE_NAME.fullmatch(word) else None


def build_find(captures: Captures) -> Intent | None:
    text, is_quoted, regex = captures["x"], captures.is_quoted("x"), captures.has("regex")
    if not text.strip() or "\n" in text or (not is_quoted and len(text.split()) > 12):
        return None
    # /x/ is a regular expression, /etc/hosts is text.
    if not is_quoted and (slashed := re.fullmatch(r"/([^/].*)/", text)):
        text, regex = slashed[1], True
    path, glob = _split_place(captures["path"].removeprefix("@"), captures.is_quoted("path"))
    return reads.FindIntent(text, path, glob, regex)


def _split_place(place: str, is_quoted: bool = False) -> tuple[str, str]:
    """Where to search (`*.py`, `src/`, `python files`), as path and glob."""
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


def build_find_todos(captures: Captures) -> Intent | None:
    return reads.FindIntent(
        r"\b(TODO|FIXME|XXX|HACK)\b", *_split_place(captures["path"], captures.is_quoted("path")), regex=True
    )


def build_show(captures: Captures) -> Intent | None:
    path = captures.path()
    if path is None:
        return None
    start, end = captures.number("a"), captures.number("b")
    if head := captures.number("head"):
        start, end = 1, head
    if not captures.is_quoted("path") and (match := FILE_PLACE.fullmatch(path)):
        path, start, end = match[1], int(match[2][:9]), int((match[3] or "0")[:9])
    start, end = (end, start) if 0 < end < start else (start, end or start)
    if path.endswith(("/", "\\")) and not start:
        return reads.ListFolderIntent(path.rstrip("/\\") or "/")
    return reads.ShowIntent(path, start, end, captures.number("tail"))


def build_show_ends(captures: Captures) -> Intent | None:
    path, count = captures.path(), captures.number("n") or 10
    if path is None:
        return None
    is_tail = captures["end"].lower() in TAIL_WORDS
    return reads.ShowIntent(path, tail=count) if is_tail else reads.ShowIntent(path, 1, count)


def build_list_folder(captures: Captures) -> Intent | None:
    if not captures.has("path"):
        return reads.ListFolderIntent()
    value = captures["path"].removeprefix("@")
    if "\n" in value or (re.search(r"\s", value) and not captures.is_quoted("path")):
        return None
    return reads.ListFolderIntent(value.rstrip("/") or "/")


def build_find_file(captures: Captures) -> Intent | None:
    word = captures.word("x")
    return reads.FindFileIntent(word.rstrip("?").removeprefix("@")) if word else None


def _git_builder(what: Literal["status", "diff", "log", "show"], staged: bool = False) -> IntentBuilder:
    def build(captures: Captures) -> Intent | None:
        path = captures.path() if captures.has("path") else ""
        if path is None or captures["ref"].startswith("-"):
            return None
        return reads.GitIntent(what, path, captures["ref"], 0, captures.number("n"), staged)

    return build


def build_blame(captures: Captures) -> Intent | None:
    path, line = captures.path(), captures.number("line")
    if path is None:
        return None
    if not captures.is_quoted("path") and (match := FILE_PLACE.fullmatch(path)):
        path, line = match[1], int(match[2][:9])
    return reads.GitIntent("blame", path, line=line)


def build_run_tests(captures: Captures) -> Intent | None:
    value = captures["path"].removeprefix("@")
    if "\n" in value or value.startswith("-") or (re.search(r"\s", value) and not captures.is_quoted("path")):
        return None
    return reads.RunTestsIntent(
        "" if value.lower() in ("everything", "all", "again", "project", "the") else value
    )


def build_shell(captures: Captures) -> Intent | None:
    command = captures["x"]
    return changes.ShellIntent(command) if command.strip() and "\n" not in command.strip() else None


def build_replace(captures: Captures) -> Intent | None:
    old, new, place = captures["old"], captures["new"], captures["path"].removeprefix("@")
    if not old or old == new or not (captures.has("new") or captures.is_quoted("new")):
        return None
    everywhere = captures.has("all") or captures.has("everywhere")
    if not captures.has("path"):
        return changes.ReplaceIntent(old, new, all=everywhere)
    path, glob = _split_place(place, captures.is_quoted("path"))
    if glob:
        return changes.ReplaceIntent(old, new, "", glob, True)
    if not path:
        return changes.ReplaceIntent(old, new, all=everywhere)
    literal_path = captures.path()
    return (
        changes.ReplaceIntent(old, new, literal_path.rstrip("?.!"), "", everywhere) if literal_path else None
    )


def build_create(captures: Captures) -> Intent | None:
    path = captures.path()
    if path is None or path.endswith("/") or re.search(r"[*?]", path):
        return None
    content = captures["content"]
    if captures.has("content") and content and not content.endswith("\n"):
        content += "\n"
    return changes.CreateIntent(path, content, captures.has("over"))


def build_rename(captures: Captures) -> Intent | None:
    old, new = captures.word("old"), captures.word("new")
    if not old or not new or old == new:
        return None
    is_file = captures.has("file") or ("/" in old or bool(SOURCE_FILE.search(old)))
    if is_file and not captures.has("symbol"):
        return changes.MoveIntent(old.removeprefix("@"), new.removeprefix("@"))
    if not CODE_NAME.fullmatch(old) or not CODE_NAME.fullmatch(new):
        return None
    path = captures.path() if captures.has("path") else ""
    return None if path is None else changes.RenameIntent(old, new, path)


def build_delete(captures: Captures) -> Intent | None:
    path = captures.path()
    if path is None and captures.has("file"):
        path = captures.word("path")
    return changes.DeleteIntent(path) if path and not re.search(r"[*?]", path) else None


def build_todo(captures: Captures) -> Intent | None:
    rows = tuple(filter(None, (row.strip(" -*") for row in re.split(r"[,，;；、\n]", captures["x"]))))
    return changes.TodoIntent(rows) if rows else None


BUILDERS: Mapping[str, IntentBuilder] = {
    "help": lambda captures: HelpIntent(),
    "hello": lambda captures: ChatIntent("hello"),
    "thanks": lambda captures: ChatIntent("thanks"),
    "who": lambda captures: ChatIntent("who"),
    "bye": lambda captures: ChatIntent("bye"),
    "project": lambda captures: reads.MapIntent(),
    "explain": build_explain,
    "define": build_define,
    "uses": lambda captures: reads.UsesIntent(word) if (word := _captured_name(captures)) else None,
    "find": build_find,
    "todos": build_find_todos,
    "show": build_show,
    "ends": build_show_ends,
    "outline": lambda captures: reads.OutlineIntent(path) if (path := captures.path()) else None,
    "problems": build_problems,
    "format": lambda captures: (
        changes.FormatIntent(path) if (path := captures.path()) and not re.search(r"[*?]", path) else None
    ),
    "folder": build_list_folder,
    "file": build_find_file,
    "files_of": lambda captures: (
        reads.FindFileIntent(glob) if (glob := FILE_KINDS.get(captures["x"].lower())) else None
    ),
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
    "move": lambda captures: (
        changes.MoveIntent(path, to) if (path := captures.path()) and (to := captures.path("to")) else None
    ),
    "delete": build_delete,
    "todo": build_todo,
    "todo_list": lambda captures: changes.TodoIntent(),
    "done": lambda captures: changes.TodoIntent(done=captures["x"]) if captures["x"] else None,
}
