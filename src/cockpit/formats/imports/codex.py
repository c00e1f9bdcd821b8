"""Codex: `~/.codex/config.toml` and a trusted project's `.codex/config.toml`."""

from collections.abc import Mapping
from pathlib import Path

from cockpit.formats.config_files import ConfigFile
from cockpit.formats.imports.collector import SettingsCollector
from cockpit.protocol.mcp_names import mcp_tool_name
from cockpit.protocol.messages import Json

AGENT = "codex"
KNOWN_KEYS = frozenset(
    {
        "model",
        "model_provider",
        "model_providers",
        "model_context_window",
        "model_max_output_tokens",
        "mcp_servers",
        "approval_policy",
        "sandbox_mode",
        "review_model",
    }
)
REASONS = {
    "projects": "cockpit asks you about the trust of each folder itself",
    "profiles": "cockpit has no profiles: name models by tiers, `cockpit config set models.tiers.fast ...`",
    "notify": "use a `Stop` hook in .cockpit/hooks.json to run a program at the end of a turn",
    "hooks": "cockpit reads .codex/hooks.json in place (`cockpit hooks list`)",
    "sandbox_workspace_write": "the sandbox may write to the workspace and to a scratch folder of its own",
    "shell_environment_policy": "commands get the environment without variables that look like secrets",
}
RESPONSES_PROTOCOL = "it speaks the Responses protocol only (`wire_api`); cockpit speaks Chat Completions"


def read(root: Path, trusted: bool, home: Path, gathering: SettingsCollector) -> None:
    """Add what Codex's files say."""
    if (doc := gathering.open(home / ".codex/config.toml")) is not None:
        _collect_config(gathering, doc)
    if trusted and (doc := gathering.open(root / ".codex/config.toml", True)) is not None:
        _collect_config(gathering, doc)
    if (rules := home / ".codex/rules").is_dir():
        why = "its rules are a Starlark program: rewrite them like `Bash(git status *)`"
        gathering.left(ConfigFile(str(rules), {}), (), "rule", "rules", why)


def _collect_config(gathering: SettingsCollector, doc: ConfigFile) -> None:
    for name in doc.table("model_providers"):
        _collect_provider(gathering, doc, name)
    provider = doc.text("model_provider") or "openai"
    if model := doc.text("model"):
        gathering.model(doc, ("model",), provider, model, "models.default")
    window, most = doc.at("model_context_window"), doc.at("model_max_output_tokens")
    facts = {"window": window, "max_output": most}
    gathering.prices(doc, ("model_context_window",), provider, doc.text("model"), facts)
    for name in doc.table("mcp_servers"):
        _collect_server(gathering, doc, name)
    _collect_mode(gathering, doc)
    for key in doc.table():
        if key not in KNOWN_KEYS:
            gathering.left(doc, (key,), "other", key, REASONS.get(key, "cockpit has no setting for it"))


def _collect_provider(gathering: SettingsCollector, doc: ConfigFile, name: str) -> None:
    path = ("model_providers", name)
    headers: dict[str, Json] = dict(doc.table(*path, "http_headers"))
    headers |= {key: f"${value}" for key, value in doc.table(*path, "env_http_headers").items()}
    foreign = RESPONSES_PROTOCOL if doc.text(*path, "wire_api") == "responses" else ""
    if doc.table(*path, "query_params"):
        foreign = foreign or "it needs URL parameters (`query_params`), which cockpit does not send"
    gathering.provider(
        doc,
        path,
        name,
        url=doc.text(*path, "base_url"),
        key=doc.text(*path, "experimental_bearer_token"),
        key_env=doc.text(*path, "env_key"),
        label=doc.text(*path, "name"),
        headers=headers,
        foreign=foreign,
    )


def _collect_server(gathering: SettingsCollector, doc: ConfigFile, name: str) -> None:
    path = ("mcp_servers", name)
    env: dict[str, Json] = dict(doc.table(*path, "env"))
    for row in doc.rows(*path, "env_vars"):
        variable = row.get("name") if isinstance(row, dict) else row
        if isinstance(variable, str):
            env[variable] = f"${{{variable}}}"
    headers: dict[str, Json] = dict(doc.table(*path, "http_headers"))
    headers |= {key: f"${{{value}}}" for key, value in doc.table(*path, "env_http_headers").items()}
    if token := doc.text(*path, "bearer_token_env_var"):
        headers["Authorization"] = f"Bearer ${{{token}}}"
    elif secret := doc.text(*path, "bearer_token"):
        headers["Authorization"] = f"Bearer {secret}"
    seconds = doc.at(*path, "tool_timeout_sec")
    command = doc.text(*path, "command")
    gathering.server(
        doc,
        path,
        name,
        command=(command, *map(str, doc.rows(*path, "args"))) if command else (),
        env=env,
        url=doc.text(*path, "url"),
        headers=headers,
        cwd=doc.text(*path, "cwd"),
        milliseconds=1000 * seconds if isinstance(seconds, int | float) else 0,
        disabled=doc.at(*path, "enabled") is False,
    )
    deny_disabled_tools(gathering, doc, path, name, "disabled_tools", "enabled_tools")


def deny_disabled_tools(
    gathering: SettingsCollector,
    doc: ConfigFile,
    path: tuple[str | int, ...],
    server: str,
    off: str,
    only: str,
) -> None:
    """Tools of a server that are switched off, as deny rules."""
    for at, tool in enumerate(doc.rows(*path, off)):
        gathering.rule(doc, (*path, off, at), "deny", mcp_tool_name(server, str(tool)))
    if doc.rows(*path, only):
        example = mcp_tool_name(server, "NAME")
        why = f"only some tools of {server} are enabled: deny the others, like {example}"
        gathering.left(doc, (*path, only), "rule", f"{server} {only}", why)


def _collect_mode(gathering: SettingsCollector, doc: ConfigFile) -> None:
    """Codex's two settings as the mode that asks equally often."""
    approval: Json = doc.at("approval_policy")
    sandbox = doc.text("sandbox_mode")
    if isinstance(approval, Mapping):
        gathering.left(
            doc,
            ("approval_policy",),
            "mode",
            "approval_policy",
            "cockpit has rules for individual tools instead",
        )
        return
    if not approval and not sandbox:
        return
    path = ("approval_policy",) if approval else ("sandbox_mode",)
    if doc.is_project:
        gathering.left(doc, path, "mode", "approval_policy", "a project may not set the user's mode")
        return
    if approval == "never":
        mode = {"danger-full-access": "full", "workspace-write": "auto-edit"}.get(sandbox, "deny")
    else:
        writes = sandbox in ("workspace-write", "danger-full-access") and approval != "untrusted"
        mode = "auto-edit" if writes else "ask"
    gathering.mode(doc, path, mode)
