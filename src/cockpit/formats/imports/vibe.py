"""mistral-vibe: `~/.vibe/config.toml`, a trusted project's `.vibe/config.toml`, and their agents."""

import shlex
from pathlib import Path

from cockpit.formats.imports.collector import RuleLevel, SettingsCollector, SettingsSection
from cockpit.protocol.mcp_names import mcp_tool_name
from cockpit.protocol.messages import Json
from cockpit.settings import file_io

AGENT = "vibe"
PERMISSION_LEVELS: dict[str, RuleLevel] = {"always": "allow", "ask": "ask", "never": "deny"}
LIST_LEVELS: dict[str, RuleLevel] = {"allowlist": "allow", "denylist": "deny"}
MODES = {"plan": "plan", "accept-edits": "auto-edit", "auto-approve": "full", "default": "ask", "ask": "ask"}
TOOL_TABLE = """
    bash=Bash read_file=Read read=Read write_file=Write search_replace=Edit edit=Edit grep=Grep
    todo=TodoWrite task=Task web_fetch=WebFetch web_search=WebSearch skill=Skill
"""
TOOLS = dict(pair.split("=") for pair in TOOL_TABLE.split())
KNOWN_KEYS = frozenset(
    {"active_model", "models", "providers", "mcp_servers", "tools", "enabled_tools", "disabled_tools"}
    | {"default_agent"}
)
REASONS = {
    "skill_paths": "put or link these skills into ~/.agents/skills",
    "disabled_skills": "`cockpit skills disable NAME`",
    "system_prompt_id": "put your own instructions into AGENTS.md next to your settings",
}


def read(root: Path, trusted: bool, home: Path, collector: SettingsCollector) -> None:
    """Add what vibe's files say."""
    for folder, project in ((home, ""), *(((root, str(root)),) if trusted else ())):
        if (config := collector.open(folder / ".vibe/config.toml", bool(project))) is not None:
            _collect_config(config, project)
        for path in sorted((folder / ".vibe/agents").glob("*.toml")):
            if (config := collector.open(path, bool(project))) is not None:
                _collect_agent(config, path, project)


def _collect_config(config: SettingsSection, root: str) -> None:
    for entry in config.items("providers"):
        if isinstance(entry.at(), dict):
            _collect_provider(entry)
    active = config.text("active_model")
    named = False
    for entry in config.items("models"):
        is_active = active in (entry.text("alias"), entry.text("name"))
        named = named or is_active
        if isinstance(entry.at(), dict):
            _collect_model(entry, bool(active) and is_active)
    if active and not named:
        config.below("active_model").model("mistral", active, "models.default")
    for entry in config.items("mcp_servers"):
        if isinstance(entry.at(), dict):
            _collect_server(entry)
    _collect_permissions(config, root)
    if mode := MODES.get(config.text("default_agent")):
        config.below("default_agent").mode(mode)
    config.left_unknown(KNOWN_KEYS, REASONS)


def _collect_provider(entry: SettingsSection) -> None:
    style, backend = entry.text("api_style") or "openai", entry.text("backend")
    unsupported = "" if style in ("openai", "reasoning") else f"it speaks the protocol `{style}`"
    if backend not in ("", "generic", "mistral"):
        unsupported = f"it speaks the protocol of {backend}"
    entry.provider(
        entry.text("name"),
        url=entry.text("api_base"),
        key_env=entry.text("api_key_env_var"),
        headers=entry.table("extra_headers"),
        unsupported=unsupported,
    )


def _collect_model(entry: SettingsSection, is_active: bool) -> None:
    name, provider = entry.text("name"), entry.text("provider")
    if is_active:
        entry.model(provider, name, "models.default")
    facts = {
        "input": entry.at("input_price"),
        "output": entry.at("output_price"),
        "cached": entry.at("cached_input_price"),
        "images": entry.at("supports_images"),
        "thinks": entry.text("thinking") not in ("", "off"),
    }
    entry.prices(provider, name, facts)


