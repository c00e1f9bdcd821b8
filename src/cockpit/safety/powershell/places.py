"""What a path in a PowerShell line is: drives, providers, UNC, wildcards, and whether removing it takes
a drive, a home or the system along."""

import ntpath
import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from cockpit.plugin.safety import Level
from cockpit.safety.paths import classify
from cockpit.safety.powershell.scope import Scope
from cockpit.workspace import names, windows
from cockpit.workspace.lettered import judge_windows
from cockpit.workspace.resolver import Access, Judged

Sort = Literal["plain", "outside", "temp", "secret", "env-file", "protected", "system", "device", "network",
               "registry", "environment", "provider", "url", "unknown", "odd"]  # fmt: skip
FILE_SYSTEM = re.compile(r"^(?:microsoft\.powershell\.core\\)?filesystem::", re.IGNORECASE)
DRIVE = re.compile(r"^([A-Za-z][\w.-]*)(::?)(.*)$", re.DOTALL)
REGISTRY = frozenset(
    {"hklm", "hkcu", "hkcr", "hku", "hkcc", "registry", "microsoft.powershell.core\\registry"}
)
FILES = frozenset({"plain", "outside", "temp", "secret", "env-file", "protected", "system", "odd"})
# Removing one of these takes along what no rewind brings back.
TREES = ("root", "system", "home", "above")
WILD = re.compile(r"[*?\[]")
HOMES = re.compile(r"^/(?:home|users|root|var/root)(?:/[^/]*)?$", re.IGNORECASE)
TEMP = re.compile(
    r"^(/private)?(/var)?/tmp(/|$)|^c:\\(windows\\)?temp\\|\\appdata\\local\\temp\\", re.IGNORECASE
)
SAMPLE_FILES = (".env.local", "server.pem", "server.key", "id_rsa", "id_ed25519", "cert.pfx", "a.kdbx")
SAMPLE_SECRETS = (*sorted(names.SECRET_FILES | names.SECRET_FOLDERS), *SAMPLE_FILES)
SAMPLE_PROTECTED = (*sorted(names.RUN_LATER_FOLDERS | names.RUN_LATER_FILES),)
# A root that no Windows path lies in, for a workspace that is no Windows folder.
NOWHERE = "Z:\\-\\-"


@dataclass(frozen=True, slots=True)
class Place:
    """`tree` is what would go if all below it were removed: root, system, home, above, workspace."""

    level: Level
    sort: Sort
    real: str
    reason: str = ""
    tree: str = ""


def place(value: str, access: Access, scope: Scope) -> Place:
    """What `value` names. Raises nothing."""
    key = (value, access, scope.cwd)
    if key not in scope.seen.places:
        scope.seen.places[key] = _place(value, access, scope)
    found = scope.seen.places[key]
    if found.sort in FILES and found.real:
        scope.seen.touched.append((access, found.real))
    return found


def _place(value: str, access: Access, scope: Scope) -> Place:
    value = FILE_SYSTEM.sub("", value.strip().strip("\"'"))
    flat = value.replace("/", "\\")
    if flat.startswith("\\\\"):
        return Place("deny", "network", value, "a network or device path hands your credentials to its host")
    drive = DRIVE.match(value)
    if drive and (len(drive[1]) > 1 or drive[2] == "::"):
        return _provider(drive[1].lower(), drive[3], value)
    if not drive and scope.cwd and scope.cwd[1:2] == ":" and not value.startswith(("/", "\\", "~")):
        value = ntpath.join(scope.cwd, value)
        drive = DRIVE.match(value)
    if drive and scope.ground.platform == "posix":
        return _windows(value, access, scope, NOWHERE, _windows_home(scope))
    if scope.ground.platform == "windows":
        return _windows(value, access, scope, scope.ground.root, scope.ground.home)
    return _posix(value.replace("\\", "/"), access, scope)


def _windows_home(scope: Scope) -> str:
    return f"C:\\Users\\{posixpath.basename(scope.ground.home.rstrip('/')) or 'user'}"


def _provider(name: str, rest: str, value: str) -> Place:
    if name in REGISTRY or name.endswith("registry"):
        return Place("ask", "registry", value, "it is the registry")
    if name == "env":
        return Place("ask", "environment", value, "the environment holds keys")
    if rest.startswith(("//", "\\\\")):
        return Place("ask", "url", value, "it is an address in the network")
    return Place("ask", "provider", value, f"{name}: is no folder")


