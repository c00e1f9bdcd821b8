"""Hides the content of files that a rule forbids to read (docs/adr/0016): wraps the workspace and the
navigator of a tool, so that no tool reads them indirectly. File names stay visible.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Literal, cast

from cockpit.core.permission.rules import PermissionRule
from cockpit.plugin.context import Context, Files, Navigator, PathRefused, Workspace
from cockpit.plugin.navigation import Position
from cockpit.protocol.code import ProblemRows, Relation, SourceChoice, SymbolRows
from cockpit.safety.rule_patterns import restricts_path

READ_TOOL_NAMES = frozenset({"read", "grep", "search", "glob", "ls", "*"})
HidingRule = Callable[[str], str]


def hiding_rule(rules: tuple[PermissionRule, ...], root: str) -> HidingRule | None:
    """A function that returns the rule hiding a real path (empty for none), or None when no rule hides
    anything. A rule without a pattern forbids a tool, not a file."""
    denied = tuple(
        rule
        for rule in rules
        if rule.level == "deny"
        and rule.tool.lower() in READ_TOOL_NAMES
        and rule.pattern not in ("", "*", "**")
    )
    if not denied:
        return None

    def hidden(path: str) -> str:
        return next((str(rule) for rule in denied if restricts_path(rule.pattern, path, root)), "")

    return hidden


def hide_files(context: Context, hidden: HidingRule | None) -> Context:
    """`context` with a workspace and a navigator that return no lines of hidden files."""
    if hidden is None:
        return context
    workspace = FilteredWorkspace(context.workspace, hidden)
    navigator = cast("Navigator", FilteredNavigator(context.navigator, workspace))
    return replace(context, workspace=cast("Workspace", workspace), navigator=navigator)


class FilteredWorkspace:
    """A workspace in which some files cannot be read; everything else is delegated."""

    def __init__(self, inner: Workspace, hidden: HidingRule) -> None:
        self._inner = inner
        self._hidden = hidden
        self.files = FilteredFiles(inner.files, self)

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    def resolve(self, path: str, access: Literal["read", "write"]) -> str:
        real = self._inner.resolve(path, access)
        if access == "read" and (rule := self._hidden(real)):
            raise PathRefused(f"{path} must not be read: the rule {rule} denies it", "continue without it")
        return real


class FilteredFiles:
    """The files of a workspace, some of which cannot be read; everything else is delegated."""

    def __init__(self, inner: Files, workspace: FilteredWorkspace) -> None:
        self._inner = inner
        self._workspace = workspace

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    async def read(self, path: str) -> bytes:
        self._workspace.resolve(path, "read")
        return await self._inner.read(path)


class FilteredNavigator:
    """A navigator whose rows have no text when their file is hidden; everything else is delegated."""

    def __init__(self, inner: Navigator, workspace: FilteredWorkspace) -> None:
        self._inner = inner
        self._workspace = workspace

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    async def outline(self, path: str, source: SourceChoice = "auto") -> SymbolRows:
        self._workspace.resolve(path, "read")
        return await self._inner.outline(path, source)

    async def symbols(
        self, query: str, kind: str = "", source: SourceChoice = "auto", patience: float = 1.0
    ) -> SymbolRows:
        return self._without(await self._inner.symbols(query, kind, source, patience))

    async def related(
        self, relation: Relation, at: Position, source: SourceChoice = "auto", patience: float = 1.0
    ) -> SymbolRows:
        return self._without(await self._inner.related(relation, at, source, patience))

    async def hover(self, at: Position) -> str:
        self._workspace.resolve(at.path, "read")
        return await self._inner.hover(at)

    async def problems(self, paths: tuple[str, ...] = (), patience: float = 1.0) -> ProblemRows:
        rows = await self._inner.problems(paths, patience)
        return replace(rows, rows=tuple(row for row in rows.rows if self._shows(row.path)))

    def _without(self, rows: SymbolRows) -> SymbolRows:
        shown = (row if self._shows(row.path) else replace(row, text="") for row in rows.rows)
        return replace(rows, rows=tuple(shown))

    def _shows(self, path: str) -> bool:
        try:
            self._workspace.resolve(path, "read")
        except PathRefused:
            return False
        return True
