"""Programs that a PowerShell line starts: those of Windows by what their arguments say, all others by
the rules for argument vectors that both shells share."""

import ntpath
import re
import shlex
from dataclasses import replace

from cockpit.safety.powershell.findings import Finding, ask, deny
from cockpit.safety.powershell.scope import Scope
from cockpit.safety.values import Ground

RUN_KEYS = re.compile(
    r"\\(currentversion\\(run|runonce|runservices|policies\\explorer\\run|winlogon"
    r"|image file execution options"
    r"|app paths|windows\\appinit_dlls|shellserviceobjects)|active setup|session manager|lsa"
    r"|services\\|userinitmprlogonscript|environment\\?userinit|shell\\open\\command|command processor"
    r"|policies\\system)",
    re.IGNORECASE,
)
STORES = re.compile(r"(hklm|hkey_local_machine|registry::[^\\]*):?\\+(sam|security|system)\b", re.IGNORECASE)
HIVES = re.compile(
    r"^(hk\w+|registry::?\w*):?\\*(software|system|sam|security|hardware)?\\*\*?$", re.IGNORECASE
)
SWITCHED_OFF = re.compile(
    r"enablelua|disableantispyware|disablerealtime|amsi|tamperprotection|scriptblocklogging|wdigest", re.I
)
# Per program: a pattern over its arguments, the id, what it is.
GUARDS = r"windefend|wscsvc|mpssvc|eventlog|\bsense\b|wdnissvc|vss\b"
REFUSED: tuple[tuple[str, str, str, str], ...] = (
    ("cmd", r"%0\s*\|\s*%0|\bfor\s+/l\b.*\bdo\b.*\bstart\b", "ps-fork-bomb", "it starts copies without end"),
    ("schtasks", r"/(create|change|run|delete)", "ps-persist", "it plants or changes a task that runs later"),
    ("forfiles", r"\b(del|erase|rd|rmdir|format|powershell|remove-item)\b", "ps-delete-tree", "it removes"),
    ("robocopy", r"(?=.*/(mir|purge)).*\s\"?[a-z]:\\(windows|users|program files|programdata)?[\\\"\s]",
     "ps-delete-tree", "it empties a drive"),
    ("stop-service", GUARDS, "ps-defender", "it stops the machine's protection"),
    ("set-service", GUARDS, "ps-defender", "it stops the machine's protection"),
    ("stop-process", r"msmpeng|lsass|csrss|winlogon|cockpit",
     "ps-defender", "it ends protection or the session"),
    ("uninstall-windowsfeature", r"defender", "ps-defender", "it removes the machine's protection"),
    ("disable-windowsoptionalfeature", r"defender", "ps-defender", "it removes the machine's protection"),
    ("invoke-cimmethod", r"win32shutdown|shutdowntracker|reboot", "ps-power", "it turns the machine off"),
    ("invoke-wmimethod", r"win32shutdown|reboot", "ps-power", "it turns the machine off"),
    ("set-psreadlineoption", r"historysavestyle|savenothing", "ps-logs", "it hides what was typed"),
    ("new-object", r"sockets\.(tcpclient|udpclient|socket|tcplistener)",
     "ps-remote", "it opens a way in from outside"),
    ("vssadmin", r"delete|resize", "ps-shadow", "it removes backups"),
    ("wbadmin", r"delete|stop", "ps-shadow", "it removes backups"),
    ("bcdedit", r"/(set|delete|deletevalue|create|import)", "ps-shadow", "it changes how the machine starts"),
    ("wevtutil", r"\b(cl|clear-log|sl|set-log)\b", "ps-logs", "it removes traces"),
    ("auditpol", r"/(clear|set|remove|restore)", "ps-logs", "it removes traces"),
    ("reg", r"\b(add|copy|import|restore|load)\b.*(\\run|winlogon|image file exec|appinit"
     r"|\\lsa|policies)",
     "ps-persist", "it plants something in the registry that runs later"),
    ("reg", r"\b(save|export)\b.*\b(sam|security|system)\b",
     "ps-credentials", "it copies the password store"),
    ("reg", r"\bdelete\b.*hk(lm|cu|ey_\w+)\\?(software|system|sam)?\\?\"?\s",
     "ps-registry", "it removes whole branches of the registry"),
    ("net", r"\b(user|localgroup|group|accounts)\b.*(/add|/delete|/active|\s\S+\s\S+)",
     "ps-users", "it changes users"),
    ("net", r"\bstop\b.*(windefend|wscsvc|mpssvc|eventlog|sense)",
     "ps-defender", "it stops the machine's protection"),
    ("sc", r"\b(create|config|failure|sdset)\b",
     "ps-persist", "it plants or changes a service"),
    ("sc", r"\b(stop|delete)\b.*(windefend|wscsvc|mpssvc|eventlog|sense|vss)",
     "ps-defender", "it stops protection"),
    ("bitsadmin", r"/(transfer|addfile|create|setnotifycmdline|resume)",
     "ps-download", "it downloads past the browser's checks"),
    ("certutil", r"[-/](urlcache|verifyctl|decode|decodehex|encode|f\b.*http|ping)|https?:",
     "ps-download", "it downloads or unpacks hidden files"),
    ("netsh", r"firewall.*(off|delete|disable)|wlan.*key\s*=\s*clear|portproxy|add\s+helper"
     r"|trace\s+start",
     "ps-defender", "it opens the firewall or shows keys"),
    ("wmic", r"shadowcopy|process\s+call\s+create|\bdelete\b|/node|format:.*http"
     r"|useraccount.*(set|call)",
     "ps-shadow", "it runs, removes or changes through WMI"),
    ("regsvr32", r"https?:|/i:|scrobj|\\\\",
     "ps-code", "it runs a script from elsewhere"),
    ("rundll32", r"javascript:|vbscript:|https?:|comsvcs|minidump|mshtml|url\.dll|zipfldr|advpack"
     r"|shell32.*control|\\\\",
     "ps-code", "it runs code through a library"),
    ("msiexec", r"https?:|\\\\",
     "ps-code", "it installs from the network"),
    ("cscript", r"https?:|\\\\|//e:",
     "ps-code", "it runs a script from elsewhere"),
    ("wscript", r"https?:|\\\\|//e:",
     "ps-code", "it runs a script from elsewhere"),
    ("msbuild", r"https?:|\\\\",
     "ps-code", "it runs code from the network"),
    ("cipher", r"/w",
     "ps-disk", "it wipes free space"),
    ("fsutil", r"usn\s+deletejournal|setzerodata|behavior\s+set",
     "ps-disk", "it removes what recovery needs"),
    ("takeown", r"[a-z]:\\(windows|program|users)?\"?(\s|$|\\)|\s/r",
     "ps-rights", "it takes over system files"),
    ("icacls", r"([a-z]:\\(windows|program files|users)?\"?(\s|$|\\))|everyone|/grant.*:(\(oi\)"
     r"|\(ci\))*f",
     "ps-rights", "it opens system files to everybody"),
    ("format", r"[a-z]:",
     "ps-disk", "it formats a drive"),
    ("attrib", r"[a-z]:\\(windows|program)",
     "ps-rights", "it hides or opens system files"),
    ("tasklist", r"lsass",
     "ps-credentials", "it looks for the password process"),
    ("taskkill", r"(msmpeng|lsass|csrss|winlogon|cockpit)",
     "ps-defender", "it ends protection or the session"),
    ("setx", r"\bpath\b|pathext|comspec",
     "ps-persist", "it changes which programs are found"),
    ("runas", r".",
     "ps-priv", "it runs as another user"),
    ("dism", r"/disable-feature|/remove-package|/cleanup-image.*resetbase",
     "ps-host", "it removes parts of the system"),
    ("nltest", r".",
     "ps-users", "it maps the domain"),
    ("psexec", r".",
     "ps-priv", "it runs as another user or elsewhere"),
)  # fmt: skip
PLAIN = frozenset(
    {"whoami", "hostname", "where", "tree", "tasklist", "systeminfo", "ipconfig", "ver", "findstr"}
)
WINDOWS_PATH = re.compile(r"(^|[=:,])([A-Za-z]:[\\/]|\\\\)|\\\.\.|\.\.\\")


