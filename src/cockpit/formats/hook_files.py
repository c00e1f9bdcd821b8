"""Reading the files that hold hooks, and where they lie. Nothing is run here; what cannot be taken over is
told with its line, and the rest still works."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from cockpit import paths
from cockpit.formats.hook_events import KINDS, SECONDS, Event, Kind, event_of, strange
from cockpit.formats.hook_matching import fault_of, rule_of
from cockpit.formats.hooks import NEEDED, Condition, Found, Hook, HookFile, merged, numbered
from cockpit.formats.jsons import Located, Step, load
from cockpit.plugin.origin import Fault, Origin, Unloaded
from cockpit.settings import files, plain

# A command that hangs must not hold a session for hours, whatever its file says.
LONGEST = 3_600.0
OURS = 15.0
CRUSH = 30.0
OFF = "disableAllHooks"
FIELDS: Mapping[Kind, Mapping[str, type]] = {
    "command": {"command": str, "args": list, "shell": str},
    "http": {"url": str, "headers": dict, "allowedEnvVars": list},
    "mcp_tool": {"server": str, "tool": str, "input": dict},
    "prompt": {"prompt": str, "model": str},
    "agent": {"prompt": str, "model": str},
    "block": {"reason": str},
}
WORDS: Mapping[type, str] = {str: "text", list: "a list of texts", dict: "a table"}


def hook_files(root: Path, trusted: bool, home: Path) -> tuple[HookFile, ...]:
    """Where hooks may lie: the person's files, then (in a trusted folder) those of the folder itself, then
    the machine's."""
    crush = home / ".config" / "crush" / "crush.json"
    found = [
        HookFile(home / ".claude" / "settings.json", "user"),
        HookFile(home / ".codex" / "hooks.json", "user", "codex"),
        HookFile(crush, "user", "crush", CRUSH),
        HookFile(paths.config() / "hooks.json", "user", "cockpit", OURS),
    ]
    if trusted:
        found += [
            HookFile(root / ".claude" / "settings.json", "project"),
            HookFile(root / ".claude" / "settings.local.json", "project"),
            HookFile(root / ".codex" / "hooks.json", "project", "codex"),
            HookFile(root / "crush.json", "project", "crush", CRUSH),
            HookFile(root / ".crush.json", "project", "crush", CRUSH),
            HookFile(root / ".cockpit" / "hooks.json", "project", "cockpit", OURS),
        ]
    managed = files.managed_file()
    if managed.is_absolute():
        found.append(HookFile(managed.with_name("hooks.json"), "managed", "cockpit", OURS))
    return tuple(found)


def read_files(given: tuple[HookFile, ...]) -> Found:
    """All hooks of these files, those that are the same as one. Every file that is there is read anew."""
    read = [(file, located) for file in given if (located := _loaded(file)) is not None]
    off = {(file.layer, file.family) for file, located in read if located.at(OFF) is True}
    # A person's own word goes for the project's files too; a project's for its own alone.
    off |= {("project", family) for layer, family in off if layer == "user"}
    hooks: list[Hook] = []
    unloaded: list[Unloaded] = []
    for file, located in read:
        if (file.layer, file.family) not in off:
            found = read_hooks(located, file)
            hooks += found.hooks
            unloaded += found.unloaded
        elif located.at(OFF) is True:
            fault = located.fault((OFF,), "hooks are switched off", f"take `{OFF}` out to run them")
            unloaded.append(_refused(OFF, file, fault))
    return Found(merged(hooks), tuple(unloaded))


def _loaded(file: HookFile) -> Located | None:
    name = str(file.path)
    try:
        return load(plain.read_text(file.path), name)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        reason = f"it cannot be read: {error.strerror or error}"
        return Located(name, faults=(Fault(name, 0, reason, "mend it or move it away"),))


def read_hooks(located: Located, file: HookFile) -> Found:
    """The hooks of one file, in their order."""
    if located.faults:
        return Found(unloaded=(_refused(file.path.name, file, *located.faults),))
    table = located.at("hooks")
    if table is None:
        return Found()
    if not isinstance(table, dict):
        fault = located.fault(("hooks",), "`hooks` is no table", 'write {"PreToolUse": [...]}')
        return Found(unloaded=(_refused(file.path.name, file, fault),))
    hooks: list[Hook] = []
    unloaded: list[Unloaded] = []
    for name in table:
        event = event_of(name)
        if event is None:
            fault = located.fault(("hooks", name), *strange(name))
            unloaded.append(_refused(name, file, fault))
            continue
        for one in _groups(located, ("hooks", name), event, file):
            if isinstance(one, Hook):
                hooks.append(one)
            else:
                unloaded.append(_refused(event.name, file, one))
    return Found(numbered(hooks), tuple(unloaded))


