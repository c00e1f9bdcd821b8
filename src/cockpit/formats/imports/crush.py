"""crush: `crush.json` and `.crush.json`, the user's and a trusted project's."""

from pathlib import Path

from cockpit.formats.config_files import ConfigFile
from cockpit.formats.imports.codex import deny_disabled_tools
from cockpit.formats.imports.collector import SettingsCollector
from cockpit.protocol.mcp_names import mcp_tool_name

AGENT = "crush"
USER_FILES = (".config/crush/crush.json", ".local/share/crush/crush.json")
PROJECT_FILES = ("crush.json", ".crush.json")
TIERS = {"large": "models.default", "small": "models.tiers.fast"}
OPENAI_TYPES = (
    "",
    "openai",
    "openai-compat",
    "openrouter",
    "litellm",
    "llamacpp",
    "lmstudio",
    "ollama",
    "omlx",
    "vercel",
)
TOOLS = {
    "bash": "Bash",
    "view": "Read",
    "ls": "LS",
    "grep": "Grep",
    "glob": "Glob",
    "edit": "Edit",
    "multiedit": "MultiEdit",
    "write": "Write",
    "fetch": "WebFetch",
    "agentic_fetch": "WebFetch",
    "web_search": "WebSearch",
    "agent": "Task",
    "job_output": "BashOutput",
    "job_kill": "KillShell",
}
KNOWN_KEYS = frozenset({"$schema", "models", "providers", "mcp", "permissions", "options"})
REASONS = {
    "lsp": "`cockpit doctor` lists the language servers; add others in .lsp.json",
    "hooks": "crush's hooks have Claude's format: put them into .cockpit/hooks.json",
    "env": "variables are not imported: export them in your shell",
}


def read(root: Path, trusted: bool, home: Path, gathering: SettingsCollector) -> None:
    """Add what crush's files say."""
    for name in USER_FILES:
        if (doc := gathering.open(home / name)) is not None:
            _collect_config(gathering, doc, "")
    for name in PROJECT_FILES if trusted else ():
        if (doc := gathering.open(root / name, True)) is not None:
            _collect_config(gathering, doc, str(root))


def _collect_config(gathering: SettingsCollector, doc: ConfigFile, root: str) -> None:
    for name in doc.table("providers"):
        _collect_provider(gathering, doc, name)
    for size in doc.table("models"):
        if (key := TIERS.get(size)) is not None:
            provider, id = doc.text("models", size, "provider"), doc.text("models", size, "model")
            gathering.model(doc, ("models", size), provider, id, key)
    for name in doc.table("mcp"):
        _collect_server(gathering, doc, name)
    for at, tool in enumerate(doc.rows("permissions", "allowed_tools")):
        allowed = ("permissions", "allowed_tools", at)
        gathering.rule(doc, allowed, "allow", convert_tool_name(str(tool), doc), root=root)
    for at, tool in enumerate(doc.rows("options", "disabled_tools")):
        off = ("options", "disabled_tools", at)
        gathering.rule(doc, off, "deny", convert_tool_name(str(tool), doc), root=root)
    for key in doc.table("options"):
        if key != "disabled_tools":
            gathering.left(doc, ("options", key), "other", f"options.{key}", "cockpit has no setting for it")
    for key in doc.table():
        if key not in KNOWN_KEYS:
            gathering.left(doc, (key,), "other", key, REASONS.get(key, "cockpit has no setting for it"))


def convert_tool_name(name: str, doc: ConfigFile) -> str:
    """crush's tool name as rules write it: `mcp_context7_get-docs` is `mcp__context7__get-docs`."""
    for server in sorted(doc.table("mcp"), key=len, reverse=True):
        if name.startswith(f"mcp_{server}_"):
            return mcp_tool_name(server, name.removeprefix(f"mcp_{server}_"))
    tool, _, action = name.partition(":")
    return TOOLS.get(tool, tool) if not action else f"{TOOLS.get(tool, tool)}({action})"


def _collect_provider(gathering: SettingsCollector, doc: ConfigFile, name: str) -> None:
    path = ("providers", name)
    kind = doc.text(*path, "type")
    models = doc.rows(*path, "models")
    if doc.at(*path, "disable") is True:
        gathering.left(doc, path, "provider", name, "it is switched off")
        return
    first = models[0] if models else None
    gathering.provider(
        doc,
        path,
        name,
        url=doc.text(*path, "base_url"),
        key=doc.text(*path, "api_key"),
        label=doc.text(*path, "name"),
        default=str(first.get("id", "")) if isinstance(first, dict) else "",
        headers=doc.table(*path, "extra_headers"),
        foreign="" if kind in OPENAI_TYPES else f"it speaks the protocol of {kind}",
    )
    for at in range(len(models)):
        here = (*path, "models", at)
        facts = {
            "window": doc.at(*here, "context_window"),
            "max_output": doc.at(*here, "default_max_tokens"),
            "input": doc.at(*here, "cost_per_1m_in"),
            "output": doc.at(*here, "cost_per_1m_out"),
            "cached": doc.at(*here, "cost_per_1m_in_cached"),
            "images": doc.at(*here, "supports_attachments"),
            "thinks": doc.at(*here, "can_reason"),
        }
        gathering.prices(doc, here, name, doc.text(*here, "id"), facts)


def _collect_server(gathering: SettingsCollector, doc: ConfigFile, name: str) -> None:
    path = ("mcp", name)
    command = doc.text(*path, "command")
    seconds = doc.at(*path, "timeout")
    client = {
        "clientId": doc.text(*path, "oauth_client_id"),
        "clientSecret": doc.text(*path, "oauth_client_secret"),
    }
    gathering.server(
        doc,
        path,
        name,
        type=doc.text(*path, "type"),
        command=(command, *map(str, doc.rows(*path, "args"))) if command else (),
        env=doc.table(*path, "env"),
        url=doc.text(*path, "url"),
        headers=doc.table(*path, "headers"),
        milliseconds=1000 * seconds if isinstance(seconds, int | float) else 0,
        disabled=doc.at(*path, "disabled") is True,
        oauth={key: value for key, value in client.items() if value},
    )
    deny_disabled_tools(gathering, doc, path, name, "disabled_tools", "enabled_tools")
