"""opencode: `opencode.json` and `opencode.jsonc`, the user's and a trusted project's.

Its agent and command files, and the commands in its settings, are read by cockpit in place.
"""

import re
from pathlib import Path
from typing import cast

from cockpit.formats.imports.collector import RuleLevel, SettingsCollector, SettingsSection
from cockpit.protocol.mcp_names import mcp_tool_name
from cockpit.protocol.messages import Json
from cockpit.settings import file_io

AGENT = "opencode"
MAX_PROMPT_BYTES = 200_000
FILE_NAMES = ("opencode.json", "opencode.jsonc")
LEVELS = ("allow", "ask", "deny")
TOOL_TABLE = """
    bash=Bash edit=Edit write=Write patch=Edit read=Read glob=Glob grep=Grep list=LS webfetch=WebFetch
    websearch=WebSearch task=Task skill=Skill todowrite=TodoWrite todoread=TodoRead
"""
TOOLS = dict(pair.split("=") for pair in TOOL_TABLE.split())
MODE_OF_LEVEL = {"allow": "full", "ask": "ask", "deny": "deny"}
OPENAI_PACKAGES = ("", "@ai-sdk/openai-compatible", "@ai-sdk/openai", "@openrouter/ai-sdk-provider")
KNOWN_KEYS = frozenset(
    {"$schema", "model", "small_model", "provider", "mcp", "permission", "tools", "agent", "agents"}
    | {"command", "commands"}
)
REASONS = {
    "instructions": "import these files in AGENTS.md, each as @path",
    "plugin": "opencode's plugins only run in opencode; `cockpit plugins` lists cockpit's",
    "lsp": "`cockpit doctor` lists the language servers; add others in .lsp.json",
    "formatter": "use a `PostToolUse` hook in .cockpit/hooks.json to format after an edit",
    "theme": "themes are TOML files in the folder `themes` next to your settings",
    "keybinds": "keys are set in keys.toml next to your settings",
}


def read(root: Path, trusted: bool, home: Path, collector: SettingsCollector) -> None:
    """Add what opencode's files say."""
    for name in FILE_NAMES:
        if (config := collector.open(home / ".config/opencode" / name)) is not None:
            _collect_config(config, "")
    for name in FILE_NAMES if trusted else ():
        if (config := collector.open(root / name, True)) is not None:
            _collect_config(config, str(root))


def _collect_config(config: SettingsSection, root: str) -> None:
    for name, entry in config.tables("provider"):
        _collect_provider(entry, name)
    for key, ours in (("model", "models.default"), ("small_model", "models.tiers.fast")):
        provider, _, id = config.text(key).partition("/")
        config.below(key).model(provider, id, ours)
    for name, entry in config.tables("mcp"):
        _collect_server(entry, name)
    _collect_permissions(config, root)
    agents = dict(config.tables("agent"))
    for name, entry in (*agents.items(), *config.tables("agents")):
        if agents.setdefault(name, entry) is not entry:
            continue
        _collect_agent(config, entry, name, root)
    for key in ("command", "commands"):
        if key in config.table():
            why = "cockpit reads them in place (`cockpit commands list`)"
            config.below(key).left("command", key, why)
    config.left_unknown(KNOWN_KEYS, REASONS)


def _collect_provider(entry: SettingsSection, name: str) -> None:
    package = entry.text("npm")
    entry.provider(
        name,
        url=entry.text("options", "baseURL"),
        key=entry.text("options", "apiKey"),
        key_env=next(iter(entry.words("env")), ""),
        label=entry.text("name"),
        default=next(iter(entry.table("models")), ""),
        headers=entry.table("options", "headers"),
        unsupported="" if package in OPENAI_PACKAGES else f"{package} does not speak the OpenAI protocol",
    )
    for id, model in entry.tables("models"):
        facts = {
            "window": model.at("limit", "context"),
            "max_output": model.at("limit", "output"),
            "input": model.at("cost", "input"),
            "output": model.at("cost", "output"),
            "cached": model.at("cost", "cache_read"),
            "images": model.at("attachment"),
            "thinks": model.at("reasoning"),
        }
        model.prices(name, id, facts)


def _collect_server(entry: SettingsSection, name: str) -> None:
    words = entry.words("command") or entry.text("command").split()
    if not words and not entry.text("url") and set(entry.table()) <= {"enabled"}:
        entry.left("mcp", name, "it only enables or disables a server defined in another file")
        return
    note = "opencode's timeout is for the list of tools, cockpit's for a call: it was not copied"
    entry.server(
        name,
        command=words,
        env=entry.table("environment"),
        headers=entry.table("headers"),
        cwd=entry.text("cwd"),
        disabled=entry.at("enabled") is False,
        oauth=entry.table("oauth"),
        notes=(note,) if entry.at("timeout") else (),
    )


