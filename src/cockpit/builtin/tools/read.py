"""The `read` tool: the numbered lines of a text file; any other file is described."""

import posixpath
from dataclasses import dataclass
from typing import Annotated

from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import parse, schema, typed
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Alias, Arguments, Cap, Done, Preview, Tool, ToolFailed
from cockpit.plugin.values import Register, Scope
from cockpit.suggestions import closest_names

MAX_LINE_LENGTH = 2_000
MAX_PAGE_BYTES = 48_000
MAX_PATHS_SCANNED = 20_000
IMAGE_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"GIF8", "GIF"),
    (b"BM", "BMP"),
    (b"II*\0", "TIFF"),
    (b"MM\0*", "TIFF"),
)


@dataclass(frozen=True, slots=True)
class ReadArguments:
    path: str
    start: Annotated[int, "first line, from 1"] = 1
    lines: int = 2000


async def read_file(arguments: ReadArguments, context: Context) -> Done:
    content = await _read_content(arguments.path, context)
    if not content:
        return Done(f"{arguments.path} is empty", data={"path": arguments.path, "total": 0})
    if kind := describe_binary(content):
        return Done(f"{arguments.path} is {kind}; it has no lines to show")
    notes: list[str] = []
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        text = content.decode("utf-8", "replace")
        notes.append("the file is not UTF-8: invalid bytes are shown as \ufffd")
    if text.startswith("\ufeff"):
        text = text[1:]
        notes.append("the file starts with a byte order mark")
    return _format_page(arguments, text.removesuffix("\n").split("\n"), notes)


def _format_page(arguments: ReadArguments, lines: list[str], notes: list[str]) -> Done:
    total = len(lines)
    start = max(1, total + 1 + arguments.start if arguments.start < 0 else arguments.start)
    if start > total:
        raise ToolFailed(f"{arguments.path} has only {total} lines; start at {total} or before")
    out: list[str] = []
    size = 0
    for number in range(start, min(start + max(1, arguments.lines), total + 1)):
        line = lines[number - 1].removesuffix("\r")
        if (hidden := len(line) - MAX_LINE_LENGTH) > 0:
            line = f"{line[:MAX_LINE_LENGTH]} [... {hidden:,} more characters in this line]"
        size += len(line.encode("utf-8", "replace")) + 8
        if out and size > MAX_PAGE_BYTES:
            break
        out.append(f"{number}\t{line}")
    last = start + len(out) - 1
    if start > 1 or last < total:
        following = f"; go on with start={last + 1}" if last < total else ""
        notes.append(f"lines {start} to {last} of {total}{following}")
    text = "\n".join(out) + "".join(f"\n[{note}]" for note in notes)
    return Done(text, data={"path": arguments.path, "start": start, "end": last, "total": total})


async def _read_content(path: str, context: Context) -> bytes:
    try:
        return await context.workspace.files.read(path)
    except FileNotFoundError as error:
        raise ToolFailed(await _suggest_paths(path, context)) from error
    except NotADirectoryError as error:
        raise ToolFailed(f"{path} does not exist: a part of the path is a file, not a folder") from error
    except IsADirectoryError as error:
        raise ToolFailed(f"{path} is a folder; use `list` to see its files") from error
    except OSError as error:
        raise ToolFailed(f"{path} cannot be read: {error.strerror or error}") from error


async def _suggest_paths(path: str, context: Context) -> str:
    name = posixpath.basename(path.replace("\\", "/"))
    paths: list[str] = []
    async for entry in context.workspace.files.walk("."):
        paths.append(entry.path)
        if len(paths) >= MAX_PATHS_SCANNED:
            break
    same_name = [known for known in paths if posixpath.basename(known) == name]
    close = closest_names(path, paths, limit=3)
    close_names = closest_names(name, {posixpath.basename(known) for known in paths}, limit=3, cutoff=0.7)
    close += [known for known in paths if posixpath.basename(known) in close_names]
    suggestions = list(dict.fromkeys([*same_name, *close]))[:3]
    hint = f"did you mean {', '.join(suggestions)}?" if suggestions else "use `glob` to find it"
    return f"{path} does not exist; {hint}"


def describe_binary(content: bytes) -> str:
    """The kind and size of a file that is not text, or an empty string for text."""
    size = f"{len(content):,} bytes"
    for magic, name in IMAGE_SIGNATURES:
        if content.startswith(magic) and (name != "BMP" or b"\0" in content[:64]):
            width, height = _image_dimensions(content, name)
            pixels = f", {width} x {height} pixels" if width else ""
            return f"a {name} image{pixels}, {size}"
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return f"a WebP image, {size}"
    if content.startswith(b"%PDF-"):
        return f"a PDF document, {size}"
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return f"UTF-16 text, {size} (convert it with shell: iconv -f UTF-16 -t UTF-8)"
    return f"binary, {size}" if b"\0" in content[:8000] else ""


def _image_dimensions(content: bytes, name: str) -> tuple[int, int]:
    if name == "PNG" and len(content) >= 24:
        return int.from_bytes(content[16:20], "big"), int.from_bytes(content[20:24], "big")
    if name == "GIF" and len(content) >= 10:
        return int.from_bytes(content[6:8], "little"), int.from_bytes(content[8:10], "little")
    if name == "JPEG":
        return _jpeg_dimensions(content)
    return 0, 0


def _jpeg_dimensions(content: bytes) -> tuple[int, int]:
    """Width and height from the first start-of-frame segment (ITU-T T.81, B.2.2)."""
    at = 2
    while at + 9 < len(content) and content[at] == 0xFF:
        if 0xC0 <= content[at + 1] <= 0xCF and content[at + 1] not in (0xC4, 0xC8, 0xCC):
            height, width = content[at + 5 : at + 7], content[at + 7 : at + 9]
            return int.from_bytes(width, "big"), int.from_bytes(height, "big")
        at += 2 + int.from_bytes(content[at + 2 : at + 4], "big")
    return 0, 0


async def preview(arguments: Arguments, context: Context) -> Preview:
    path = parse(ReadArguments, arguments).path
    return Preview(title=f"read {path}", paths=(context.workspace.resolve(path, "read"),))


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    renamed = (("file_path", "path"), ("target_file", "path"), ("offset", "start"), ("limit", "lines"))
    names = ("Read", "read_file", "ReadFile", "view", "cat", "open_file")
    register(
        Tool(
            name="read",
            kind="read",
            description="Read a text file as numbered lines.",
            parameters=schema(ReadArguments),
            capabilities=frozenset({"fs.read"}),
            run=typed(ReadArguments, read_file),
            title=lambda arguments: f"read {arguments.get('path', '')}",
            preview=preview,
            is_concurrent=lambda arguments: True,
            cap=Cap(size=64_000, entries=2_010),
            aliases=tuple(Alias(name, renamed) for name in names),
            keywords=("show", "file", "cat", "view"),
        )
    )
