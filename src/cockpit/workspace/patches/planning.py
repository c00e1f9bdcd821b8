"""From a patch's text to edits. The files it names are read by the caller and given as bytes."""

from collections.abc import Mapping
from dataclasses import dataclass

from cockpit.plugin.changes import DeleteFile, Edit, MoveFile, WriteFile
from cockpit.workspace.changes import digest
from cockpit.workspace.patches import envelope, unified
from cockpit.workspace.patches.matching import patched
from cockpit.workspace.patches.values import FilePatch, PatchRefused

LARGEST = 5 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class PlannedPatch:
    """The edits of a patch, in order. `notes` tell what did not match to the letter."""

    edits: tuple[Edit, ...]
    notes: tuple[str, ...]


def parsed(text: str) -> tuple[FilePatch, ...]:
    """The files of a patch in either form. Raises `PatchRefused`."""
    if not text.strip():
        raise PatchRefused("the patch is empty; send *** Begin Patch ... *** End Patch, or a unified diff")
    return envelope.parsed(text) if envelope.is_envelope(text) else unified.parsed(text)


def sources(files: tuple[FilePatch, ...]) -> tuple[str, ...]:
    """The paths whose present bytes `planned` needs."""
    return tuple(dict.fromkeys(file.path for file in files))


def planned(files: tuple[FilePatch, ...], present: Mapping[str, bytes | None]) -> PlannedPatch:
    """What the patch would do to files with these bytes (None: no such file). Raises `PatchRefused`."""
    now = dict(present)
    edits: list[Edit] = []
    notes: list[str] = []
    for file in files:
        match file.action:
            case "add":
                edits.append(_add(file, now))
            case "delete":
                edits.append(_delete(file, now))
            case "update":
                edits.append(_update(file, now, notes))
    return PlannedPatch(tuple(edits), tuple(notes))


def text_of(content: bytes | None, path: str) -> str:
    """The bytes of a file that is to be edited as text. Raises `PatchRefused`."""
    if content is None:
        raise PatchRefused(f"{path} does not exist; add it, or correct the path")
    if len(content) > LARGEST:
        raise PatchRefused(f"{path} has {len(content):,} bytes; files over 5 MiB are not edited as text")
    if b"\0" in content[:8000]:
        raise PatchRefused(f"{path} is binary; it is not edited as text")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        hint = "convert it to UTF-8 first, or change it with shell"
        raise PatchRefused(
            f"{path} is not UTF-8 (byte {content[error.start]:#04x} in line {line})", hint
        ) from error


def _add(file: FilePatch, now: dict[str, bytes | None]) -> WriteFile:
    if now.get(file.path) is not None:
        raise PatchRefused(f"{file.path} exists already; update it, or delete it in the same patch first")
    old = [line for chunk in file.chunks for line in chunk.old]
    if old:
        raise PatchRefused(f"patch line {file.place}: a new file has only added lines")
    lines = [text for chunk in file.chunks for _, text in chunk.lines]
    open_end = any(chunk.new_open for chunk in file.chunks)
    content = ("\n".join(lines) + ("" if open_end or not lines else "\n")).encode("utf-8", "surrogateescape")
    now[file.path] = content
    return WriteFile(file.path, content, before="", mode=file.mode)


def _delete(file: FilePatch, now: dict[str, bytes | None]) -> DeleteFile:
    content = now.get(file.path)
    if content is None:
        raise PatchRefused(f"{file.path} does not exist; nothing to delete")
    if file.chunks and patched(text_of(content, file.path), file.chunks, file.path).text:
        raise PatchRefused(f"{file.path} holds lines that the patch does not remove; read it again")
    now[file.path] = None
    return DeleteFile(file.path, digest(content))


def _update(file: FilePatch, now: dict[str, bytes | None], notes: list[str]) -> Edit:
    content = now.get(file.path)
    if content is None:
        raise PatchRefused(f"{file.path} does not exist; add it, or correct the path")
    made = content
    if file.chunks:
        result = patched(text_of(content, file.path), file.chunks, file.path)
        made = result.text.encode("utf-8")
        notes += result.notes
    if not file.to:
        now[file.path] = made
        return WriteFile(file.path, made, digest(content), file.mode)
    if now.get(file.to) is not None:
        raise PatchRefused(f"{file.to} exists already; delete it in the same patch first")
    now[file.path], now[file.to] = None, made
    return MoveFile(file.path, file.to, made, mode=file.mode)
