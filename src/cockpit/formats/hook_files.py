"""Finds and reads the files that contain hooks. Runs nothing; what cannot be used is reported with its line,
and the rest still works.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from cockpit import paths
from cockpit.formats.config_files import ConfigFile, PathStep, read_config
from cockpit.formats.hooks import (
    DEFAULT_SECONDS,
    HOOK_KINDS,
    REQUIRED_FIELDS,
    Hook,
    HookCondition,
    HookEvent,
    HookFile,
    HookKind,
    HookSet,
    explain_unknown_event,
    find_event,
    find_matcher_fault,
    merge_hooks,
    number_hooks,
    parse_tool_rule,
)
from cockpit.plugin.origin import FileProblem, Origin, Unloaded
from cockpit.settings import files

# A hanging command must not block a session for hours, whatever its file says.
MAX_SECONDS = 3_600.0
OWN_SECONDS = 15.0
CRUSH_SECONDS = 30.0
DISABLE_KEY = "disableAllHooks"
ACTION_FIELDS: Mapping[HookKind, Mapping[str, type]] = {
    "command": {"command": str, "args": list, "shell": str},
    "http": {"url": str, "headers": dict, "allowedEnvVars": list},
    "mcp_tool": {"server": str, "tool": str, "input": dict},
    "prompt": {"prompt": str, "model": str},
    "agent": {"prompt": str, "model": str},
    "block": {"reason": str},
}
TYPE_WORDS: Mapping[type, str] = {str: "text", list: "a list of texts", dict: "a table"}


def list_hook_files(root: Path, trusted: bool, home: Path) -> tuple[HookFile, ...]:
    """Where hooks may be: the user's files, then those of a trusted folder, then the machine's."""
    hook_files = [
        HookFile(home / ".claude/settings.json", "user"),
        HookFile(home / ".codex/hooks.json", "user", "codex"),
        HookFile(home / ".config/crush/crush.json", "user", "crush", CRUSH_SECONDS),
        HookFile(paths.config() / "hooks.json", "user", "cockpit", OWN_SECONDS),
    ]
    if trusted:
        hook_files += [
            HookFile(root / ".claude/settings.json", "project"),
            HookFile(root / ".claude/settings.local.json", "project"),
            HookFile(root / ".codex/hooks.json", "project", "codex"),
            HookFile(root / "crush.json", "project", "crush", CRUSH_SECONDS),
            HookFile(root / ".crush.json", "project", "crush", CRUSH_SECONDS),
            HookFile(root / ".cockpit/hooks.json", "project", "cockpit", OWN_SECONDS),
        ]
    managed = files.managed_file()
    if managed.is_absolute():
        hook_files.append(HookFile(managed.with_name("hooks.json"), "managed", "cockpit", OWN_SECONDS))
    return tuple(hook_files)


def read_hook_files(hook_files: tuple[HookFile, ...]) -> HookSet:
    """All hooks of these files, equal ones merged. Files are read again on every call."""
    loaded = [(file, located) for file in hook_files if (located := read_config(file.path)) is not None]
    disabled = {(file.layer, file.family) for file, located in loaded if located.at(DISABLE_KEY) is True}
    # The user's switch applies to the project's files too; a project's only to its own.
    disabled |= {("project", family) for layer, family in disabled if layer == "user"}
    hooks: list[Hook] = []
    unloaded: list[Unloaded] = []
    for file, located in loaded:
        if (file.layer, file.family) not in disabled:
            result = read_hooks(located, file)
            hooks += result.hooks
            unloaded += result.unloaded
        elif located.at(DISABLE_KEY) is True:
            remedy = f"remove `{DISABLE_KEY}` to run them"
            fault = located.fault((DISABLE_KEY,), "hooks are switched off", remedy)
            unloaded.append(_build_unloaded(DISABLE_KEY, file, fault))
    return HookSet(merge_hooks(hooks), tuple(unloaded))


def read_hooks(located: ConfigFile, file: HookFile) -> HookSet:
    """The hooks of one file, in order."""
    if located.faults:
        return HookSet(unloaded=(_build_unloaded(file.path.name, file, *located.faults),))
    table = located.at("hooks")
    if table is None:
        return HookSet()
    if not isinstance(table, dict):
        fault = located.fault(("hooks",), "`hooks` is not a table", 'write {"PreToolUse": [...]}')
        return HookSet(unloaded=(_build_unloaded(file.path.name, file, fault),))
    hooks: list[Hook] = []
    unloaded: list[Unloaded] = []
    for name in table:
        event = find_event(name)
        if event is None:
            fault = located.fault(("hooks", name), *explain_unknown_event(name))
            unloaded.append(_build_unloaded(name, file, fault))
            continue
        for result in _read_groups(located, ("hooks", name), event, file):
            if isinstance(result, Hook):
                hooks.append(result)
            else:
                unloaded.append(_build_unloaded(event.name, file, result))
    return HookSet(number_hooks(hooks), tuple(unloaded))


def _read_groups(
    located: ConfigFile, at: tuple[PathStep, ...], event: HookEvent, file: HookFile
) -> Iterator[Hook | FileProblem]:
    groups = located.at(*at)
    if not isinstance(groups, list):
        yield located.fault(at, f"`{event.name}` is not a list", 'write [{"matcher": "...", "hooks": [...]}]')
        return
    for number, group in enumerate(groups):
        place = (*at, number)
        matcher = group.get("matcher") if isinstance(group, dict) else None
        if not isinstance(group, dict):
            yield located.fault(place, "this is not a table", 'write {"matcher": "...", "hooks": [...]}')
        elif matcher is not None and not isinstance(matcher, str):
            yield located.fault((*place, "matcher"), "`matcher` is not text", 'write "Bash" or "Edit|Write"')
        elif matcher and event.looks_at and (reason := find_matcher_fault(matcher)):
            yield located.fault((*place, "matcher"), reason, "fix it, or write names separated by |")
        elif "hooks" not in group:
            # crush writes a hook directly in place of a group.
            yield _read_hook(located, place, event, matcher or "", file)
        elif not isinstance(entries := group["hooks"], list):
            yield located.fault(
                (*place, "hooks"), "`hooks` is not a list", 'write [{"type": "command", ...}]'
            )
        else:
            for index in range(len(entries)):
                yield _read_hook(located, (*place, "hooks", index), event, matcher or "", file)


def _read_hook(
    located: ConfigFile, place: tuple[PathStep, ...], event: HookEvent, matcher: str, file: HookFile
) -> Hook | FileProblem:
    entry = located.table(*place)
    kind = entry.get("type", "command")
    if kind not in HOOK_KINDS:
        reason = f"there is no type {kind!r}" if "type" in entry else "this is not a table"
        return located.fault((*place, "type"), reason, f"write one of {', '.join(HOOK_KINDS)}")
    if (misfit := _find_misfit(located, place, kind)) is not None:
        return misfit
    when = entry.get("if") or ""
    if when and (not isinstance(when, str) or parse_tool_rule(when) is None):
        return located.fault((*place, "if"), f"`if` is {when!r}", "write one rule, as Bash(git *)")
    if when and event.looks_at != "tool":
        reason = f"`if` needs a tool call, and {event.name} has none"
        return located.fault((*place, "if"), reason, "remove it, or use a matcher")
    seconds, faults = _read_seconds(located, place, event, kind, file)
    action = {name: entry[name] for name in ACTION_FIELDS[kind] if entry.get(name) is not None}
    return Hook(
        event,
        kind,
        action,
        (HookCondition(matcher, str(when)),),
        seconds,
        file,
        located.line(*place),
        once=entry.get("once") is True,
        in_background=kind == "command" and True in (entry.get("async"), entry.get("asyncRewake")),
        fails_closed=entry.get("onFailure") == "block",
        refused=faults,
    )


def _find_misfit(located: ConfigFile, place: tuple[PathStep, ...], kind: HookKind) -> FileProblem | None:
    entry = located.table(*place)
    for name, shape in ACTION_FIELDS[kind].items():
        value = entry.get(name)
        if value is None and name not in REQUIRED_FIELDS[kind]:
            continue
        fits = isinstance(value, shape) and (not isinstance(value, str) or value.strip() != "")
        if isinstance(value, list):
            fits = fits and all(isinstance(item, str) for item in value)
        if not fits:
            verb = "needs" if value is None else "has the wrong type of"
            reason = f"a hook of type {kind} {verb} `{name}`"
            return located.fault((*place, name), reason, f"write {TYPE_WORDS[shape]}")
    if kind == "http" and urlsplit(str(entry["url"])).scheme not in ("http", "https"):
        return located.fault((*place, "url"), "`url` is not an address", "write http://... or https://...")
    if entry.get("shell", "bash") not in ("bash", "powershell"):
        return located.fault((*place, "shell"), "`shell` is not a shell", "write bash or powershell")
    return None


def _read_seconds(
    located: ConfigFile, place: tuple[PathStep, ...], event: HookEvent, kind: HookKind, file: HookFile
) -> tuple[float, tuple[FileProblem, ...]]:
    """The timeout of a hook, and what is wrong with the value in the file."""
    default = DEFAULT_SECONDS[kind]
    if kind in ("command", "http", "mcp_tool"):
        default = min(second for second in (event.seconds, file.seconds, default) if second)
    for name in ("timeout", "timeoutSec"):
        value = located.at(*place, name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
            remedy = f"write seconds; {default:g} are used"
            return default, (located.fault((*place, name), f"`{name}` is {value!r}", remedy),)
        return min(float(value), MAX_SECONDS), ()
    return default, ()


def _build_unloaded(name: str, file: HookFile, *faults: FileProblem) -> Unloaded:
    return Unloaded(name, Origin(str(file.path), file.layer, refused=faults))
