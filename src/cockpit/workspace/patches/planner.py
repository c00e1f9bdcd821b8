"""From the text of a patch to edits: parsed, matched against the files of a workspace, and planned. Writes
nothing."""

import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from cockpit.plugin.changes import ChangeSet, DeleteFile, Edit, MoveFile, WriteFile
from cockpit.plugin.workspace import ChangeRefused, Workspace
from cockpit.workspace.files.changes import digest
from cockpit.workspace.patches import parser
from cockpit.workspace.patches.matcher import apply_chunks
from cockpit.workspace.patches.values import FilePatch, HunkPlacement, PatchChunk, PatchRefused

MAX_TEXT_BYTES = 5 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class PlannedPatch:
    """The edits of a patch, in order. `notes` say what did not match exactly, `placed` where the hunks of
    each path were applied."""

    edits: tuple[Edit, ...]
    notes: tuple[str, ...]
    placed: Mapping[str, tuple[HunkPlacement, ...]] = field(default_factory=dict)


@dataclass(slots=True)
class PatchedFiles:
    """The files while a patch is applied. `first` is what they were: git's copies and renames start from
    there. `modes` are permission bits where the caller knows them."""

    now: dict[str, bytes | None]
    first: Mapping[str, bytes | None]
    modes: Mapping[str, int]
    notes: list[str] = field(default_factory=list)
    placed: dict[str, tuple[HunkPlacement, ...]] = field(default_factory=dict)


def parse_patch(text: str) -> tuple[FilePatch, ...]:
    """The files of a patch in either form. Raises `PatchRefused`."""
    if not text.strip():
        raise PatchRefused("the patch is empty; send *** Begin Patch ... *** End Patch, or a unified diff")
    return parser.parse_envelope(text) if parser.is_envelope(text) else parser.parse_unified_diff(text)


def source_paths(files: tuple[FilePatch, ...]) -> tuple[str, ...]:
    """The paths whose current content `plan_patch` needs."""
    return tuple(dict.fromkeys(file.path for file in files))


def plan_patch(
    files: tuple[FilePatch, ...], present: Mapping[str, bytes | None], modes: Mapping[str, int] | None = None
) -> PlannedPatch:
    """What the patch would do to files with this content (None: no such file). Raises `PatchRefused`."""
    ground = PatchedFiles(dict(present), present, modes or {})
    edits: list[Edit] = []
    for file in _order_files(files, ground, edits):
        match file.action:
            case "add":
                edits.append(_add(file, ground))
            case "delete":
                edits.append(_delete(file, ground))
            case "update":
                edits.append(_update(file, ground))
            case "copy":
                edits.append(_copy(file, ground))
    return PlannedPatch(tuple(edits), tuple(ground.notes), ground.placed)


def _order_files(
    files: tuple[FilePatch, ...], ground: PatchedFiles, edits: list[Edit]
) -> Iterable[FilePatch]:
    """The files in an order in which each finds what it needs.

    All parts of a git diff refer to the tree as it was: where a name is given up and reused (two files that
    swap), everything that goes is removed first.
    """
    if not all(file.counted for file in files):
        return files
    gone = {file.path for file in files if file.action == "delete" or (file.action == "update" and file.to)}
    taken = {file.to or file.path for file in files if file.action in ("add", "copy") or file.to}
    if not gone & taken:
        return sorted(files, key=lambda file: file.action != "copy")
    kept = [file for file in files if file.action != "delete"]
    for file in files:
        if file.action == "delete":
            edits.append(_delete(file, ground))
    moved = {file.path for file in kept if file.action == "update" and file.to}
    for path in moved:
        content = ground.now.get(path)
        if content is None:
            raise PatchRefused(f"{path} does not exist, so it cannot be renamed")
        edits.append(DeleteFile(path, digest(content)))
        ground.now[path] = None
    return [replace(file, action="copy") if file.path in moved and file.to else file for file in kept]


def decode_text(content: bytes | None, path: str) -> str:
    """The content of a file to be edited as text. Raises `PatchRefused`."""
    if content is None:
        raise PatchRefused(f"{path} does not exist; add it, or correct the path", path=path)
    if len(content) > MAX_TEXT_BYTES:
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


def _add(file: FilePatch, ground: PatchedFiles) -> WriteFile:
    if ground.now.get(file.path) is not None:
        raise PatchRefused(f"{file.path} exists already; update it, or delete it in the same patch first")
    old = [line for chunk in file.chunks for line in chunk.old]
    if old:
        raise PatchRefused(f"patch line {file.place}: a new file has only added lines")
    lines = [text for chunk in file.chunks for _, text in chunk.lines]
    open_end = any(chunk.new_open for chunk in file.chunks)
    content = ("\n".join(lines) + ("" if open_end or not lines else "\n")).encode("utf-8", "surrogateescape")
    ground.now[file.path] = content
    ground.placed[file.path] = tuple(
        HunkPlacement(1, chunk.place, 1, None, "exact") for chunk in file.chunks[:1]
    )
    return WriteFile(file.path, content, before="", mode=file.mode)