def _windows(value: str, access: Access, scope: Scope, root: str, home: str) -> Place:
    wild = WILD.search(value)
    base = re.split(r"[\\/]", value[: wild.start()]) if wild else []
    path = "\\".join(base[:-1]) + "\\" if wild and len(base) > 1 else ("." if wild else value)
    if not path.startswith(("~", "\\", "/")) and path[1:2] != ":" and scope.cwd:
        path = ntpath.join(scope.cwd, path)
    if re.fullmatch(r"[A-Za-z]:", path):
        path += "\\"
    own = scope.ground.own if scope.ground.platform == "windows" else ()
    judged = judge_windows(path, access, root, home, own)
    if wild:
        judged = _wildest(judged, value[len(path) if len(base) > 1 else 0 :], lambda one: judge_windows(
            ntpath.join(path, one), access, root, home, own
        ), access)  # fmt: skip
    whole = windows.absolute(path, root, home)
    return _sorted(judged, _windows_tree(whole, home))


def _windows_tree(whole: str, home: str) -> str:
    parts = tuple(one.casefold() for one in windows.parts(whole))
    if not parts:
        return "root"
    if parts[0] in windows.SYSTEM and len(parts) <= 3:
        return "system"
    if parts[0] in ("users", "documents and settings") and len(parts) <= 2:
        return "home"
    return "home" if windows.inside(home, whole) else ""


def _posix(value: str, access: Access, scope: Scope) -> Place:
    if scope.cwd is None and not value.startswith(("/", "~")):
        return Place("ask", "unknown", value, "the folder it starts from is not known")
    wild = WILD.search(value)
    base = value[: wild.start()].rpartition("/") if wild else ("", "", "")
    path = (base[0] + base[1] or ".") if wild else value
    ground = scope.ground
    start = posixpath.join(ground.root, scope.cwd or "")
    full = path if path.startswith(("/", "~")) else posixpath.join(start, path)
    judged = classify(full, access, ground)
    if windows.is_secret(full):
        return Place("deny", "secret", full, "it is a store of passwords")
    if wild:
        rest = value[len(base[0]) + len(base[1]) :]
        judged = _wildest(
            judged, rest, lambda one: classify(posixpath.join(full, one), access, ground), access
        )
    return _sorted(judged, _posix_tree(judged.real or posixpath.normpath(full), scope))


def _posix_tree(real: str, scope: Scope) -> str:
    root, home = scope.ground.root.rstrip("/"), scope.ground.home.rstrip("/")
    if real.strip("/") == "":
        return "root"
    if real == home or home.startswith(real + "/") or HOMES.match(real):
        return "home"
    if real == root:
        return "workspace"
    if root.startswith(real + "/"):
        return "above"
    if real.startswith(root + "/"):
        return ""
    is_system = real.count("/") == 1 or classify(real, "write", scope.ground).sort == "system"
    return "system" if is_system and not TEMP.match(real + "/") else ""


def _wildest(judged: Judged, pattern: str, judge: Callable[[str], Judged], access: Access) -> Judged:
    """What a wildcard can match counts as what it matches."""
    if judged.level == "deny":
        return judged
    first = names.folded(re.split(r"[\\/]", pattern)[0])
    if sum(sign.isalnum() for sign in first) < 2 and not first.startswith("."):
        return judged
    samples = SAMPLE_SECRETS if access == "read" else (*SAMPLE_SECRETS, *SAMPLE_PROTECTED)
    for name in samples:
        if fnmatchcase(name, first):
            found = judge(name + pattern[len(re.split(r"[\\/]", pattern)[0]) :].replace("*", "x"))
            if found.level == "deny":
                return found
    return judged


def _sorted(judged: Judged, tree: str) -> Place:
    real = judged.real
    match judged.sort:
        case "secret" if _is_env_file(real):
            return Place("ask", "env-file", real, judged.reason, tree)
        case "secret":
            return Place("deny", "secret", real, judged.reason, tree)
        case "protected":
            return Place("deny", "protected", real, judged.reason, tree)
        case "system":
            return Place("deny", "system", real, judged.reason, tree)
        case "device" | "link" | "unreadable":
            return Place(
                judged.level, "device" if judged.sort == "device" else "odd", real, judged.reason, tree
            )
        case "outside" if TEMP.search(real):
            return Place("ask", "temp", real, judged.reason, tree)
        case "outside":
            return Place("ask", "outside", real, judged.reason, tree)
        case _:
            return Place(judged.level, "plain", real, judged.reason, tree)


def _is_env_file(real: str) -> bool:
    name = names.folded(real.replace("\\", "/").rpartition("/")[2])
    return name.startswith(".env")
