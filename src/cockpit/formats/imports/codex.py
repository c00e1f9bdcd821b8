"""Codex: `~/.codex/config.toml` and a trusted project's `.codex/config.toml`."""

from collections.abc import Mapping
from pathlib import Path

from cockpit.formats.config_files import ConfigFile
from cockpit.formats.imports.collector import SettingsCollector, SettingsSection
from cockpit.protocol.messages import Json

AGENT = "codex"
KNOWN_KEYS = frozenset(
    {"model", "model_provider", "model_providers", "model_context_window", "model_max_output_tokens"}
    | {"mcp_servers", "approval_policy", "sandbox_mode", "review_model"}
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


def read(root: Path, trusted: bool, home: Path, collector: SettingsCollector) -> None:
    """Add what Codex's files say."""
    for folder, is_project in ((home, False), *(((root, True),) if trusted else ())):
        if (config := collector.open(folder / ".codex/config.toml", is_project)) is not None:
            _collect_config(config)
    if (rules := home / ".codex/rules").is_dir():
        why = "its rules are a Starlark program: rewrite them like `Bash(git status *)`"
        SettingsSection(collector, ConfigFile(str(rules), {})).left("rule", "rules", why)


def _collect_config(config: SettingsSection) -> None:
    for name, entry in config.tables("model_providers"):
        _collect_provider(entry, name)
    provider, model = config.text("model_provider") or "openai", config.text("model")
    config.below("model").model(provider, model, "models.default")
    facts = {"window": config.at("model_context_window"), "max_output": config.at("model_max_output_tokens")}
    config.below("model_context_window").prices(provider, model, facts)
    for name, entry in config.tables("mcp_servers"):
        _collect_server(entry, name)
    _collect_mode(config)
    config.left_unknown(KNOWN_KEYS, REASONS)


def _collect_provider(entry: SettingsSection, name: str) -> None:
    headers: dict[str, Json] = dict(entry.table("http_headers"))
    headers |= {key: f"${value}" for key, value in entry.table("env_http_headers").items()}
    unsupported = ""
    if entry.table("query_params"):
        unsupported = "it needs URL parameters (`query_params`), which cockpit does not send"
    if entry.text("wire_api") == "responses":
        unsupported = RESPONSES_PROTOCOL
    entry.provider(
        name,
        url=entry.text("base_url"),
        key=entry.text("experimental_bearer_token"),
        key_env=entry.text("env_key"),
        label=entry.text("name"),
        headers=headers,
        unsupported=unsupported,
    )


def _collect_server(entry: SettingsSection, name: str) -> None:
    env: dict[str, Json] = dict(entry.table("env"))
    for row in entry.rows("env_vars"):
        variable = row.get("name") if isinstance(row, dict) else row
        if isinstance(variable, str):
            env[variable] = f"${{{variable}}}"
    headers: dict[str, Json] = dict(entry.table("http_headers"))
    headers |= {key: f"${{{value}}}" for key, value in entry.table("env_http_headers").items()}
    if token := entry.text("bearer_token_env_var"):
        headers["Authorization"] = f"Bearer ${{{token}}}"
    elif secret := entry.text("bearer_token"):
        headers["Authorization"] = f"Bearer {secret}"
    program = entry.text("command")
    entry.server(
        name,
        command=(program, *entry.words("args")) if program else (),
        env=env,
        headers=headers,
        cwd=entry.text("cwd"),
        milliseconds=entry.milliseconds("tool_timeout_sec"),
        disabled=entry.at("enabled") is False,
    )
    entry.disabled_tools(name)


def _collect_mode(config: SettingsSection) -> None:
    """Codex's two settings as the mode that asks equally often."""
    approval, sandbox = config.at("approval_policy"), config.text("sandbox_mode")
    if isinstance(approval, Mapping):
        why = "cockpit has rules for individual tools instead"
        config.below("approval_policy").left("mode", "approval_policy", why)
        return
    if not approval and not sandbox:
        return
    if approval == "never":
        mode = {"danger-full-access": "full", "workspace-write": "auto-edit"}.get(sandbox, "deny")
    else:
        writes = sandbox in ("workspace-write", "danger-full-access") and approval != "untrusted"
        mode = "auto-edit" if writes else "ask"
    config.below("approval_policy" if approval else "sandbox_mode").mode(mode)
