"""opencode: `opencode.json` and `opencode.jsonc`, the user's and a trusted project's.

Its agent and command files, and the commands in its settings, are read by cockpit in place.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

from cockpit.formats.config_files import ConfigFile
from cockpit.formats.imports.collector import RuleLevel, SettingsCollector
from cockpit.protocol.mcp_names import mcp_tool_name
from cockpit.protocol.messages import Json
from cockpit.settings import file_io

AGENT = "opencode"
MAX_PROMPT_BYTES = 200_000
FILE_NAMES = ("opencode.json", "opencode.jsonc")
LEVELS = ("allow", "ask", "deny")
TOOLS = {
    "bash": "Bash",
    "edit": "Edit",
    "write": "Write",
    "patch": "Edit",
    "read": "Read",
    "glob": "Glob",
    "grep": "Grep",
    "list": "LS",
    "webfetch": "WebFetch",
    "websearch": "WebSearch",
    "task": "Task",
    "skill": "Skill",
    "todowrite": "TodoWrite",
    "todoread": "TodoRead",
}
MODE_OF_LEVEL = {"allow": "full", "ask": "ask", "deny": "deny"}
OPENAI_PACKAGES = ("", "@ai-sdk/openai-compatible", "@ai-sdk/openai", "@openrouter/ai-sdk-provider")
KNOWN_KEYS = frozenset(
    {
        "$schema",
        "model",
        "small_model",
        "provider",
        "mcp",
        "permission",
        "tools",
        "agent",
        "agents",
        "command",
        "commands",
    }
)
REASONS = {
    "instructions": "import these files in AGENTS.md, each as @path",
    "plugin": "opencode's plugins only run in opencode; `cockpit plugins` lists cockpit's",
    "lsp": "`cockpit doctor` lists the language servers; add others in .lsp.json",
    "formatter": "use a `PostToolUse` hook in .cockpit/hooks.json to format after an edit",
    "theme": "themes are TOML files in the folder `themes` next to your settings",
    "keybinds": "keys are set in keys.toml next to your settings",
}


def read(root: Path, trusted: bool, home: Path, gathering: SettingsCollector) -> None:
    """Add what opencode's files say."""
    for name in FILE_NAMES:
        if (doc := gathering.open(home / ".config/opencode" / name)) is not None:
            _collect_config(gathering, doc, "")
    for name in FILE_NAMES if trusted else ():
        if (doc := gathering.open(root / name, True)) is not None:
            _collect_config(gathering, doc, str(root))


def _collect_config(gathering: SettingsCollector, doc: ConfigFile, root: str) -> None:
    for name in doc.table("provider"):
        _collect_provider(gathering, doc, name)
    for key, ours in (("model", "models.default"), ("small_model", "models.tiers.fast")):
        provider, _, id = doc.text(key).partition("/")
        gathering.model(doc, (key,), provider, id, ours)
    for name in doc.table("mcp"):
        _collect_server(gathering, doc, name)
    _collect_permissions(gathering, doc, root)
    for name in {**doc.table("agent"), **doc.table("agents")}:
        _collect_agent(gathering, doc, "agent" if name in doc.table("agent") else "agents", name, root)
    for key in doc.table():
        if key in ("command", "commands"):
            gathering.left(
                doc, (key,), "command", key, "cockpit reads them in place (`cockpit commands list`)"
            )
        elif key not in KNOWN_KEYS:
            gathering.left(doc, (key,), "other", key, REASONS.get(key, "cockpit has no setting for it"))


def _collect_provider(gathering: SettingsCollector, doc: ConfigFile, name: str) -> None:
    path = ("provider", name)
    npm = doc.text(*path, "npm")
    models = doc.table(*path, "models")
    gathering.provider(
        doc,
        path,
        name,
        url=doc.text(*path, "options", "baseURL"),
        key=doc.text(*path, "options", "apiKey"),
        key_env=next((str(row) for row in doc.rows(*path, "env")), ""),
        label=doc.text(*path, "name"),
        default=next(iter(models), ""),
        headers=doc.table(*path, "options", "headers"),
        foreign="" if npm in OPENAI_PACKAGES else f"{npm} does not speak the OpenAI protocol",
    )
    for id in models:
        here = (*path, "models", id)
        facts = {
            "window": doc.at(*here, "limit", "context"),
            "max_output": doc.at(*here, "limit", "output"),
            "input": doc.at(*here, "cost", "input"),
            "output": doc.at(*here, "cost", "output"),
            "cached": doc.at(*here, "cost", "cache_read"),
            "images": doc.at(*here, "attachment"),
            "thinks": doc.at(*here, "reasoning"),
        }
        gathering.prices(doc, here, name, id, facts)


def _collect_server(gathering: SettingsCollector, doc: ConfigFile, name: str) -> None:
    path = ("mcp", name)
    command = doc.at(*path, "command")
    words = (
        tuple(str(entry) for entry in command)
        if isinstance(command, list)
        else tuple(doc.text(*path, "command").split())
    )
    oauth = doc.table(*path, "oauth")
    if not words and not doc.text(*path, "url") and set(doc.table(*path)) <= {"enabled"}:
        gathering.left(doc, path, "mcp", name, "it only enables or disables a server defined in another file")
        return
    notes = ("opencode's timeout is for the list of tools, cockpit's for a call: it was not copied",)
    gathering.server(
        doc,
        path,
        name,
        command=words,
        env=doc.table(*path, "environment"),
        url=doc.text(*path, "url"),
        headers=doc.table(*path, "headers"),
        cwd=doc.text(*path, "cwd"),
        disabled=doc.at(*path, "enabled") is False,
        oauth=oauth,
        notes=notes if doc.at(*path, "timeout") else (),
    )


