"""`edit`: replace a text that stands once in a file (or everywhere, when asked); `multi_edit`: several, all
or none."""

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Annotated

from cockpit.builtin import changing
from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import parse, schema
from cockpit.plugin.changes import WriteFile
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Alias, Arguments, Done, Preview, Tool, ToolFailed
from cockpit.plugin.values import Register, Scope
from cockpit.protocol.messages import Json
from cockpit.workspace.changes import digest

SHOWN = 8


@dataclass(frozen=True, slots=True)
class Edit:
    path: str
    old: Annotated[str, "text to replace, exactly as in the file, found once"]
    new: str
    replace_all: bool = False


@dataclass(frozen=True, slots=True)
class Replacement:
    old: Annotated[str, "exactly as in the file after the edits before, found once"]
    new: str
    replace_all: bool = False


@dataclass(frozen=True, slots=True)
class MultiEdit:
    path: str
    edits: Annotated[list[Replacement], "done in order; all of them or none"]


async def preview(arguments: Arguments, context: Context) -> Preview:
    wanted = parse(Edit, arguments)
    only = Replacement(wanted.old, wanted.new, wanted.replace_all)
    return await _previewed(wanted.path, [only], context)


async def preview_several(arguments: Arguments, context: Context) -> Preview:
    wanted = parse(MultiEdit, arguments)
    if not wanted.edits:
        raise ToolFailed("`edits` is empty; nothing would change")
    return await _previewed(wanted.path, wanted.edits, context)


async def _previewed(path: str, edits: list[Replacement], context: Context) -> Preview:
    for edit in edits:
        if edit.old == edit.new:
            raise ToolFailed(f"{_which(edit, edits)}`old` and `new` are equal; nothing would change")
    real = context.workspace.resolve(path, "write")
    content = await changing.present(context, real)
    if content is None and not edits[0].old:
        text, rest, before, title = edits[0].new, edits[1:], "", f"create {path}"
    else:
        from cockpit.workspace.patches.planning import text_of

        text, rest, before, title = text_of(content, path), edits, digest(content), f"edit {path}"
    for edit in rest:
        try:
            text = replaced(text, edit.old, edit.new, edit.replace_all, path)
        except ToolFailed as error:
            raise ToolFailed(f"{_which(edit, edits)}{error}") from error
    written = WriteFile(real, text.encode("utf-8", "surrogatepass"), before=before)
    return await changing.previewed(context, title, (written,))


def _which(edit: Replacement, edits: list[Replacement]) -> str:
    return f"edits[{edits.index(edit)}]: " if len(edits) > 1 else ""


def replaced(text: str, old: str, new: str, everywhere: bool, path: str) -> str:
    """`text` with `old` replaced. Raises `ToolFailed` when it is not there, or there more than once.

    A text with CRLF line ends is matched and written with them, however `old` and `new` were sent.
    """
    if not old:
        raise ToolFailed(f"`old` is empty and {path} is not; use `write` to replace all of it")
    if "\r\n" in text and old not in text:
        old, new = _crlf(old), _crlf(new)
    elif "\r\n" in text and "\r\n" not in old and "\n" in new and not _has_bare_newline(text):
        new = _crlf(new)
    count = text.count(old)
    if count == 0:
        raise ToolFailed(_not_found(text, old, path))
    if count > 1 and not everywhere:
        raise ToolFailed(
            f"`old` is found {count} times in {path}, at lines {_lines(text, old)}; "
            "add lines around it to make it unique, or set replace_all"
        )
    return text.replace(old, new)


def _crlf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def _has_bare_newline(text: str) -> bool:
    return text.count("\n") != text.count("\r\n")


def _lines(text: str, old: str) -> str:
    found: list[str] = []
    at = text.find(old)
    while at >= 0 and len(found) < SHOWN:
        found.append(str(text.count("\n", 0, at) + 1))
        at = text.find(old, at + len(old))
    return ", ".join(found) + (" ..." if at >= 0 else "")


def _not_found(text: str, old: str, path: str) -> str:
    if (bare := _without_numbers(old)) and bare in text.replace("\r\n", "\n"):
        return f"`old` holds the line numbers that `read` prints; send the text of {path} without them"
    lines = text.split("\n")
    first = next((line.strip() for line in old.split("\n") if line.strip()), "")
    equal = [at for at, line in enumerate(lines, 1) if first and line.strip() == first]
    if equal:
        shown = "\n".join(_window(lines, equal[0], old.count("\n") + 1))
        return (
            f"`old` is not in {path}; its first line is at line {equal[0]}, and there the file says:\n{shown}"
        )
    close = get_close_matches(first, [line.strip() for line in lines[:20_000]], 3, 0.6) if first else []
    near = [f"{at}\t{line}" for at, line in enumerate(lines, 1) if line.strip() in close][:SHOWN]
    if near:
        return f"`old` is not in {path}; the nearest lines are:\n" + "\n".join(near)
    return f"`old` is not in {path}, nor anything like it; read the file again"


def _window(lines: list[str], start: int, size: int) -> list[str]:
    return [f"{at}\t{lines[at - 1]}" for at in range(start, min(start + min(size, 20), len(lines) + 1))]


def _without_numbers(old: str) -> str:
    """`old` without `12<tab>` before each line, or "" when not every line has it."""
    out: list[str] = []
    for line in old.split("\n"):
        number, tab, rest = line.partition("\t")
        if not tab or not number.strip().isdigit():
            return ""
        out.append(rest)
    return "\n".join(out)


async def run(arguments: Arguments, context: Context) -> Done:
    return await changing.applied(arguments, context, preview)


async def run_several(arguments: Arguments, context: Context) -> Done:
    return await changing.applied(arguments, context, preview_several)


# What other agents call it, and its arguments.
NAMES = ("Edit", "edit_file", "str_replace", "StrReplace", "search_replace", "replace")
RENAMED = (
    ("file_path", "path"),
    ("old_string", "old"),
    ("new_string", "new"),
    ("old_str", "old"),
    ("new_str", "new"),
    ("replaceAll", "replace_all"),
)
EDITS = {"oldString": "old", "newString": "new", **dict(RENAMED)}


def reshaped(arguments: Arguments) -> Arguments:
    """`edits` with our names in each: Claude Code's have `old_string` and `new_string`."""
    edits = arguments.get("edits")
    return {**arguments, "edits": [_own(edit) for edit in edits]} if isinstance(edits, list) else arguments


def _own(edit: Json) -> Json:
    return {EDITS.get(name, name): value for name, value in edit.items()} if isinstance(edit, dict) else edit


def _title(arguments: Arguments) -> str:
    return f"edit {arguments.get('path', '')}"


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    register(
        Tool(
            name="edit",
            kind="edit",
            description="Replace one text in a file by another.",
            parameters=schema(Edit),
            capabilities=frozenset({"fs.write"}),
            run=run,
            title=_title,
            preview=preview,
            aliases=tuple(Alias(name, RENAMED) for name in NAMES),
            keywords=("replace", "change", "modify"),
        )
    )
    register(
        Tool(
            name="multi_edit",
            kind="edit",
            description="Replace several texts in one file, all or nothing.",
            parameters=schema(MultiEdit),
            capabilities=frozenset({"fs.write"}),
            run=run_several,
            title=_title,
            preview=preview_several,
            deferred=True,
            aliases=tuple(
                Alias(name, (("file_path", "path"),), reshape=reshaped)
                for name in ("multi_edit", "MultiEdit", "multiedit")
            ),
            keywords=("edits", "replace", "change"),
        )
    )
