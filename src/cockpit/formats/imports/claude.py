"""Claude Code: the `settings.json` of user and project, and `~/.claude.json` with its MCP servers.

Its MCP servers, agents, commands and restricting rules are read by cockpit in place.
"""

from pathlib import Path
from typing import cast, get_args

from cockpit.formats.config_files import ConfigFile
from cockpit.formats.imports.collector import RuleLevel, SettingsCollector

AGENT = "claude"
MODES = {
    "default": "ask",
    "manual": "ask",
    "acceptEdits": "auto-edit",
    "auto": "auto-edit",
    "plan": "plan",
    "dontAsk": "deny",
    "bypassPermissions": "full",
}
OWN_PROTOCOL = "it speaks Anthropic's own protocol; choose a model of another provider with `cockpit connect`"
# Read in place by cockpit.
READ_IN_PLACE = {"hooks": "cockpit reads Claude's hooks in place (`cockpit hooks list`)"}
KNOWN_KEYS = frozenset({"permissions", "model", "env", "hooks", "mcpServers", "$schema"})


def read(root: Path, trusted: bool, home: Path, gathering: SettingsCollector) -> None:
    """Add what Claude Code's files say."""
    _collect_settings(gathering, home / ".claude/settings.json", "")
    if trusted:
        for name in ("settings.json", "settings.local.json"):
            _collect_settings(gathering, root / ".claude" / name, str(root))
    if (doc := gathering.open(home / ".claude.json")) is not None:
        _collect_state(gathering, doc, str(root))


def _collect_settings(gathering: SettingsCollector, path: Path, root: str) -> None:
    doc = gathering.open(path, bool(root))
    if doc is None:
        return
    for level in get_args(RuleLevel):
        for at, text in enumerate(doc.rows("permissions", level)):
            where = ("permissions", level, at)
            gathering.rule(doc, where, cast("RuleLevel", level), str(text), root=root, in_place=True)
    if mode := MODES.get(doc.text("permissions", "defaultMode")):
        if root:
            why = "a project may not set the mode; use --mode or `cockpit config set mode`"
            gathering.left(doc, ("permissions", "defaultMode"), "mode", mode, why)
        else:
            gathering.mode(doc, ("permissions", "defaultMode"), mode)
    for folder in doc.rows("permissions", "additionalDirectories"):
        why = "cockpit asks about folders outside the project when they are needed"
        gathering.left(doc, ("permissions", "additionalDirectories"), "other", str(folder), why)
    if model := doc.text("model"):
        gathering.model(doc, ("model",), "anthropic", model, "models.default")
    if doc.text("env", "ANTHROPIC_BASE_URL"):
        gathering.left(doc, ("env", "ANTHROPIC_BASE_URL"), "provider", "ANTHROPIC_BASE_URL", OWN_PROTOCOL)
    if doc.table("env"):
        why = "variables for commands are not imported: export them in your shell"
        gathering.left(doc, ("env",), "other", "env", why)
    for key, why in READ_IN_PLACE.items():
        if doc.at(key):
            gathering.left(doc, (key,), "other", key, why)
    for key in doc.table():
        if key not in KNOWN_KEYS:
            gathering.left(doc, (key,), "other", key, "cockpit has no setting for it")


def _collect_state(gathering: SettingsCollector, doc: ConfigFile, root: str) -> None:
    for name in doc.table("mcpServers"):
        _collect_server(gathering, doc, ("mcpServers", name), name)
    for name in doc.table("projects", root, "mcpServers"):
        _collect_server(gathering, doc, ("projects", root, "mcpServers", name), name)
    for at, text in enumerate(doc.rows("projects", root, "allowedTools")):
        gathering.rule(doc, ("projects", root, "allowedTools", at), "allow", str(text), root=root)


def _collect_server(gathering: SettingsCollector, doc: ConfigFile, path: tuple[str, ...], name: str) -> None:
    entry = doc.table(*path)
    args = entry.get("args")
    command = (doc.text(*path, "command"), *(map(str, args) if isinstance(args, list) else ()))
    timeout = entry.get("timeout")
    gathering.server(
        doc,
        path,
        name,
        type=doc.text(*path, "type"),
        command=command if command[0] else (),
        env=doc.table(*path, "env"),
        url=doc.text(*path, "url"),
        headers=doc.table(*path, "headers"),
        oauth=doc.table(*path, "oauth"),
        milliseconds=timeout if isinstance(timeout, int) else 0,
        disabled=entry.get("disabled") is True,
        in_place=True,
    )
