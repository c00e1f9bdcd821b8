"""The tools `edit`, which replaces one text in a file, and `multi_edit`, which replaces several or none."""

from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import Annotated

from cockpit.builtin.tools import file_changes
from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import parse, schema
from cockpit.plugin.changes import WriteFile
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Alias, Arguments, Preview, Tool, ToolFailed
from cockpit.plugin.values import Register, Scope
from cockpit.protocol.messages import Json
from cockpit.workspace.files.changes import digest

MAX_SHOWN = 8


@dataclass(frozen=True, slots=True)
class EditArguments:
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
class MultiEditArguments:
    path: str
    edits: Annotated[list[Replacement], "done in order; all of them or none"]


async def preview(arguments: Arguments, context: Context) -> Preview:
    parsed = parse(EditArguments, arguments)
    only = Replacement(parsed.old, parsed.new, parsed.replace_all)
    return await _preview_replacements(parsed.path, [only], context)


async def preview_multi(arguments: Arguments, context: Context) -> Preview:
    parsed = parse(MultiEditArguments, arguments)
    if not parsed.edits:
        raise ToolFailed("`edits` is empty; nothing would change")
    return await _preview_replacements(parsed.path, parsed.edits, context)


async def _preview_replacements(path: str, edits: list[Replacement], context: Context) -> Preview:
    for edit in edits:
        if edit.old == edit.new:
            raise ToolFailed(f"{_edit_label(edit, edits)}`old` and `new` are equal; nothing would change")
    real = context.workspace.resolve(path, "write")
    content = await file_changes.read_current(context, real)
    if content is None and not edits[0].old:
        text, rest, before, title = edits[0].new, edits[1:], "", f"create {path}"
    else:
        from cockpit.workspace.patches.planner import decode_text

        text, rest, before, title = decode_text(content, path), edits, digest(content), f"edit {path}"
    for edit in rest:
        try:
            text = replace_text(text, edit.old, edit.new, edit.replace_all, path)
        except ToolFailed as error:
            raise ToolFailed(f"{_edit_label(edit, edits)}{error}") from error
    written = WriteFile(real, text.encode("utf-8", "surrogatepass"), before=before)
    return await file_changes.preview_edits(context, title, (written,))


def _edit_label(edit: Replacement, edits: list[Replacement]) -> str:
    return f"edits[{edits.index(edit)}]: " if len(edits) > 1 else ""


def replace_text(text: str, old: str, new: str, everywhere: bool, path: str) -> str:
    """Replace `old` in `text`. Raises `ToolFailed` if it does not occur, or occurs more than once. A text
    with CRLF line ends is matched and written with them, whichever ends `old` and `new` have."""
    if not old:
        raise ToolFailed(f"`old` is empty and {path} is not; use `write` to replace all of it")
    if "\r\n" in text and old not in text:
        old, new = _to_crlf(old), _to_crlf(new)
    elif "\r\n" in text and "\r\n" not in old and "\n" in new and text.count("\n") == text.count("\r\n"):
        new = _to_crlf(new)
    count = text.count(old)
    if count == 0:
        raise ToolFailed(_describe_mismatch(text, old, path))
    if count > 1 and not everywhere:
        raise ToolFailed(
            f"`old` occurs {count} times in {path}, at lines {_line_numbers(text, old)}; "
            "add lines around it to make it unique, or set replace_all"
        )
    return text.replace(old, new)


def _to_crlf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def _line_numbers(text: str, old: str) -> str:
    numbers: list[str] = []
    at = text.find(old)
    while at >= 0 and len(numbers) < MAX_SHOWN:
        numbers.append(str(text.count("\n", 0, at) + 1))
        at = text.find(old, at + len(old))
    return ", ".join(numbers) + (" ..." if at >= 0 else "")


def _describe_mismatch(text: str, old: str, path: str) -> str:
    if (bare := _strip_line_numbers(old)) and bare in text.replace("\r\n", "\n"):
        return f"`old` contains the line numbers that `read` prints; send the text of {path} without them"
    lines = text.split("\n")
    first = next((line.strip() for line in old.split("\n") if line.strip()), "")
    equal = [at for at, line in enumerate(lines, 1) if first and line.strip() == first]
    if equal:
        start, size = equal[0], min(old.count("\n") + 1, 20)
        shown = "\n".join(f"{at}\t{line}" for at, line in enumerate(lines[start - 1 :][:size], start))
        return f"`old` is not in {path}; its first line is at line {start}, where the file has:\n{shown}"
    close = get_close_matches(first, [line.strip() for line in lines[:20_000]], 3, 0.6) if first else []
    near = [f"{at}\t{line}" for at, line in enumerate(lines, 1) if line.strip() in close][:MAX_SHOWN]
    if near:
        return f"`old` is not in {path}; the nearest lines are:\n" + "\n".join(near)
    return f"`old` is not in {path}, nor anything similar; read the file again"


def _strip_line_numbers(old: str) -> str:
    """`old` without the `12<tab>` before each line, or an empty string unless every line has one."""
    rows = [line.partition("\t") for line in old.split("\n")]
    is_numbered = all(tab and number.strip().isdigit() for number, tab, _ in rows)
    return "\n".join(rest for _, _, rest in rows) if is_numbered else ""


# The names other agents use for this tool and its arguments.
EDIT_ALIASES = ("Edit", "edit_file", "str_replace", "StrReplace", "search_replace", "replace")
RENAMED_ARGUMENTS = (
    ("file_path", "path"),
    ("old_string", "old"),
    ("new_string", "new"),
    ("old_str", "old"),
    ("new_str", "new"),
    ("replaceAll", "replace_all"),
)
EDIT_FIELDS = {"oldString": "old", "newString": "new", **dict(RENAMED_ARGUMENTS)}


def reshape_edits(arguments: Arguments) -> Arguments:
    """Rename the fields in each of `edits`: Claude Code sends `old_string` and `new_string`."""
    edits = arguments.get("edits")
    if not isinstance(edits, list):
        return arguments
    renamed: list[Json] = [
        {EDIT_FIELDS.get(name, name): value for name, value in edit.items()}
        if isinstance(edit, dict)
        else edit
        for edit in edits
    ]
    return {**arguments, "edits": renamed}


def _title(arguments: Arguments) -> str:
    return f"edit {arguments.get('path', '')}"


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    register(
        Tool(
            name="edit",
            kind="edit",
            description="Replace one text in a file by another.",
            parameters=schema(EditArguments),
            capabilities=frozenset({"fs.write"}),
            run=partial(file_changes.apply_previewed, preview=preview),
            title=_title,
            preview=preview,
            aliases=tuple(Alias(name, RENAMED_ARGUMENTS) for name in EDIT_ALIASES),
            keywords=("replace", "change", "modify"),
        )
    )
    register(
        Tool(
            name="multi_edit",
            kind="edit",
            description="Replace several texts in one file, all or nothing.",
            parameters=schema(MultiEditArguments),
            capabilities=frozenset({"fs.write"}),
            run=partial(file_changes.apply_previewed, preview=preview_multi),
            title=_title,
            preview=preview_multi,
            deferred=True,
            aliases=tuple(
                Alias(name, (("file_path", "path"),), reshape=reshape_edits)
                for name in ("multi_edit", "MultiEdit", "multiedit")
            ),
            keywords=("edits", "replace", "change"),
        )
    )
