"""mistral-vibe: `~/.vibe/config.toml`, a trusted project's `.vibe/config.toml`, and their agents."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from cockpit.formats.config_files import ConfigFile
from cockpit.formats.imports.codex import deny_disabled_tools
from cockpit.formats.imports.collector import RuleLevel, SettingsCollector
from cockpit.protocol.mcp_names import mcp_tool_name
from cockpit.protocol.messages import Json
from cockpit.settings import file_io

AGENT = "vibe"
PERMISSION_LEVELS: dict[str, RuleLevel] = {"always": "allow", "ask": "ask", "never": "deny"}
MODES = {"plan": "plan", "accept-edits": "auto-edit", "auto-approve": "full", "default": "ask", "ask": "ask"}
TOOLS = {
    "bash": "Bash",
    "read_file": "Read",
    "read": "Read",
    "write_file": "Write",
    "search_replace": "Edit",
    "edit": "Edit",
    "grep": "Grep",
    "todo": "TodoWrite",
    "task": "Task",
    "web_fetch": "WebFetch",
    "web_search": "WebSearch",
    "skill": "Skill",
}
KNOWN_KEYS = frozenset(
    {
        "active_model",
        "models",
        "providers",
        "mcp_servers",
        "tools",
        "enabled_tools",
        "disabled_tools",
        "default_agent",
    }
)
REASONS = {
    "skill_paths": "put or link these skills into ~/.agents/skills",
    "disabled_skills": "`cockpit skills disable NAME`",
    "system_prompt_id": "put your own instructions into AGENTS.md next to your settings",
}


def read(root: Path, trusted: bool, home: Path, gathering: SettingsCollector) -> None:
    """Add what vibe's files say."""
    for folder, whose in ((home / ".vibe", ""), *(((root / ".vibe", str(root)),) if trusted else ())):
        if (doc := gathering.open(folder / "config.toml", bool(whose))) is not None:
            _collect_config(gathering, doc, whose)
        for path in sorted((folder / "agents").glob("*.toml")):
            if (doc := gathering.open(path, bool(whose))) is not None:
                _collect_agent(gathering, doc, path, whose)


def _collect_config(gathering: SettingsCollector, doc: ConfigFile, root: str) -> None:
    for at, row in enumerate(doc.rows("providers")):
        if isinstance(row, dict):
            _collect_provider(gathering, doc, at)
    active = doc.text("active_model")
    for at, entry in enumerate(doc.rows("models")):
        if isinstance(entry, dict):
            _collect_model(gathering, doc, at, active)
    if active and not any(
        active in (doc.text("models", at, "alias"), doc.text("models", at, "name"))
        for at in range(len(doc.rows("models")))
    ):
        gathering.model(doc, ("active_model",), "mistral", active, "models.default")
    for at, item in enumerate(doc.rows("mcp_servers")):
        if isinstance(item, dict):
            _collect_server(gathering, doc, at)
    _collect_permissions(gathering, doc, root)
    if mode := MODES.get(doc.text("default_agent")):
        if root:
            gathering.left(doc, ("default_agent",), "mode", mode, "a project may not set the user's mode")
        else:
            gathering.mode(doc, ("default_agent",), mode)
    for key in doc.table():
        if key not in KNOWN_KEYS:
            gathering.left(doc, (key,), "other", key, REASONS.get(key, "cockpit has no setting for it"))


def _collect_provider(gathering: SettingsCollector, doc: ConfigFile, at: int) -> None:
    path = ("providers", at)
    style, backend = doc.text(*path, "api_style") or "openai", doc.text(*path, "backend")
    foreign = "" if style in ("openai", "reasoning") else f"it speaks the protocol `{style}`"
    if backend not in ("", "generic", "mistral"):
        foreign = f"it speaks the protocol of {backend}"
    gathering.provider(
        doc,
        path,
        doc.text(*path, "name"),
        url=doc.text(*path, "api_base"),
        key_env=doc.text(*path, "api_key_env_var"),
        headers=doc.table(*path, "extra_headers"),
        foreign=foreign,
    )


def _collect_model(gathering: SettingsCollector, doc: ConfigFile, at: int, active: str) -> None:
    path = ("models", at)
    name, provider = doc.text(*path, "name"), doc.text(*path, "provider")
    if active and active in (doc.text(*path, "alias"), name):
        gathering.model(doc, path, provider, name, "models.default")
    facts = {
        "input": doc.at(*path, "input_price"),
        "output": doc.at(*path, "output_price"),
        "cached": doc.at(*path, "cached_input_price"),
        "images": doc.at(*path, "supports_images"),
        "thinks": doc.text(*path, "thinking") not in ("", "off"),
    }
    gathering.prices(doc, path, provider, name, facts)


