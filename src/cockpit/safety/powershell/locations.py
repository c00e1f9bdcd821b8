"""What a path in a PowerShell line is, and what reading, writing or removing it means.

Knows drives, providers, UNC paths and wildcards, and whether a removal would take a drive, a home folder or
the system.
"""

import ntpath
import posixpath
import re
from collections.abc import Callable
from fnmatch import fnmatchcase

from cockpit.plugin.tools import Capability
from cockpit.safety.findings import SafetyFinding, ask, deny
from cockpit.safety.path_classifier import classify_path
from cockpit.safety.powershell import native_programs
from cockpit.safety.powershell.cmdlets import BoundOperand
from cockpit.safety.powershell.scope import PathSort, PowerShellLocation, PowerShellScope, fold_word
from cockpit.safety.powershell.syntax_tree import PowerShellRedirect
from cockpit.workspace import path_names
from cockpit.workspace.resolver import Access, PathVerdict, judge_windows_path
from cockpit.workspace.word_set import word_set

FILE_SYSTEM_PREFIX = re.compile(r"^(?:microsoft\.powershell\.core\\)?filesystem::", re.IGNORECASE)
DRIVE = re.compile(r"^([A-Za-z][\w.-]*)(::?)(.*)$", re.DOTALL)
REGISTRY = word_set(r"hklm hkcu hkcr hku hkcc registry microsoft.powershell.core\registry")
FILE_SORTS = frozenset({"plain", "outside", "temp", "secret", "env-file", "protected", "system", "odd"})
# Removing one of these cannot be undone by a rewind.
PROTECTED_TREES = ("root", "system", "home", "above")
WILDCARD = re.compile(r"[*?\[]")
HOME_FOLDERS = re.compile(r"^/(?:home|users|root|var/root)(?:/[^/]*)?$", re.IGNORECASE)
TEMP_FOLDERS = re.compile(
    r"^(/private)?(/var)?/tmp(/|$)|^c:\\(windows\\)?temp\\|\\appdata\\local\\temp\\", re.IGNORECASE
)
SAMPLE_FILES = (".env.local", "server.pem", "server.key", "id_rsa", "id_ed25519", "cert.pfx", "a.kdbx")
SAMPLE_SECRETS = (*sorted(path_names.SECRET_FILES | path_names.SECRET_FOLDERS), *SAMPLE_FILES)
SAMPLE_PROTECTED = (*sorted(path_names.RUN_LATER_FOLDERS | path_names.RUN_LATER_FILES),)
# A root that contains no Windows path, for a workspace that is not a Windows folder.
UNREACHABLE_ROOT = "Z:\\-\\-"


def locate(value: str, access: Access, scope: PowerShellScope) -> PowerShellLocation:
    """The location that `value` names. Raises nothing."""
    key = (value, access, scope.cwd)
    if key not in scope.facts.places:
        scope.facts.places[key] = _locate_uncached(value, access, scope)
    result = scope.facts.places[key]
    if result.sort in FILE_SORTS and result.real:
        scope.facts.touched.append((access, result.real))
    return result


def _locate_uncached(value: str, access: Access, scope: PowerShellScope) -> PowerShellLocation:
    value = FILE_SYSTEM_PREFIX.sub("", value.strip().strip("\"'"))
    if value.startswith(("\\\\", "//", "\\/", "/\\")):
        reason = "a network or device path sends your credentials to its host"
        return PowerShellLocation("deny", "network", value, reason)
    drive = DRIVE.match(value)
    if drive and (len(drive[1]) > 1 or drive[2] == "::"):
        return _locate_provider(drive[1].lower(), drive[3], value)
    if not drive and scope.cwd and scope.cwd[1:2] == ":" and not value.startswith(("/", "\\", "~")):
        value = ntpath.join(scope.cwd, value)
        drive = DRIVE.match(value)
    context = scope.context
    if drive and context.platform == "posix":
        home = f"C:\\Users\\{posixpath.basename(context.home.rstrip('/')) or 'user'}"
        return _locate_windows(value, access, scope, UNREACHABLE_ROOT, home)
    if context.platform == "windows":
        return _locate_windows(value, access, scope, context.root, context.home)
    return _locate_posix(value.replace("\\", "/"), access, scope)


def _locate_provider(name: str, rest: str, value: str) -> PowerShellLocation:
    if name in REGISTRY or name.endswith("registry"):
        return PowerShellLocation("ask", "registry", value, "it is in the registry")
    if name == "env":
        return PowerShellLocation("ask", "environment", value, "the environment contains keys")
    if rest.startswith(("//", "\\\\")):
        return PowerShellLocation("ask", "url", value, "it is a network address")
    return PowerShellLocation("ask", "provider", value, f"{name}: is not a drive of files")


