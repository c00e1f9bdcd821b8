"""From a patch's text to edits. The files it names are read by the caller and given as bytes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from cockpit.plugin.changes import DeleteFile, Edit, MoveFile, WriteFile
from cockpit.workspace.changes import digest
from cockpit.workspace.patches import envelope, unified
from cockpit.workspace.patches.matching import patched
from cockpit.workspace.patches.values import Chunk, FilePatch, PatchRefused, Placed

LARGEST = 5 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class PlannedPatch:
    """The edits of a patch, in order. `notes` tell what did not match to the letter, `placed` where
    the hunks of each path went."""

    edits: tuple[Edit, ...]
    notes: tuple[str, ...]
    placed: Mapping[str, tuple[Placed, ...]] = field(default_factory=dict)


@dataclass(slots=True)
class Ground:
    """The files while a patch is put on them. `first` is what they were: git's copies and renames come
    from there. `modes` are permission bits where the caller knows them."""

    now: dict[str, bytes | None]
    first: Mapping[str, bytes | None]
    modes: Mapping[str, int]
    notes: list[str] = field(default_factory=list)
    placed: dict[str, tuple[Placed, ...]] = field(default_factory=dict)


def parsed(text: str) -> tuple[FilePatch, ...]:
    """The files of a patch in either form. Raises `PatchRefused`."""
    if not text.strip():
        raise PatchRefused("the patch is empty; send *** Begin Patch ... *** End Patch, or a unified diff")
    return envelope.parsed(text) if envelope.is_envelope(text) else unified.parsed(text)


def sources(files: tuple[FilePatch, ...]) -> tuple[str, ...]:
    """The paths whose present bytes `planned` needs."""
    return tuple(dict.fromkeys(file.path for file in files))


def planned(
    files: tuple[FilePatch, ...], present: Mapping[str, bytes | None], modes: Mapping[str, int] | None = None
) -> PlannedPatch:
    """What the patch would do to files with these bytes (None: no such file). Raises `PatchRefused`."""
    ground = Ground(dict(present), present, modes or {})
    edits: list[Edit] = []
    for file in _in_order(files, ground, edits):
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


def _in_order(files: tuple[FilePatch, ...], ground: Ground, edits: list[Edit]) -> Iterable[FilePatch]:
    """The files so that each finds what it needs. All parts of a git diff speak of the tree as it was:
    where a name is given up and taken again (two files that swap), all that goes is taken away first."""
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
            raise PatchRefused(f"{path} does not exist; nothing to rename")
        edits.append(DeleteFile(path, digest(content)))
        ground.now[path] = None
    return [replace(file, action="copy") if file.path in moved and file.to else file for file in kept]


def text_of(content: bytes | None, path: str) -> str:
    """The bytes of a file that is to be edited as text. Raises `PatchRefused`."""
    if content is None:
        raise PatchRefused(f"{path} does not exist; add it, or correct the path", path=path)
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


def _add(file: FilePatch, ground: Ground) -> WriteFile:
    if ground.now.get(file.path) is not None:
        raise PatchRefused(f"{file.path} exists already; update it, or delete it in the same patch first")
    old = [line for chunk in file.chunks for line in chunk.old]
    if old:
        raise PatchRefused(f"patch line {file.place}: a new file has only added lines")
    lines = [text for chunk in file.chunks for _, text in chunk.lines]
    open_end = any(chunk.new_open for chunk in file.chunks)
    content = ("\n".join(lines) + ("" if open_end or not lines else "\n")).encode("utf-8", "surrogateescape")
    ground.now[file.path] = content
    ground.placed[file.path] = tuple(Placed(1, chunk.place, 1, None, "exact") for chunk in file.chunks[:1])
    return WriteFile(file.path, content, before="", mode=file.mode)


def _delete(file: FilePatch, ground: Ground) -> DeleteFile:
    content = ground.now.get(file.path)
    if content is None:
        raise PatchRefused(f"{file.path} does not exist; nothing to delete")
    left = content if file.counted else b""
    if file.chunks:
        result = patched(text_of(content, file.path), file.chunks, file.path)
        left, ground.placed[file.path] = result.text.encode("utf-8"), result.placed
    if left:
        raise PatchRefused(f"{file.path} holds lines that the patch does not remove; read it again")
    ground.now[file.path] = None
    return DeleteFile(file.path, digest(content))


def _update(file: FilePatch, ground: Ground) -> Edit:
    content = ground.now.get(file.path)
    if content is None and file.counted and not file.to and all(_is_first(chunk) for chunk in file.chunks):
        # `diff -N` without dates: a file that was empty, or was not there.
        return _add(file, ground)
    if content is None:
        raise PatchRefused(f"{file.path} does not exist; add it, or correct the path")
    made = _made(file, content, ground)
    if not file.to:
        ground.now[file.path] = made
        return WriteFile(file.path, made, digest(content), file.mode)
    _refuse_taken(file, ground)
    ground.now[file.path], ground.now[file.to] = None, made
    return MoveFile(file.path, file.to, made, mode=file.mode)


def _copy(file: FilePatch, ground: Ground) -> WriteFile:
    content = ground.first.get(file.path)
    if content is None:
        raise PatchRefused(f"{file.path} does not exist; nothing to copy")
    _refuse_taken(file, ground)
    made = _made(file, content, ground)
    ground.now[file.to] = made
    mode = ground.modes.get(file.path) if file.mode is None else file.mode
    return WriteFile(file.to, made, before="", mode=mode)


def _made(file: FilePatch, content: bytes, ground: Ground) -> bytes:
    if not file.chunks:
        return content
    result = patched(text_of(content, file.path), file.chunks, file.path)
    ground.notes += result.notes
    name = file.to or file.path
    ground.placed[name] = (*ground.placed.get(name, ()), *result.placed)
    return result.text.encode("utf-8")


def _refuse_taken(file: FilePatch, ground: Ground) -> None:
    if ground.now.get(file.to) is not None:
        raise PatchRefused(f"{file.to} exists already; delete it in the same patch first")


def _is_first(chunk: Chunk) -> bool:
    return chunk.start == 0 and not chunk.old