def _collect_server(gathering: SettingsCollector, doc: ConfigFile, at: int) -> None:
    path: tuple[str | int, ...] = ("mcp_servers", at)
    # Older files have these fields next to the address, newer ones under `auth`.
    auth = (*path, "auth") if doc.table(*path, "auth") else path
    headers: dict[str, Json] = dict(doc.table(*auth, "headers"))
    if token := doc.text(*auth, "api_key_env"):
        form = doc.text(*auth, "api_key_format") or "Bearer {token}"
        headers[doc.text(*auth, "api_key_header") or "Authorization"] = form.replace(
            "{token}", f"${{{token}}}"
        )
    oauth: dict[str, Json] = {}
    if doc.text(*auth, "type") == "oauth":
        scopes = " ".join(str(row) for row in doc.rows(*auth, "scopes"))
        client = {"clientId": doc.text(*auth, "client_id"), "scope": scopes}
        oauth = {key: value for key, value in client.items() if value}
    command = doc.at(*path, "command")
    words = (
        [str(entry) for entry in command] if isinstance(command, list) else shlex.split(str(command or ""))
    )
    seconds = doc.at(*path, "tool_timeout_sec")
    name = doc.text(*path, "name")
    gathering.server(
        doc,
        path,
        name,
        command=(*words, *map(str, doc.rows(*path, "args"))) if words else (),
        env=doc.table(*path, "env"),
        url=doc.text(*path, "url"),
        headers=headers,
        cwd=doc.text(*path, "cwd"),
        milliseconds=1000 * seconds if isinstance(seconds, int | float) else 0,
        disabled=doc.at(*path, "disabled") is True,
        oauth=oauth,
    )
    deny_disabled_tools(gathering, doc, path, name, "disabled_tools", "enabled_tools")


def _collect_permissions(gathering: SettingsCollector, doc: ConfigFile, root: str) -> None:
    for name, table in doc.table("tools").items():
        path = ("tools", name)
        level = PERMISSION_LEVELS.get(doc.text(*path, "permission"))
        if isinstance(table, dict) and level is not None and not (level == "ask" and table.get("allowlist")):
            gathering.rule(doc, (*path, "permission"), level, convert_tool_name(name, doc), root=root)
        for key, level_name in (("allowlist", "allow"), ("denylist", "deny")):
            for at, pattern in enumerate(doc.rows(*path, key)):
                text = f"{convert_tool_name(name, doc)}({_convert_pattern(name, str(pattern))})"
                gathering.rule(doc, (*path, key, at), cast("RuleLevel", level_name), text, root=root)
    for at, off in enumerate(map(str, doc.rows("disabled_tools"))):
        if off.startswith("re:"):
            why = "rules support `*` but no regular expressions"
            gathering.left(doc, ("disabled_tools", at), "rule", off, why)
        else:
            gathering.rule(doc, ("disabled_tools", at), "deny", convert_tool_name(off, doc), root=root)
    if doc.rows("enabled_tools"):
        why = "only some tools are switched on: deny the others in `permissions.deny`"
        gathering.left(doc, ("enabled_tools",), "rule", "enabled_tools", why)


def convert_tool_name(name: str, doc: ConfigFile) -> str:
    """vibe's tool name as rules write it: `fetch_get` is `mcp__fetch__get` if `fetch` is a server."""
    servers = [doc.text("mcp_servers", at, "name") for at in range(len(doc.rows("mcp_servers")))]
    for server in sorted(filter(None, servers), key=len, reverse=True):
        if name.startswith(f"{server}_"):
            return mcp_tool_name(server, name.removeprefix(f"{server}_"))
    return TOOLS.get(name, name)


def _convert_pattern(tool: str, pattern: str) -> str:
    """An entry of `bash`'s lists is the beginning of a command."""
    return f"{pattern} *" if tool == "bash" and not pattern.endswith("*") else pattern


def _collect_agent(gathering: SettingsCollector, doc: ConfigFile, path: Path, root: str) -> None:
    name = path.stem
    if root:
        why = "it belongs to the project: write it as .cockpit/agents/NAME.md"
        gathering.left(doc, (), "agent", name, why)
        return
    body = doc.text("instructions")
    if not body and (id := doc.text("system_prompt_id")):
        try:
            body = file_io.read_text(path.parent.parent / "prompts" / f"{Path(id).name}.md", 200_000)
        except OSError:
            gathering.left(doc, ("system_prompt_id",), "agent", name, f"its prompt {id} is not in prompts/")
            return
    gathering.agent_file(doc, (), name, dict(_build_head(doc, name)), body)


def _build_head(doc: ConfigFile, name: str) -> Iterator[tuple[str, Json]]:
    yield "description", doc.text("description") or doc.text("display_name") or f"from vibe: {name}"
    on = [
        convert_tool_name(str(row), doc)
        for row in doc.rows("enabled_tools")
        if not str(row).startswith("re:")
    ]
    off = [
        convert_tool_name(str(entry), doc)
        for entry in doc.rows("disabled_tools")
        if not str(entry).startswith("re:")
    ]
    off += [
        convert_tool_name(tool, doc)
        for tool in doc.table("tools")
        if doc.text("tools", tool, "permission") == "never"
    ]
    yield "tools", cast("Json", on)
    yield "disallowedTools", cast("Json", off)