def _locate_windows(
    value: str, access: Access, scope: PowerShellScope, root: str, home: str
) -> PowerShellLocation:
    wild = WILDCARD.search(value)
    base = re.split(r"[\\/]", value[: wild.start()]) if wild else []
    path = "\\".join(base[:-1]) + "\\" if wild and len(base) > 1 else ("." if wild else value)
    if not path.startswith(("~", "\\", "/")) and path[1:2] != ":" and scope.cwd:
        path = ntpath.join(scope.cwd, path)
    if re.fullmatch(r"[A-Za-z]:", path):
        path += "\\"
    own = scope.context.own if scope.context.platform == "windows" else ()
    judged = judge_windows_path(path, access, root, home, own)
    if wild:

        def judge(name: str) -> PathVerdict:
            return judge_windows_path(ntpath.join(path, name), access, root, home, own)

        judged = _judge_wildcard(judged, value[len(path) if len(base) > 1 else 0 :], judge, access)
    return _make_location(judged, _windows_tree(path_names.windows_absolute(path, root, home), home))


def _windows_tree(whole: str, home: str) -> str:
    parts = tuple(part.casefold() for part in path_names.windows_parts(whole))
    if not parts:
        return "root"
    if parts[0] in path_names.WINDOWS_SYSTEM_FOLDERS and len(parts) <= 3:
        return "system"
    if parts[0] in ("users", "documents and settings") and len(parts) <= 2:
        return "home"
    return "home" if path_names.is_within_windows(home, whole) else ""


def _locate_posix(value: str, access: Access, scope: PowerShellScope) -> PowerShellLocation:
    if scope.cwd is None and not value.startswith(("/", "~")):
        return PowerShellLocation("ask", "unknown", value, "the folder it starts from is not known")
    wild = WILDCARD.search(value)
    base = value[: wild.start()].rpartition("/") if wild else ("", "", "")
    path = (base[0] + base[1] or ".") if wild else value
    context = scope.context
    start = posixpath.join(context.root, scope.cwd or "")
    full = path if path.startswith(("/", "~")) else posixpath.join(start, path)
    judged = classify_path(full, access, context)
    if path_names.is_windows_secret(full):
        return PowerShellLocation("deny", "secret", full, "it is a password store")
    if wild:
        rest = value[len(base[0]) + len(base[1]) :]
        judged = _judge_wildcard(
            judged, rest, lambda item: classify_path(posixpath.join(full, item), access, context), access
        )
    return _make_location(judged, _posix_tree(judged.real or posixpath.normpath(full), scope))


def _posix_tree(real: str, scope: PowerShellScope) -> str:
    root, home = scope.context.root.rstrip("/"), scope.context.home.rstrip("/")
    if real.strip("/") == "":
        return "root"
    if real == home or home.startswith(real + "/") or HOME_FOLDERS.match(real):
        return "home"
    if real == root:
        return "workspace"
    if root.startswith(real + "/"):
        return "above"
    if real.startswith(root + "/"):
        return ""
    is_system = real.count("/") == 1 or classify_path(real, "write", scope.context).sort == "system"
    return "system" if is_system and not TEMP_FOLDERS.match(real + "/") else ""


def _judge_wildcard(
    judged: PathVerdict, pattern: str, judge: Callable[[str], PathVerdict], access: Access
) -> PathVerdict:
    """Judge a wildcard as the most sensitive name that it can match."""
    if judged.level == "deny":
        return judged
    first = re.split(r"[\\/]", pattern)[0]
    folded = path_names.fold_name(first)
    if sum(sign.isalnum() for sign in folded) < 2 and not folded.startswith("."):
        return judged
    rest = pattern[len(first) :].replace("*", "x")
    samples = SAMPLE_SECRETS if access == "read" else (*SAMPLE_SECRETS, *SAMPLE_PROTECTED)
    verdicts = (judge(name + rest) for name in samples if fnmatchcase(name, folded))
    return next((verdict for verdict in verdicts if verdict.level == "deny"), judged)


def _make_location(judged: PathVerdict, tree: str) -> PowerShellLocation:
    real, reason = judged.real, judged.reason
    match judged.sort:
        case "secret" if _is_env_file(real):
            return PowerShellLocation("ask", "env-file", real, reason, tree)
        case "secret" | "protected" | "system":
            return PowerShellLocation("deny", judged.sort, real, reason, tree)
        case "device":
            return PowerShellLocation(judged.level, "device", real, reason, tree)
        case "link" | "unreadable":
            return PowerShellLocation(judged.level, "odd", real, reason, tree)
        case "outside":
            sort: PathSort = "temp" if TEMP_FOLDERS.search(real) else "outside"
            return PowerShellLocation("ask", sort, real, reason, tree)
        case _:
            return PowerShellLocation(judged.level, "plain", real, reason, tree)


def _is_env_file(real: str) -> bool:
    return path_names.fold_name(real.replace("\\", "/").rpartition("/")[2]).startswith(".env")


STAY_INSIDE = "write inside the workspace"