def of_windows(name: str, arguments: str) -> list[Finding]:
    """What the arguments of a program of Windows say, where they say something bad."""
    low = f" {arguments.lower()} "
    found = [deny(rule, reason, "host.mutate") for one, pattern, rule, reason in REFUSED
             if one == name and re.search(pattern, low)]  # fmt: skip
    if name == "reg" and (RUN_KEYS.search(low) and re.search(r"\b(add|import|copy)\b", low)):
        found.append(deny("ps-persist", "it plants something in the registry that runs later", "persist"))
    if SWITCHED_OFF.search(low) and name in ("reg", "netsh", "sc", "wmic"):
        found.append(deny("ps-defender", "it switches protection off", "host.mutate"))
    return found


def registry(values: tuple[str, ...], writes: bool, removes: bool) -> list[Finding]:
    """What touching these registry paths (and value names) means."""
    found: list[Finding] = []
    text = " ".join(values)
    if any(STORES.search(value) for value in values) and (writes or "sam" in text.lower()):
        found.append(deny("ps-credentials", "it is the machine's password store", "secret.read"))
    if removes and any(HIVES.match(value) for value in values):
        found.append(deny("ps-registry", "it removes whole branches of the registry", "host.mutate"))
    if writes and (RUN_KEYS.search(text) or re.search(r"\\(run|runonce)(\\|\s|$)", text, re.I)):
        found.append(deny("ps-persist", "it plants something in the registry that runs later", "persist"))
    if writes and SWITCHED_OFF.search(text):
        found.append(deny("ps-defender", "it switches protection off", "host.mutate"))
    return found


