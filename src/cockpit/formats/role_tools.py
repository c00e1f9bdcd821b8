"""Names that other agents use for tools and roles, and the tool fields of a role file.

Understands lists of tools, opencode's maps of true and false, and its permissions.
"""

from collections.abc import Mapping

from cockpit.formats.fields import FieldReader
from cockpit.protocol.mcp_names import ALL_MCP_TOOLS, is_mcp_name, mcp_tool_name
from cockpit.protocol.messages import Json

ROLE_ALIASES: Mapping[str, tuple[str, ...]] = {
    "general": ("general-purpose", "custom", "default", "worker", "tool_agent", "generalist"),
    "explore": ("Explore", "explorer", "search", "finder", "codebase_investigator"),
    "research": ("researcher", "investigate", "investigator", "librarian"),
    "plan": ("Plan", "planner", "architect", "design", "designer"),
    "review": ("reviewer", "code-reviewer", "code-review"),
    "critic": ("criticise", "challenge"),
    "verify": ("verifier", "tester", "test", "qa", "check"),
    "implement": ("implementer", "coder", "code", "developer", "build", "engineer"),
    "write": ("writer", "docs", "documenter", "technical-writer"),
}


def resolve_role_name(name: str) -> str:
    """cockpit's name of a built-in role that is also called `name`, or an empty string."""
    return next((own for own, aliases in ROLE_ALIASES.items() if name in aliases), "")


ALL_TOOLS = frozenset({"*", "all", "All", "All tools", "all tools"})
# Tools of other agents that cockpit does not have: naming one of them in a list is not a mistake.
_OTHER_AGENTS_TOOLS = """
    Agent AskUserQuestion BashOutput CronCreate CronDelete CronList Edit EnterPlanMode EnterWorktree
    ExitPlanMode ExitWorktree Glob Grep KillBash KillShell LS LSP ListMcpResourcesTool Monitor MultiEdit
    NotebookEdit NotebookRead PowerShell Read ReadMcpResourceTool RemoteTrigger SendMessage Skill
    SlashCommand Task TaskCreate TaskGet TaskList TaskOutput TaskStop TaskUpdate TeamCreate TeamDelete
    TodoRead TodoWrite ToolSearch WebFetch WebSearch Write activate_skill ask_user codesearch doom_loop
    external_directory get_internal_docs google_web_search lsp question read_many_files save_memory skill
    todoread todowrite view_image web_fetch web_search webfetch websearch write_todos
"""
_CHANGING_TOOLS = """
    Agent Bash Edit MultiEdit NotebookEdit PowerShell Task Write apply_patch bash code_actions delegate
    delete edit edit_symbol format git_change job move multi_edit rename replace run_shell_command
    run_tests shell write write_file
"""
OTHER_AGENTS_TOOLS = frozenset(_OTHER_AGENTS_TOOLS.split())
CHANGING_TOOLS = frozenset(_CHANGING_TOOLS.split())
# The tools that opencode's permissions are about.
PERMISSION_TOOLS = {
    "edit": "Edit",
    "bash": "Bash",
    "webfetch": "WebFetch",
    "websearch": "WebSearch",
    "task": "Task",
}


def read_tools(fields: FieldReader, family: str) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """The tools of a role (None: all tools of its parent) and the tools it must not use."""
    value = fields.document.fields.get("tools")
    listed: tuple[str, ...] | None
    denied = list(fields.words("disallowedTools") or fields.words("disallowed-tools") or ())
    if isinstance(value, dict):
        listed, off = _read_switches(fields.table("tools"))
        denied += off
    elif isinstance(value, str) and value.strip() in ALL_TOOLS:
        listed = None
        fields.text("tools")
    else:
        listed = fields.words("tools")
    if listed is not None and any(name in ALL_TOOLS for name in listed):
        listed = None
    if listed is not None and family == "gemini":
        listed = tuple(_convert_gemini_name(name) for name in listed)
    if listed is not None:
        listed = tuple(name for name in listed if not _is_malformed(fields, "tools", name))
    denied += _read_permissions(fields)
    unique = dict.fromkeys(denied)
    return listed, tuple(item for item in unique if not _is_malformed(fields, "disallowedTools", item))


def _is_malformed(fields: FieldReader, key: str, entry: str) -> bool:
    """Whether a list entry cannot be parsed, like `Bash(git`; records the fault."""
    if entry.count("(") == entry.count(")") and not entry.startswith("("):
        return False
    fault = fields.document.fault(key, f"{entry!r} is not a tool", "write `Tool` or `Tool(pattern)`")
    fields.faults.append(fault)
    return True


def _read_switches(table: Mapping[str, Json]) -> tuple[tuple[str, ...] | None, list[str]]:
    """opencode's `write: false`; with `"*": false` only the tools that are switched on remain."""
    on = tuple(name for name, value in table.items() if value is True and name != "*")
    off = [_convert_opencode_name(name) for name, value in table.items() if value is False and name != "*"]
    return (on, off) if table.get("*") is False else (None, off)


def _read_permissions(fields: FieldReader) -> list[str]:
    """The tools that opencode's `permission:` denies. An allow would loosen, which a role cannot do."""
    denied: list[str] = []
    for key, value in fields.table("permission").items():
        name = PERMISSION_TOOLS.get(key, key)
        if value == "deny":
            denied.append(name)
        elif isinstance(value, dict):
            denied += _read_denied_patterns(fields, key, name, value)
        elif value == "allow":
            _refuse_allow(fields, key)
    return denied


def _read_denied_patterns(fields: FieldReader, key: str, name: str, table: Mapping[str, Json]) -> list[str]:
    if table.get("*") == "deny":
        if allowed := [pattern for pattern, value in table.items() if value != "deny"]:
            reason = f"`{key}` denies all but {', '.join(allowed)}, which is read as denying all"
            remedy = f"list the calls instead: `tools: {name}({allowed[0]})`"
            fields.faults.append(fields.document.fault("permission", reason, remedy))
        return [name]
    if "allow" in table.values():
        _refuse_allow(fields, key)
    return [f"{name}({pattern})" for pattern, value in table.items() if value == "deny"]


def _refuse_allow(fields: FieldReader, key: str) -> None:
    reason = f"`{key}` allows, but a role can only restrict: such calls are asked about as usual"
    remedy = "put such rules under [permissions] in your own settings"
    fields.faults.append(fields.document.fault("permission", reason, remedy))


def _convert_gemini_name(name: str) -> str:
    """Gemini's names of MCP tools (`mcp_server_*`) in the usual form."""
    if not name.startswith("mcp_") or is_mcp_name(name):
        return name
    if name == "mcp_*":
        return ALL_MCP_TOOLS
    server, _, tool = name.removeprefix("mcp_").partition("_")
    return mcp_tool_name(server, tool)


def _convert_opencode_name(name: str) -> str:
    """opencode writes `server_*` for the tools of a server."""
    return mcp_tool_name(name.removesuffix("_*"), "*") if name.endswith("_*") else name
