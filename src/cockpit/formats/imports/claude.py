"""Claude Code: the `settings.json` of user and project, and `~/.claude.json` with its MCP servers.

Its MCP servers, agents, commands and restricting rules are read by cockpit in place.
"""

from pathlib import Path
from typing import cast, get_args

from cockpit.formats.imports.collector import RuleLevel, SettingsCollector, SettingsSection

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
KNOWN_KEYS = frozenset({"permissions", "model", "env", "hooks", "mcpServers", "$schema"})


def read(root: Path, trusted: bool, home: Path, collector: SettingsCollector) -> None:
    """Add what Claude Code's files say."""
    files = [(home / ".claude/settings.json", "")]
    if trusted:
        files += [(root / ".claude" / name, str(root)) for name in ("settings.json", "settings.local.json")]
    for path, folder in files:
        if (settings := collector.open(path, bool(folder))) is not None:
            _collect_settings(settings, folder)
    if (state := collector.open(home / ".claude.json")) is not None:
        _collect_state(state, str(root))


def _collect_settings(settings: SettingsSection, root: str) -> None:
    permissions = settings.below("permissions")
    for level in get_args(RuleLevel):
        for item in permissions.items(level):
            item.rule(cast("RuleLevel", level), str(item.at()), root=root, in_place=True)
    if mode := MODES.get(permissions.text("defaultMode")):
        permissions.below("defaultMode").mode(mode)
    for folder in permissions.words("additionalDirectories"):
        why = "cockpit asks about folders outside the project when they are needed"
        permissions.below("additionalDirectories").left("other", folder, why)
    if model := settings.text("model"):
        settings.below("model").model("anthropic", model, "models.default")
    if settings.text("env", "ANTHROPIC_BASE_URL"):
        settings.below("env", "ANTHROPIC_BASE_URL").left("provider", "ANTHROPIC_BASE_URL", OWN_PROTOCOL)
    if settings.table("env"):
        why = "variables for commands are not imported: export them in your shell"
        settings.below("env").left("other", "env", why)
    if settings.at("hooks"):
        why = "cockpit reads Claude's hooks in place (`cockpit hooks list`)"
        settings.below("hooks").left("other", "hooks", why)
    settings.left_unknown(KNOWN_KEYS, {})


def _collect_state(state: SettingsSection, root: str) -> None:
    for path in (("mcpServers",), ("projects", root, "mcpServers")):
        for name, entry in state.tables(*path):
            _collect_server(entry, name)
    for item in state.items("projects", root, "allowedTools"):
        item.rule("allow", str(item.at()), root=root)


def _collect_server(entry: SettingsSection, name: str) -> None:
    program, timeout = entry.text("command"), entry.at("timeout")
    entry.server(
        name,
        type=entry.text("type"),
        command=(program, *entry.words("args")) if program else (),
        env=entry.table("env"),
        headers=entry.table("headers"),
        oauth=entry.table("oauth"),
        milliseconds=timeout if isinstance(timeout, int) else 0,
        disabled=entry.at("disabled") is True,
        in_place=True,
    )