def _collect_permissions(config: SettingsSection, root: str) -> None:
    if mode := MODE_OF_LEVEL.get(config.text("permission")):
        config.below("permission").mode(mode)
    for name, entry in config.tables("permission"):
        _collect_tool(config, entry, name, root)
    for name, entry in config.tables("tools"):
        if entry.at() is False:
            entry.rule("deny", _convert_tool_name(name, config), root=root)


def _collect_tool(config: SettingsSection, entry: SettingsSection, name: str, root: str) -> None:
    """The permissions of a tool. In opencode the last matching rule wins, here the strictest."""
    levels = entry.at()
    if name == "*":
        mode = MODE_OF_LEVEL.get(str(levels), "")
        entry.left("mode", mode or name, "set the mode instead: `cockpit config set mode ...`")
        return
    if name in ("external_directory", "doom_loop"):
        entry.left("rule", name, "cockpit asks about this anyway")
        return
    tool = _convert_tool_name(name, config)
    rules = list(levels.items()) if isinstance(levels, dict) else [("*", levels)]
    for at, (pattern, level) in enumerate(rules):
        place = entry.below(pattern) if isinstance(levels, dict) else entry
        if level not in LEVELS:
            place.left("rule", f"{name} {pattern}", f"{level!r} is none of {', '.join(LEVELS)}")
        elif pattern == "*" and level != "allow" and any(rule == "allow" for _, rule in rules[at + 1 :]):
            if level == "deny":
                why = "here a deny overrides every allow; write a deny for each pattern"
                place.left("rule", f"deny {tool}", why)
        else:
            place.rule(cast("RuleLevel", level), _format_rule(tool, pattern), root=root)


def _convert_tool_name(name: str, config: SettingsSection) -> str:
    """opencode's tool name as rules write it; `server_*` means every tool of an MCP server."""
    if name in TOOLS:
        return TOOLS[name]
    for server in config.table("mcp"):
        if name.startswith(f"{server}_"):
            return mcp_tool_name(server, name.removeprefix(f"{server}_"))
        if name.rstrip("*") == server:
            return mcp_tool_name(server, "*")
    return name


def _format_rule(tool: str, pattern: str) -> str:
    """A pattern as a rule of cockpit: `*` alone means every call; in a path it crosses folders."""
    if pattern == "*":
        return tool
    pattern = re.sub(r"^\$HOME(?=/|$)", "~", pattern)
    if tool in ("Edit", "Write", "Read"):
        pattern = re.sub(r"(?<!\*)\*(?!\*)", "**", pattern)
    return f"{tool}({pattern})"


def _collect_agent(config: SettingsSection, entry: SettingsSection, name: str, root: str) -> None:
    if entry.at("disable") is True:
        entry.left("agent", name, "it is switched off")
        return
    if root:
        why = f"it belongs to the project: move it to .opencode/agents/{name}.md, which cockpit reads too"
        entry.left("agent", name, why)
        return
    prompt = entry.text("prompt")
    if (file := re.fullmatch(r"\{file:([^}]+)\}", prompt)) is not None:
        path = Path(entry.doc.file).parent / Path(file[1]).expanduser()
        try:
            prompt = file_io.read_text(path, MAX_PROMPT_BYTES)
        except OSError as error:
            entry.left("agent", name, f"its prompt {path} cannot be read: {error.strerror}")
            return
    if prompt:
        entry.agent_file(name, _build_head(config, entry, name), prompt)
    else:
        entry.left("agent", name, "it changes a built-in agent of opencode and has no prompt")


def _build_head(config: SettingsSection, entry: SettingsSection, name: str) -> dict[str, Json]:
    provider, _, id = entry.text("model").partition("/")
    steps = entry.at("maxSteps") or entry.at("steps")
    off = [tool for tool, on in entry.table("tools").items() if on is False]
    off += [tool for tool, level in entry.table("permission").items() if level == "deny"]
    return {
        "description": entry.text("description") or f"from opencode: {name}",
        "model": f"{provider}:{id}" if id else "",
        "maxTurns": steps if isinstance(steps, int) else None,
        "disallowedTools": list(dict.fromkeys(_convert_tool_name(tool, config) for tool in off)),
    }
