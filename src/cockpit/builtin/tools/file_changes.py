"""The steps that all writing tools share: preview a plan, apply it, and announce the changed files.

A tool itself only says which edits it wants.
"""

import posixpath
from collections.abc import Awaitable, Callable

from cockpit.errors import CockpitError
from cockpit.plugin.changes import ChangeSet, Edit, FileChange
from cockpit.plugin.context import Context
from cockpit.plugin.navigation import ProblemCheck
from cockpit.plugin.tools import Arguments, Done, Part, Preview, ToolFailed
from cockpit.protocol.events import FileChanged
from cockpit.protocol.messages import Json
from cockpit.workspace.files.changes import make_diff

CHECK_SECONDS = 2.0
MAX_SHOWN = 10

PreviewFunction = Callable[[Arguments, Context], Awaitable[Preview]]


async def preview_edits(context: Context, title: str, edits: tuple[Edit, ...], note: str = "") -> Preview:
    """Plan `edits`. Raises `ToolFailed` when they would change nothing, and whatever planning raises."""
    call = context.call.call.id if context.call else ""
    try:
        changes = await context.workspace.plan(edits, context.session.agent, call)
    except OSError as error:
        raise ToolFailed(f"{title}: {error.strerror or error}") from error
    if not changes.files:
        raise ToolFailed(f"{title} changes nothing: the file already has exactly this content")
    parts = tuple(Part(change.path, _summarize_change(change), note) for change in changes.files)
    root = context.workspace.root
    touched = [path for change in changes.files for path in (change.moved_from, change.path) if path]
    paths = tuple(dict.fromkeys(posixpath.join(root, path) for path in touched))
    checked = await context.navigator.checked(changes, CHECK_SECONDS)
    shown = checked if checked.state == "checked" or checked.note else None
    return Preview(title, parts, changes, paths=paths, lift=_rule_pattern(touched), checked=shown)


def _rule_pattern(paths: list[str]) -> str:
    """The pattern of a rule for `paths`: their common folder, or the file itself at the top level."""
    if any(path.startswith("/") or ":" in path[:2] for path in paths):
        return ""
    folders = {posixpath.dirname(path) for path in paths}
    if folders == {""}:
        return paths[0] if len(set(paths)) == 1 else ""
    common = posixpath.commonpath(list(folders)) if "" not in folders else ""
    return f"{common}/**" if common else ""


def _summarize_change(change: FileChange) -> str:
    diff = make_diff(change)
    path = f"{change.moved_from} -> {change.path}" if change.moved_from else change.path
    size = diff.note if change.binary else f"+{diff.added} -{diff.removed}"
    return f"{change.change} {path} ({size})"


async def apply_previewed(arguments: Arguments, context: Context, preview: PreviewFunction) -> Done:
    """Write the approved preview; a call without one is previewed here."""
    running = context.call
    shown = running.preview if running and running.preview else await preview(arguments, context)
    changes = shown.changes
    if changes is None:
        raise ToolFailed("nothing was planned; call the tool again")
    try:
        await context.workspace.apply(changes)
    except OSError as error:
        raise ToolFailed(f"nothing was written: {error.strerror or error}") from error
    announce_changes(changes, context, shown.checked)
    lines = [_summarize_change(change) for change in changes.files]
    lines += sorted({f"note: {part.detail}" for part in shown.parts if part.detail})
    lines += _describe_problems(shown.checked)
    rows: list[Json] = [{"path": change.path, "change": change.change} for change in changes.files]
    return Done("\n".join(lines), tuple(map(make_diff, changes.files)), {"files": rows})


def describe_preview(preview: Preview) -> Done:
    """The result of a call that only shows what it would change."""
    if preview.changes is None:
        return Done(f"{preview.title} changes nothing")
    lines = [f"{preview.title} would change (nothing is written):"]
    rows: list[Json] = []
    for change in preview.changes.files:
        lines.append(_summarize_change(change))
        shown = [line for hunk in change.hunks[:MAX_SHOWN] for line in hunk.lines]
        lines += [f"  {line}" for line in shown if line[:1] in ("+", "-")]
        rows.append({"path": change.path, "change": change.change})
    lines += _describe_problems(preview.checked)
    return Done("\n".join(lines), tuple(map(make_diff, preview.changes.files)), {"files": rows})


def _describe_problems(checked: ProblemCheck | None) -> list[str]:
    """The problems that the change causes. If the check took too long, a later step reports them."""
    if checked is None or not checked.new:
        return []
    rows = [f"  {row.path}:{row.line}: {row.severity}: {row.message}" for row in checked.new[:MAX_SHOWN]]
    more = [f"  and {len(checked.new) - MAX_SHOWN} more"] if len(checked.new) > MAX_SHOWN else []
    return [f"new problems: {len(checked.new)}", *rows, *more]


def announce_changes(changes: ChangeSet, context: Context, checked: ProblemCheck | None = None) -> None:
    """Emit `FileChanged` for each file, and tell the navigator which problems were reported already."""
    for change in changes.files:
        problems = None
        if checked is not None and checked.state == "checked":
            problems = tuple(row for row in checked.new if row.path == change.path)
        if change.moved_from:
            context.navigator.changed(change.moved_from, change.before, ())
        context.navigator.changed(change.path, change.before, problems)
        diff = make_diff(change)
        context.session.emit(
            FileChanged(change.path, change.change, diff.added, diff.removed, change.moved_from)
        )


async def is_folder(path: str, context: Context) -> bool:
    try:
        return (await context.workspace.files.stat(path)).kind == "folder"
    except (FileNotFoundError, NotADirectoryError):
        return False


async def read_current(context: Context, path: str) -> bytes | None:
    """The bytes of the file to be changed, or None if it does not exist. Raises `ToolFailed`."""
    try:
        return await context.workspace.files.read(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except IsADirectoryError as error:
        raise ToolFailed(f"{path} is a folder; name a file in it") from error
    except CockpitError:
        raise
    except OSError as error:
        raise ToolFailed(f"{path} cannot be read: {error.strerror or error}") from error