def _collect_permissions(gathering: SettingsCollector, doc: ConfigFile, root: str) -> None:
    whole = doc.text("permission")
    if whole in MODE_OF_LEVEL:
        if root:
            gathering.left(
                doc, ("permission",), "mode", MODE_OF_LEVEL[whole], "a project may not set the user's mode"
            )
        else:
            gathering.mode(doc, ("permission",), MODE_OF_LEVEL[whole])
    for name, levels in doc.table("permission").items():
        _collect_tool(gathering, doc, ("permission", name), name, levels, root)
    for name, levels in doc.table("tools").items():
        if levels is False:
            gathering.rule(doc, ("tools", name), "deny", convert_tool_name(name, doc), root=root)


def _collect_tool(
    gathering: SettingsCollector,
    doc: ConfigFile,
    path: tuple[str, ...],
    name: str,
    levels: Json,
    root: str,
) -> None:
    """The permissions of a tool. In opencode the last matching rule wins, here the strictest."""
    if name == "*":
        mode = MODE_OF_LEVEL.get(str(levels), "")
        gathering.left(doc, path, "mode", mode or name, "set the mode instead: `cockpit config set mode ...`")
        return
    if name in ("external_directory", "doom_loop"):
        gathering.left(doc, path, "rule", name, "cockpit asks about this anyway")
        return
    rules = list(levels.items()) if isinstance(levels, dict) else [("*", levels)]
    for at, (pattern, level) in enumerate(rules):
        where = (*path, pattern) if isinstance(levels, dict) else path
        if level not in LEVELS:
            gathering.left(
                doc, where, "rule", f"{name} {pattern}", f"{level!r} is none of {', '.join(LEVELS)}"
            )
        elif pattern == "*" and level != "allow" and any(rule == "allow" for _, rule in rules[at + 1 :]):
            if level == "deny":
                why = "here a deny overrides every allow; write a deny for each pattern"
                gathering.left(doc, where, "rule", f"deny {convert_tool_name(name, doc)}", why)
        else:
            text = format_rule(convert_tool_name(name, doc), pattern)
            gathering.rule(doc, where, cast("RuleLevel", level), text, root=root)


def convert_tool_name(name: str, doc: ConfigFile) -> str:
    """opencode's tool name as rules write it; `server_*` means every tool of an MCP server."""
    if name in TOOLS:
        return TOOLS[name]
    for server in doc.table("mcp"):
        if name.startswith(f"{server}_"):
            return mcp_tool_name(server, name.removeprefix(f"{server}_"))
        if name.rstrip("*") == server:
            return mcp_tool_name(server, "*")
    return name


def format_rule(tool: str, pattern: str) -> str:
    """A pattern as a rule of cockpit: `*` alone means every call; in a path it crosses folders."""
    if pattern == "*":
        return tool
    pattern = re.sub(r"^\$HOME(?=/|$)", "~", pattern)
    if tool in ("Edit", "Write", "Read"):
        pattern = re.sub(r"(?<!\*)\*(?!\*)", "**", pattern)
    return f"{tool}({pattern})"


def _collect_agent(gathering: SettingsCollector, doc: ConfigFile, key: str, name: str, root: str) -> None:
    path = (key, name)
    table = doc.table(*path)
    if doc.at(*path, "disable") is True:
        gathering.left(doc, path, "agent", name, "it is switched off")
        return
    if root:
        why = f"it belongs to the project: move it to .opencode/agents/{name}.md, which cockpit reads too"
        gathering.left(doc, path, "agent", name, why)
        return
    prompt = doc.text(*path, "prompt")
    if (file := re.fullmatch(r"\{file:([^}]+)\}", prompt)) is not None:
        path_of = Path(doc.file).parent / Path(file[1]).expanduser()
        try:
            prompt = file_io.read_text(path_of, MAX_PROMPT_BYTES)
        except OSError as error:
            why = f"its prompt {path_of} cannot be read: {error.strerror}"
            gathering.left(doc, path, "agent", name, why)
            return
    if not prompt:
        gathering.left(doc, path, "agent", name, "it changes a built-in agent of opencode and has no prompt")
        return
    gathering.agent_file(doc, path, name, dict(_build_head(doc, path, table)), prompt)


def _build_head(
    doc: ConfigFile, path: tuple[str, ...], table: Mapping[str, Json]
) -> Iterator[tuple[str, Json]]:
    yield "description", doc.text(*path, "description") or f"from opencode: {path[-1]}"
    provider, _, id = doc.text(*path, "model").partition("/")
    yield "model", f"{provider}:{id}" if id else ""
    steps = table.get("maxSteps") or table.get("steps")
    yield "maxTurns", steps if isinstance(steps, int) else None
    off = [convert_tool_name(name, doc) for name, on in doc.table(*path, "tools").items() if on is False]
    denied = doc.table(*path, "permission")
    off += [convert_tool_name(name, doc) for name, level in denied.items() if level == "deny"]
    yield "disallowedTools", cast("Json", list(dict.fromkeys(off)))