def judge_redirect(redirect: PowerShellRedirect, scope: PowerShellScope) -> list[SafetyFinding]:
    """The findings on `> file`."""
    if redirect.target is None and "&" in redirect.operator:
        return []
    if redirect.target is None:
        return [ask("ps-syntax", "a redirection has no target", "fs.write", risk=45)]
    values = fold_word(redirect.target, scope)
    if redirect.target.text.lower() == "$null" and redirect.operator != "<":
        return []
    if values is None:
        return [ask("ps-dynamic", "where it writes is only known when it runs", "fs.write", risk=50)]
    findings = [ask("ps-redirect", "it writes a file", "fs.write", risk=40, alternative="use the write tool")]
    return findings + [finding for value in values for finding in check_written(value, scope)]


def judge_operand(
    name: str, operand: BoundOperand, recursive: bool, scope: PowerShellScope
) -> list[SafetyFinding]:
    """The findings on one operand of the cmdlet `name`."""
    if operand.kind not in "lrwdx" or operand.values is None:
        return []
    findings: list[SafetyFinding] = []
    for value in operand.values:
        match operand.kind:
            case "l":
                findings += check_listed(value, scope)
            case "r":
                findings += check_read(value, scope)
            case "w":
                findings += check_written(value, scope)
            case "d":
                findings += check_removed(value, recursive, scope)
            case _:
                reason = f"{value!r} makes it more than a reader"
                findings.append(ask("ps-parameter", reason, "shell.opaque", risk=30))
    return findings


def check_listed(value: str, scope: PowerShellScope) -> list[SafetyFinding]:
    """The findings on a path that is listed or tested, without showing its content."""
    location = locate(value, "read", scope)
    if location.sort in ("secret", "env-file"):
        return [ask("ps-secret", location.reason, "secret.read", risk=50, remember=False)]
    if location.sort == "registry":
        return [*native_programs.check_registry((value,), writes=False, removes=False), _ask_about(location)]
    return _check_other_sorts(location, scope)


def check_read(value: str, scope: PowerShellScope) -> list[SafetyFinding]:
    """The findings on a path whose content is read."""
    location = locate(value, "read", scope)
    if location.sort in ("secret", "env-file"):
        scope.facts.reads_secret = True
    if location.sort == "secret":
        return [deny("ps-secret", location.reason, "secret.read", alternative="ask the user for the value")]
    return _check_other_sorts(location, scope)


def check_written(value: str, scope: PowerShellScope) -> list[SafetyFinding]:
    """The findings on a path that is written."""
    location = locate(value, "write", scope)
    if location.sort == "registry":
        return native_programs.check_registry((value,), writes=True, removes=False) or [_ask_about(location)]
    if location.sort in ("secret", "protected", "system", "device", "odd") and location.level == "deny":
        capability: Capability = "persist" if location.sort == "protected" else "fs.outside"
        return [deny(f"ps-{location.sort}", location.reason or "it must not be written", capability)]
    if location.sort == "outside":
        return [deny("ps-outside", f"{location.reason}; {STAY_INSIDE}", "fs.outside")]
    return _check_other_sorts(location, scope)


def check_removed(value: str, recursive: bool, scope: PowerShellScope) -> list[SafetyFinding]:
    """The findings on a path that is removed or moved away."""
    location = locate(value, "write", scope)
    if location.tree in PROTECTED_TREES:
        return [deny("ps-delete-tree", f"it removes {location.real or value}", "fs.delete")]
    if location.sort == "registry":
        findings = native_programs.check_registry((value,), writes=True, removes=True)
        return findings or [ask("ps-registry", "it removes a part of the registry", "host.mutate", risk=65)]
    if location.level == "deny":
        return [deny(f"ps-{location.sort}", location.reason, "fs.delete")]
    if location.sort == "outside":
        return [deny("ps-outside", f"{location.reason}; {STAY_INSIDE}", "fs.delete", "fs.outside")]
    risk = 70 if location.tree == "workspace" else 55 if recursive else 45
    return [ask("ps-delete", "it removes files", "fs.delete", risk=risk, alternative="use the delete tool")]


def _check_other_sorts(location: PowerShellLocation, scope: PowerShellScope) -> list[SafetyFinding]:
    match location.sort:
        case "plain" if location.level == "allow":
            return []
        case "network" | "device" | "odd":
            capability: Capability = "net.egress" if location.sort == "network" else "fs.outside"
            return [deny(f"ps-{location.sort}", location.reason, capability)]
        case "env-file" | "environment":
            scope.facts.reads_secret = True
            return [ask("ps-secret", location.reason, "secret.read", risk=55, remember=False)]
        case "url":
            scope.facts.has_network = True
            return [ask("ps-net", location.reason, "net.egress", risk=55, remember=False)]
        case _:
            return [_ask_about(location)]


def _ask_about(location: PowerShellLocation) -> SafetyFinding:
    reason = location.reason or f"{location.real} is outside the workspace"
    return ask(f"ps-{location.sort}", reason, "fs.outside", risk=45)
