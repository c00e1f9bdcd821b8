"""crush: `crush.json` and `.crush.json`, the user's and a trusted project's."""

from pathlib import Path

from cockpit.formats.imports.collector import SettingsCollector, SettingsSection
from cockpit.protocol.mcp_names import mcp_tool_name

AGENT = "crush"
USER_FILES = (".config/crush/crush.json", ".local/share/crush/crush.json")
PROJECT_FILES = ("crush.json", ".crush.json")
TIERS = {"large": "models.default", "small": "models.tiers.fast"}
OPENAI_TYPES = "openai openai-compat openrouter litellm llamacpp lmstudio ollama omlx vercel"
TOOL_TABLE = """
    bash=Bash view=Read ls=LS grep=Grep glob=Glob edit=Edit multiedit=MultiEdit write=Write fetch=WebFetch
    agentic_fetch=WebFetch web_search=WebSearch agent=Task job_output=BashOutput job_kill=KillShell
"""
TOOLS = dict(pair.split("=") for pair in TOOL_TABLE.split())
KNOWN_KEYS = frozenset({"$schema", "models", "providers", "mcp", "permissions", "options"})
REASONS = {
    "lsp": "`cockpit doctor` lists the language servers; add others in .lsp.json",
    "hooks": "crush's hooks have Claude's format: put them into .cockpit/hooks.json",
    "env": "variables are not imported: export them in your shell",
}


def read(root: Path, trusted: bool, home: Path, collector: SettingsCollector) -> None:
    """Add what crush's files say."""
    for name in USER_FILES:
        if (config := collector.open(home / name)) is not None:
            _collect_config(config, "")
    for name in PROJECT_FILES if trusted else ():
        if (config := collector.open(root / name, True)) is not None:
            _collect_config(config, str(root))


def _collect_config(config: SettingsSection, root: str) -> None:
    for name, entry in config.tables("providers"):
        _collect_provider(entry, name)
    for size, entry in config.tables("models"):
        if (key := TIERS.get(size)) is not None:
            entry.model(entry.text("provider"), entry.text("model"), key)
    for name, entry in config.tables("mcp"):
        _collect_server(entry, name)
    for item in config.items("permissions", "allowed_tools"):
        item.rule("allow", _convert_tool_name(str(item.at()), config), root=root)
    for item in config.items("options", "disabled_tools"):
        item.rule("deny", _convert_tool_name(str(item.at()), config), root=root)
    for key, option in config.tables("options"):
        if key != "disabled_tools":
            option.left("other", f"options.{key}", "cockpit has no setting for it")
    config.left_unknown(KNOWN_KEYS, REASONS)


def _convert_tool_name(name: str, config: SettingsSection) -> str:
    """crush's tool name as rules write it: `mcp_context7_get-docs` is `mcp__context7__get-docs`."""
    for server in sorted(config.table("mcp"), key=len, reverse=True):
        if name.startswith(f"mcp_{server}_"):
            return mcp_tool_name(server, name.removeprefix(f"mcp_{server}_"))
    tool, _, action = name.partition(":")
    return TOOLS.get(tool, tool) if not action else f"{TOOLS.get(tool, tool)}({action})"


def _collect_provider(entry: SettingsSection, name: str) -> None:
    if entry.at("disable") is True:
        entry.left("provider", name, "it is switched off")
        return
    kind = entry.text("type")
    first = entry.at("models", 0)
    entry.provider(
        name,
        url=entry.text("base_url"),
        key=entry.text("api_key"),
        label=entry.text("name"),
        default=str(first.get("id", "")) if isinstance(first, dict) else "",
        headers=entry.table("extra_headers"),
        unsupported="" if not kind or kind in OPENAI_TYPES.split() else f"it speaks the protocol of {kind}",
    )
    for model in entry.items("models"):
        facts = {
            "window": model.at("context_window"),
            "max_output": model.at("default_max_tokens"),
            "input": model.at("cost_per_1m_in"),
            "output": model.at("cost_per_1m_out"),
            "cached": model.at("cost_per_1m_in_cached"),
            "images": model.at("supports_attachments"),
            "thinks": model.at("can_reason"),
        }
        model.prices(name, model.text("id"), facts)


def _collect_server(entry: SettingsSection, name: str) -> None:
    program = entry.text("command")
    client = {"clientId": entry.text("oauth_client_id"), "clientSecret": entry.text("oauth_client_secret")}
    entry.server(
        name,
        type=entry.text("type"),
        command=(program, *entry.words("args")) if program else (),
        env=entry.table("env"),
        headers=entry.table("headers"),
        milliseconds=entry.milliseconds("timeout"),
        disabled=entry.at("disabled") is True,
        oauth={key: value for key, value in client.items() if value},
    )
    entry.disabled_tools(name)