def shared(argv: tuple[str, ...], scope: Scope) -> tuple[list[Finding], tuple[str, ...]]:
    """The verdict on a plain program by the rules for argument vectors, and the words that the hardened
    form adds. Anything that looks like a Windows path makes it an ask: those rules know none."""
    from cockpit.safety.engine import judge_argv

    key = (scope.cwd, *argv)
    ground = scope.ground if scope.cwd is None else replace(scope.ground, cwd=scope.cwd)
    words = argv
    if ground.platform == "windows":
        ground = on_unix(ground, "")
        words = (argv[0], *(one.replace("\\", "/") for one in argv[1:]))
    line = scope.seen.programs.get(key) or judge_argv(words, ground, scope.rules)
    scope.seen.programs[key] = line
    verdict = line.verdict
    reason = verdict.reason or f"{argv[0]} is a program of its own"
    rule = verdict.rules[0] if verdict.rules else "program"
    found = [Finding(verdict.level, rule, reason, verdict.risk, verdict.capabilities, verdict.alternative)]
    if any(WINDOWS_PATH.search(word) for word in argv[1:]):
        found.append(
            ask("windows-path", "it is given a path of Windows that its rules cannot judge", "fs.read")
        )
    added = _added(words, line.script) if line.environment else ()
    if verdict.level == "allow":
        scope.seen.environment = line.environment
    return found, added


def on_unix(ground: Ground, mounted: str) -> Ground:
    """The same folders as the rules for Unix programs read them: `/c/proj`, or below `mounted`. Still a
    ground of Windows, so that nobody looks for them on the disk."""

    def seen(path: str) -> str:
        drive, rest = ntpath.splitdrive(path)
        return f"{mounted}/{drive[0].lower()}{rest}".replace("\\", "/") if drive[1:] == ":" else path

    root, home, cwd, *own = map(seen, (ground.root, ground.home, ground.cwd, *ground.own))
    return replace(ground, root=root, home=home, cwd=cwd, own=tuple(own))


def _added(argv: tuple[str, ...], script: str) -> tuple[str, ...]:
    """The words that the hardened form has more than `argv`."""
    try:
        words = shlex.split(script)
    except ValueError:
        return ()
    left = list(argv)
    added: list[str] = []
    for word in words:
        if left and word == left[0]:
            left.pop(0)
        else:
            added.append(word)
    return tuple(added) if not left and all(one.startswith("--") for one in added) else ()