def _collect_server(entry: SettingsSection) -> None:
    # Older files have these fields next to the address, newer ones under `auth`.
    auth = entry.below("auth") if entry.table("auth") else entry
    headers: dict[str, Json] = dict(auth.table("headers"))
    if token := auth.text("api_key_env"):
        form = auth.text("api_key_format") or "Bearer {token}"
        headers[auth.text("api_key_header") or "Authorization"] = form.replace("{token}", f"${{{token}}}")
    client = {"clientId": auth.text("client_id"), "scope": " ".join(auth.words("scopes"))}
    uses_oauth = auth.text("type") == "oauth"
    words = entry.words("command") or shlex.split(entry.text("command"))
    name = entry.text("name")
    entry.server(
        name,
        command=(*words, *entry.words("args")) if words else (),
        env=entry.table("env"),
        headers=headers,
        cwd=entry.text("cwd"),
        milliseconds=entry.milliseconds("tool_timeout_sec"),
        disabled=entry.at("disabled") is True,
        oauth={key: value for key, value in client.items() if value and uses_oauth},
    )
    entry.disabled_tools(name)


def _collect_permissions(config: SettingsSection, root: str) -> None:
    for name, entry in config.tables("tools"):
        tool = _convert_tool_name(name, config)
        level = PERMISSION_LEVELS.get(entry.text("permission"))
        if level is not None and not (level == "ask" and entry.at("allowlist")):
            entry.below("permission").rule(level, tool, root=root)
        for key, list_level in LIST_LEVELS.items():
            for item in entry.items(key):
                item.rule(list_level, f"{tool}({_convert_pattern(name, str(item.at()))})", root=root)
    for item in config.items("disabled_tools"):
        off = str(item.at())
        if off.startswith("re:"):
            item.left("rule", off, "rules support `*` but no regular expressions")
        else:
            item.rule("deny", _convert_tool_name(off, config), root=root)
    if config.rows("enabled_tools"):
        why = "only some tools are switched on: deny the others in `permissions.deny`"
        config.below("enabled_tools").left("rule", "enabled_tools", why)


def _convert_tool_name(name: str, config: SettingsSection) -> str:
    """vibe's tool name as rules write it: `fetch_get` is `mcp__fetch__get` if `fetch` is a server."""
    servers = filter(None, (entry.text("name") for entry in config.items("mcp_servers")))
    for server in sorted(servers, key=len, reverse=True):
        if name.startswith(f"{server}_"):
            return mcp_tool_name(server, name.removeprefix(f"{server}_"))
    return TOOLS.get(name, name)


def _convert_pattern(tool: str, pattern: str) -> str:
    """An entry of `bash`'s lists is the beginning of a command."""
    return f"{pattern} *" if tool == "bash" and not pattern.endswith("*") else pattern


def _collect_agent(config: SettingsSection, path: Path, root: str) -> None:
    name = path.stem
    if root:
        config.left("agent", name, "it belongs to the project: write it as .cockpit/agents/NAME.md")
        return
    body = config.text("instructions")
    if not body and (id := config.text("system_prompt_id")):
        try:
            body = file_io.read_text(path.parent.parent / "prompts" / f"{Path(id).name}.md", 200_000)
        except OSError:
            config.below("system_prompt_id").left("agent", name, f"its prompt {id} is not in prompts/")
            return
    on, off = (
        [word for word in config.words(key) if not word.startswith("re:")]
        for key in ("enabled_tools", "disabled_tools")
    )
    off += [tool for tool, entry in config.tables("tools") if entry.text("permission") == "never"]
    head: dict[str, Json] = {
        "description": config.text("description") or config.text("display_name") or f"from vibe: {name}",
        "tools": [_convert_tool_name(tool, config) for tool in on],
        "disallowedTools": [_convert_tool_name(tool, config) for tool in off],
    }
    config.agent_file(name, head, body)