def _delete(file: FilePatch, ground: PatchedFiles) -> DeleteFile:
    content = ground.now.get(file.path)
    if content is None:
        raise PatchRefused(f"{file.path} does not exist, so it cannot be deleted")
    left = content if file.counted else b""
    if file.chunks:
        result = apply_chunks(decode_text(content, file.path), file.chunks, file.path)
        left, ground.placed[file.path] = result.text.encode("utf-8"), result.placed
    if left:
        raise PatchRefused(f"{file.path} has lines that the patch does not remove; read it again")
    ground.now[file.path] = None
    return DeleteFile(file.path, digest(content))


def _update(file: FilePatch, ground: PatchedFiles) -> Edit:
    content = ground.now.get(file.path)
    if (
        content is None
        and file.counted
        and not file.to
        and all(_starts_empty_file(chunk) for chunk in file.chunks)
    ):
        # `diff -N` without dates: the file was empty or did not exist.
        return _add(file, ground)
    if content is None:
        raise PatchRefused(f"{file.path} does not exist; add it, or correct the path")
    made = _apply_to_content(file, content, ground)
    if not file.to:
        ground.now[file.path] = made
        return WriteFile(file.path, made, digest(content), file.mode)
    _refuse_existing(file, ground)
    ground.now[file.path], ground.now[file.to] = None, made
    return MoveFile(file.path, file.to, made, mode=file.mode)


def _copy(file: FilePatch, ground: PatchedFiles) -> WriteFile:
    content = ground.first.get(file.path)
    if content is None:
        raise PatchRefused(f"{file.path} does not exist, so it cannot be copied")
    _refuse_existing(file, ground)
    made = _apply_to_content(file, content, ground)
    ground.now[file.to] = made
    mode = ground.modes.get(file.path) if file.mode is None else file.mode
    return WriteFile(file.to, made, before="", mode=mode)


def _apply_to_content(file: FilePatch, content: bytes, ground: PatchedFiles) -> bytes:
    if not file.chunks:
        return content
    result = apply_chunks(decode_text(content, file.path), file.chunks, file.path)
    ground.notes += result.notes
    name = file.to or file.path
    ground.placed[name] = (*ground.placed.get(name, ()), *result.placed)
    return result.text.encode("utf-8")


def _refuse_existing(file: FilePatch, ground: PatchedFiles) -> None:
    if ground.now.get(file.to) is not None:
        raise PatchRefused(f"{file.to} exists already; delete it in the same patch first")


def _starts_empty_file(chunk: PatchChunk) -> bool:
    return chunk.start == 0 and not chunk.old


@dataclass(frozen=True, slots=True)
class WorkspacePatch:
    """What a patch asks of a workspace: its files in order, and the edits that do it."""

    files: tuple[FilePatch, ...]
    patch: PlannedPatch

    @property
    def edits(self) -> tuple[Edit, ...]:
        return self.patch.edits


async def match_workspace_patch(workspace: Workspace, text: str) -> WorkspacePatch:
    """Raises `PatchRefused`, `PathRefused` and `ChangeRefused`."""
    files = parse_patch(text)
    present: dict[str, bytes | None] = {}
    modes: dict[str, int] = {}
    for file in files:
        real = workspace.resolve(file.path, "write")
        if file.path not in present:
            present[file.path] = await _read_current(workspace, file.path)
        if file.to:
            workspace.resolve(file.to, "write")
            present[file.to] = await _read_current(workspace, file.to)
            with suppress(OSError):
                modes[file.path] = stat.S_IMODE(os.lstat(real).st_mode)
    return WorkspacePatch(files, plan_patch(files, present, modes))


async def _read_current(workspace: Workspace, path: str) -> bytes | None:
    try:
        return await workspace.files.read(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except IsADirectoryError as error:
        raise ChangeRefused(f"{path} is a folder; name a file in it") from error
    except OSError as error:
        raise ChangeRefused(f"{path} cannot be read: {error.strerror or error}") from error


async def plan_workspace_patch(workspace: Workspace, text: str) -> tuple[WorkspacePatch, ChangeSet]:
    """The patch and what it would change. Raises like `match_workspace_patch`, and `ChangeRefused` if it
    changes nothing."""
    asked = await match_workspace_patch(workspace, text)
    changes = await workspace.plan(asked.edits)
    if not changes.files:
        raise ChangeRefused("the patch changes nothing: the files already have this content")
    return asked, changes