def _groups(located: Located, at: tuple[Step, ...], event: Event, file: HookFile) -> Iterator[Hook | Fault]:
    groups = located.at(*at)
    if not isinstance(groups, list):
        yield located.fault(at, f"`{event.name}` is no list", 'write [{"matcher": "...", "hooks": [...]}]')
        return
    for number, group in enumerate(groups):
        place = (*at, number)
        if not isinstance(group, dict):
            yield located.fault(place, "this is no table", 'write {"matcher": "...", "hooks": [...]}')
            continue
        matcher = group.get("matcher")
        if matcher is not None and not isinstance(matcher, str):
            yield located.fault((*place, "matcher"), "`matcher` is no text", 'write "Bash" or "Edit|Write"')
            continue
        if matcher and event.looks_at and (reason := fault_of(matcher)):
            yield located.fault((*place, "matcher"), reason, "mend it, or write names with | between them")
            continue
        yield from _entries(located, place, event, matcher or "", file)


def _entries(
    located: Located, place: tuple[Step, ...], event: Event, matcher: str, file: HookFile
) -> Iterator[Hook | Fault]:
    """The hooks of a group; crush writes a hook in the place of a group."""
    group = located.table(*place)
    if "hooks" not in group:
        yield _hook(located, place, event, matcher, file)
        return
    if not isinstance(group["hooks"], list):
        yield located.fault((*place, "hooks"), "`hooks` is no list", 'write [{"type": "command", ...}]')
        return
    for number in range(len(group["hooks"])):
        yield _hook(located, (*place, "hooks", number), event, matcher, file)


def _hook(
    located: Located, place: tuple[Step, ...], event: Event, matcher: str, file: HookFile
) -> Hook | Fault:
    entry = located.table(*place)
    kind = entry.get("type", "command")
    if kind not in KINDS:
        said = f"there is no type {kind!r}" if "type" in entry else "this is no table"
        return located.fault((*place, "type"), said, f"write one of {', '.join(KINDS)}")
    if (misfit := _misfit(located, place, kind)) is not None:
        return misfit
    when = entry.get("if") or ""
    if when and (not isinstance(when, str) or rule_of(when) is None):
        return located.fault((*place, "if"), f"`if` is {when!r}", "write one rule, as Bash(git *)")
    if when and event.looks_at != "tool":
        reason = f"`if` looks at a tool's call, and {event.name} has none"
        return located.fault((*place, "if"), reason, "take it out, or use a matcher")
    seconds, faults = _seconds(located, place, event, kind, file)
    action = {name: entry[name] for name in FIELDS[kind] if entry.get(name) is not None}
    hook = Hook(event, kind, action, (Condition(matcher, str(when)),), seconds, file, located.line(*place))
    return replace(
        hook,
        once=entry.get("once") is True,
        in_background=kind == "command" and True in (entry.get("async"), entry.get("asyncRewake")),
        fails_closed=entry.get("onFailure") == "block",
        refused=faults,
    )


def _misfit(located: Located, place: tuple[Step, ...], kind: Kind) -> Fault | None:
    """The first field of a hook that is missing or has another shape."""
    entry = located.table(*place)
    for name, shape in FIELDS[kind].items():
        value = entry.get(name)
        if value is None and name not in NEEDED[kind]:
            continue
        fits = isinstance(value, shape) and (not isinstance(value, str) or value.strip() != "")
        if isinstance(value, list):
            fits = fits and all(isinstance(one, str) for one in value)
        if not fits:
            said = "needs" if value is None else "has another shape of"
            return located.fault(
                (*place, name), f"a hook of type {kind} {said} `{name}`", f"write {WORDS[shape]}"
            )
    if kind == "http" and urlsplit(str(entry["url"])).scheme not in ("http", "https"):
        return located.fault((*place, "url"), "`url` is no address", "write http://... or https://...")
    if entry.get("shell", "bash") not in ("bash", "powershell"):
        return located.fault((*place, "shell"), "`shell` names no shell", "write bash or powershell")
    return None


def _seconds(
    located: Located, place: tuple[Step, ...], event: Event, kind: Kind, file: HookFile
) -> tuple[float, tuple[Fault, ...]]:
    """How long it may take, and what is wrong with what its file says of that."""
    default = SECONDS[kind]
    if kind in ("command", "http", "mcp_tool"):
        default = min(one for one in (event.seconds, file.seconds, default) if one)
    for name in ("timeout", "timeoutSec"):
        value = located.at(*place, name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
            fault = located.fault(
                (*place, name), f"`{name}` is {value!r}", f"write seconds; {default:g} are used"
            )
            return default, (fault,)
        return min(float(value), LONGEST), ()
    return default, ()


def _refused(name: str, file: HookFile, *faults: Fault) -> Unloaded:
    return Unloaded(name, Origin(str(file.path), file.layer, refused=faults))
