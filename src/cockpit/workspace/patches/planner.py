"""Turns the text of a patch into edits: parses it, and matches it with the files of a workspace."""

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
from cockpit.workspace.patches.values import FilePatch, HunkPlacement, PatchRefused

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
    """The files while a patch is applied. `first` is their original content, from which git's copies and
    renames start. `modes` are permission bits if the caller knows them."""

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


def plan_patch(
    files: tuple[FilePatch, ...], present: Mapping[str, bytes | None], modes: Mapping[str, int] | None = None
) -> PlannedPatch:
    """What the patch would do to files with this content (None: no such file). Raises `PatchRefused`."""
    state = PatchedFiles(dict(present), present, modes or {})
    edits: list[Edit] = []
    for file in _order_files(files, state, edits):
        match file.action:
            case "add":
                edits.append(_add(file, state))
            case "delete":
                edits.append(_delete(file, state))
            case "update":
                edits.append(_update(file, state))
            case "copy":
                edits.append(_copy(file, state))
    return PlannedPatch(tuple(edits), tuple(state.notes), state.placed)


def _order_files(files: tuple[FilePatch, ...], state: PatchedFiles, edits: list[Edit]) -> Iterable[FilePatch]:
    """The files in an order that can be applied.

    All parts of a git diff refer to the original tree: if a name is freed and reused (two files that swap),
    everything that is deleted or renamed is removed first.
    """
    if not all(file.counted for file in files):
        return files
    gone = {file.path for file in files if file.action == "delete" or (file.action == "update" and file.to)}
    targets = {file.to or file.path for file in files if file.action in ("add", "copy") or file.to}
    if not gone & targets:
        return sorted(files, key=lambda file: file.action != "copy")
    others = [file for file in files if file.action != "delete"]
    for file in files:
        if file.action == "delete":
            edits.append(_delete(file, state))
    moved = {file.path for file in others if file.action == "update" and file.to}
    for path in moved:
        content = state.now.get(path)
        if content is None:
            raise PatchRefused(f"{path} does not exist, so it cannot be renamed")
        edits.append(DeleteFile(path, digest(content)))
        state.now[path] = None
    return [replace(file, action="copy") if file.path in moved and file.to else file for file in others]


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
        reason = f"{path} is not UTF-8 (byte {content[error.start]:#04x} in line {line})"
        raise PatchRefused(reason, hint) from error


def _add(file: FilePatch, state: PatchedFiles) -> WriteFile:
    if state.now.get(file.path) is not None:
        raise PatchRefused(f"{file.path} exists already; update it, or delete it in the same patch first")
    if any(chunk.old for chunk in file.chunks):
        raise PatchRefused(f"patch line {file.place}: a new file has only added lines")
    lines = [text for chunk in file.chunks for _, text in chunk.lines]
    open_end = any(chunk.new_open for chunk in file.chunks)
    content = ("\n".join(lines) + ("" if open_end or not lines else "\n")).encode("utf-8", "surrogateescape")
    state.now[file.path] = content
    state.placed[file.path] = tuple(
        HunkPlacement(1, chunk.place, 1, None, "exact") for chunk in file.chunks[:1]
    )
    return WriteFile(file.path, content, before="", mode=file.mode)


def _delete(file: FilePatch, state: PatchedFiles) -> DeleteFile:
    content = state.now.get(file.path)
    if content is None:
        raise PatchRefused(f"{file.path} does not exist, so it cannot be deleted")
    remainder = content if file.counted else b""
    if file.chunks:
        result = apply_chunks(decode_text(content, file.path), file.chunks, file.path)
        remainder, state.placed[file.path] = result.text.encode("utf-8"), result.placed
    if remainder:
        raise PatchRefused(f"{file.path} has lines that the patch does not remove; read it again")
    state.now[file.path] = None
    return DeleteFile(file.path, digest(content))


def _update(file: FilePatch, state: PatchedFiles) -> Edit:
    content = state.now.get(file.path)
    starts_empty = all(chunk.start == 0 and not chunk.old for chunk in file.chunks)
    if content is None and file.counted and not file.to and starts_empty:
        # `diff -N` without dates: the file was empty or did not exist.
        return _add(file, state)
    if content is None:
        raise PatchRefused(f"{file.path} does not exist; add it, or correct the path")
    after = _apply_to_content(file, content, state)
    if not file.to:
        state.now[file.path] = after
        return WriteFile(file.path, after, digest(content), file.mode)
    _refuse_existing(file, state)
    state.now[file.path], state.now[file.to] = None, after
    return MoveFile(file.path, file.to, after, mode=file.mode)


def _copy(file: FilePatch, state: PatchedFiles) -> WriteFile:
    content = state.first.get(file.path)
    if content is None:
        raise PatchRefused(f"{file.path} does not exist, so it cannot be copied")
    _refuse_existing(file, state)
    after = _apply_to_content(file, content, state)
    state.now[file.to] = after
    mode = state.modes.get(file.path) if file.mode is None else file.mode
    return WriteFile(file.to, after, before="", mode=mode)


def _apply_to_content(file: FilePatch, content: bytes, state: PatchedFiles) -> bytes:
    if not file.chunks:
        return content
    result = apply_chunks(decode_text(content, file.path), file.chunks, file.path)
    state.notes += result.notes
    name = file.to or file.path
    state.placed[name] = (*state.placed.get(name, ()), *result.placed)
    return result.text.encode("utf-8")


def _refuse_existing(file: FilePatch, state: PatchedFiles) -> None:
    if state.now.get(file.to) is not None:
        raise PatchRefused(f"{file.to} exists already; delete it in the same patch first")


@dataclass(frozen=True, slots=True)
class WorkspacePatch:
    """A patch matched with a workspace: its files in order, and the edits that apply it."""

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
    """The patch and its change set. Raises like `match_workspace_patch`, and `ChangeRefused` if it changes
    nothing."""
    patch = await match_workspace_patch(workspace, text)
    changes = await workspace.plan(patch.edits)
    if not changes.files:
        raise ChangeRefused("the patch changes nothing: the files already have this content")
    return patch, changes
