"""Windows paths, read by their letters alone: pure functions that any platform can test.

Sources: "Naming Files, Paths, and Namespaces" and "File path formats on Windows systems" (Microsoft).
"""

import ntpath
import re

DEVICES = re.compile(
    r"^(con|prn|aux|nul|conin\$|conout\$|clock\$|com[0-9¹²³]|lpt[0-9¹²³])\s*(\..*)?$", re.IGNORECASE
)
SHORT_NAME = re.compile(r"^[^.~\s]{1,6}~\d{1,2}(\.[^.]{0,3})?$")
SYSTEM = (
    "windows",
    "program files",
    "program files (x86)",
    "programdata",
    "$recycle.bin",
    "boot",
    "recovery",
)

SECRETS = re.compile(
    r"^windows\\(system32|sysnative|syswow64|repair)\\(config\\)?(regback\\)?(sam|security|system|default)(\.\w+)?$"
    r"|(^|\\)ntds(\.dit)?(\\|$)|(^|\\)(ntuser|usrclass)\.dat"
    r"|\\appdata\\(local|roaming|locallow)\\microsoft\\(credentials|protect|vault|crypto|systemcertificates)(\\|$)"
    r"|(^|\\)(login data|web data|cookies|local state|key4\.db|logins\.json|cookies\.sqlite)$"
    r"|\\appdata\\(local|roaming)\\(google\\chrome|chromium|bravesoftware|mozilla|microsoft\\edge|gnupg|gcloud)(\\|$)"
    r"|(^|\\)(unattend|sysprep|autounattend)\.(xml|inf)$|(^|\\)lsass[^\\]*\.dmp$|(^|\\)pagefile\.sys$"
    r"|\\psreadline\\[^\\]*history[^\\]*$|\\windowspowershell\\credentials|\\sshd?_host_[a-z0-9]*_key$"
)


def fault(path: str) -> str:
    """Why Windows would open something else than `path` seems to say, or ""."""
    flat = path.replace("/", "\\")
    if flat.startswith(("\\\\?\\", "\\\\.\\", "\\??\\")):
        return "device paths are not opened"
    if flat.startswith("\\\\"):
        return "network (UNC) paths are not opened: they send the user's credentials to the host"
    drive, rest = ntpath.splitdrive(flat)
    if drive and not rest.startswith("\\"):
        return f"{drive} without a \\ means the drive's current folder; write the whole path"
    for part in rest.split("\\"):
        if reason := _part_fault(part):
            return reason
    return ""


def _part_fault(part: str) -> str:
    if part in ("", ".", ".."):
        return ""
    if ":" in part:
        return f"{part} names an alternate data stream"
    if any(sign in '<>"|?*' for sign in part):
        return f"{part} holds a character that Windows keeps for itself"
    if part.endswith((" ", ".")):
        return f"{part!r} ends in a space or a dot, which Windows drops"
    if DEVICES.match(part):
        return f"{part} is a device"
    if SHORT_NAME.match(part):
        return f"{part} is a short (8.3) name; write the whole name"
    return ""


def absolute(path: str, root: str, home: str) -> str:
    """`path` with `~`, `..` and the root worked in. Purely lexical."""
    if path == "~" or path.startswith(("~/", "~\\")):
        path = home + path[1:]
    drive, rest = ntpath.splitdrive(path)
    if not drive and rest.startswith(("\\", "/")):
        path = ntpath.splitdrive(root)[0] + path
    return ntpath.normpath(ntpath.join(root, path))


def inside(path: str, root: str) -> bool:
    """Whether absolute `path` is `root` or lies in it, part by part, whatever the case."""
    folder = ntpath.normcase(ntpath.normpath(root)).rstrip("\\")
    one = ntpath.normcase(ntpath.normpath(path))
    return one == folder or one.startswith(folder + "\\")


def parts(path: str) -> tuple[str, ...]:
    """The names in an absolute path, without the drive."""
    return tuple(part for part in ntpath.splitdrive(path)[1].replace("/", "\\").split("\\") if part)


def is_system(path: str) -> bool:
    """Whether absolute `path` lies where the system or its programs are."""
    names = parts(path)
    return bool(names) and names[0].casefold() in SYSTEM


def is_secret(path: str) -> bool:
    """Whether absolute `path` is one of the stores in which Windows keeps passwords."""
    return bool(SECRETS.search("\\".join(parts(path)).casefold()))
