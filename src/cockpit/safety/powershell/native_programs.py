"""Programs and shells that a PowerShell line starts.

Windows programs are judged by their arguments, all others by the rules that both shells share. The text given
to PowerShell, cmd or bash is judged as well.
"""

import base64
import binascii
import ntpath
import re
import shlex
from dataclasses import replace

from cockpit.safety.bash.line_verdict import judge_argv, judge_bash
from cockpit.safety.findings import SafetyFinding, ask, deny
from cockpit.safety.powershell.scope import PowerShellScope, Values
from cockpit.safety.values import ExecutionContext

CMD_TOKENS = re.compile(r'\^.|"[^"]*"?|&&?|\|\|?|>>?|[()]|\n|[^\s^"&|<>()\n]+|\s+|.', re.DOTALL)
CMD_VARIABLE = re.compile(r"%([\w()]+)(?::[^%]*)?%")
# cmd's builtin commands and the cmdlets that do the same.
CMD_EQUIVALENTS = {
    "del": "remove-item", "erase": "remove-item", "rd": "remove-item", "rmdir": "remove-item",
    "copy": "copy-item", "xcopy": "copy-item", "robocopy": "copy-item", "move": "move-item",
    "ren": "rename-item", "rename": "rename-item", "type": "get-content", "more": "get-content",
    "dir": "get-childitem", "md": "new-item", "mkdir": "new-item", "echo": "write-output",
    "start": "start-process", "cd": "set-location", "chdir": "set-location", "pushd": "push-location",
}  # fmt: skip
CMD_PREFIXES = frozenset(
    {"call", "if", "not", "exist", "else", "do", "cmd", "cmd.exe", "/c", "/k", "/s", "/q", "/d", "@"}
)


def split_cmd_commands(text: str, home: str) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """The words of each command and the files it redirects to, split as cmd.exe splits them. Raises
    nothing."""
    result: list[tuple[list[str], list[str]]] = [([], [])]
    word, redirecting = "", False

    def ended() -> None:
        nonlocal word, redirecting
        if word:
            result[-1][1 if redirecting else 0].append(_expand_cmd_variables(word, home))
            redirecting = False
        word = ""

    for piece in CMD_TOKENS.findall(text):
        if piece in ("&", "&&", "|", "||", "(", ")", "\n"):
            ended()
            result.append(([], []))
        elif piece in (">", ">>"):
            ended()
            redirecting = True
        elif piece.isspace():
            ended()
        elif piece.startswith("^"):
            word += piece[1:].strip("\n")
        else:
            word += piece.replace('"', "")
    ended()
    return [(_strip_cmd_prefixes(tuple(words)), tuple(files)) for words, files in result if words or files]


def _strip_cmd_prefixes(words: tuple[str, ...]) -> tuple[str, ...]:
    """Drop what precedes a command: `call`, `if exist x`, `for ... do`."""
    while words and words[0].lower().lstrip("@") in CMD_PREFIXES:
        skip = 2 if words[0].lower() == "exist" else 1
        words = words[skip:]
    low = [word.lower() for word in words]
    if low[:1] == ["for"] and "do" in low:
        return _strip_cmd_prefixes(words[low.index("do") + 1 :])
    return (words[0].lstrip("@"), *words[1:]) if words else ()


def _expand_cmd_variables(word: str, home: str) -> str:
    known = {
        "userprofile": home, "homepath": home, "homedrive": "", "systemdrive": "C:",
        "systemroot": "C:\\Windows",
        "windir": "C:\\Windows", "appdata": f"{home}\\AppData\\Roaming",
        "localappdata": f"{home}\\AppData\\Local",
        "temp": "C:\\temp\\", "tmp": "C:\\temp\\", "programfiles": "C:\\Program Files", "comspec": "cmd",
        "programdata": "C:\\ProgramData", "public": "C:\\Users\\Public", "allusersprofile": "C:\\ProgramData",
    }  # fmt: skip
    return CMD_VARIABLE.sub(lambda match: known.get(match[1].lower(), match[0]), word)


RUN_KEYS = re.compile(
    r"\\(currentversion\\(run|runonce|runservices|policies\\explorer\\run|winlogon"
    r"|image file execution options|app paths|windows\\appinit_dlls|shellserviceobjects)|active setup"
    r"|session manager|lsa|services\\|userinitmprlogonscript|environment\\?userinit|shell\\open\\command"
    r"|command processor|policies\\system)",
    re.IGNORECASE,
)
PASSWORD_STORES = re.compile(
    r"(hklm|hkey_local_machine|registry::[^\\]*):?\\+(sam|security|system)\b", re.IGNORECASE
)
REGISTRY_HIVES = re.compile(
    r"^(hk\w+|registry::?\w*):?\\*(software|system|sam|security|hardware)?\\*\*?$", re.IGNORECASE
)
SWITCHED_OFF = re.compile(
    r"enablelua|disableantispyware|disablerealtime|amsi|tamperprotection|scriptblocklogging|wdigest", re.I
)
PROTECTION_SERVICES = r"windefend|wscsvc|mpssvc|eventlog|\bsense\b|wdnissvc|vss\b"
# Program, pattern for its arguments, rule id, reason.
REFUSED_ARGUMENTS: tuple[tuple[str, str, str, str], ...] = (
    ("cmd", r"%0\s*\|\s*%0|\bfor\s+/l\b.*\bdo\b.*\bstart\b",
     "ps-fork-bomb", "it starts copies of itself endlessly"),
    ("schtasks", r"/(create|change|run|delete)",
     "ps-persist", "it creates or changes a task that runs later"),
    ("forfiles", r"\b(del|erase|rd|rmdir|format|powershell|remove-item)\b",
     "ps-delete-tree", "it removes files"),
    ("robocopy", r"(?=.*/(mir|purge)).*\s\"?[a-z]:\\(windows|users|program files|programdata)?[\\\"\s]",
     "ps-delete-tree", "it empties a drive"),
    ("stop-service", PROTECTION_SERVICES, "ps-defender", "it stops protection of the machine"),
    ("set-service", PROTECTION_SERVICES, "ps-defender", "it stops protection of the machine"),
    ("stop-process", r"msmpeng|lsass|csrss|winlogon|cockpit",
     "ps-defender", "it stops protection or the session"),
    ("uninstall-windowsfeature", r"defender", "ps-defender", "it removes protection of the machine"),
    ("disable-windowsoptionalfeature", r"defender", "ps-defender", "it removes protection of the machine"),
    ("invoke-cimmethod", r"win32shutdown|shutdowntracker|reboot", "ps-power", "it shuts the machine down"),
    ("invoke-wmimethod", r"win32shutdown|reboot", "ps-power", "it shuts the machine down"),
    ("set-psreadlineoption", r"historysavestyle|savenothing", "ps-logs", "it turns the command history off"),
    ("new-object", r"sockets\.(tcpclient|udpclient|socket|tcplistener)",
     "ps-remote", "it opens a network connection for remote access"),
    ("vssadmin", r"delete|resize", "ps-shadow", "it deletes backups"),
    ("wbadmin", r"delete|stop", "ps-shadow", "it deletes backups"),
    ("bcdedit", r"/(set|delete|deletevalue|create|import)", "ps-shadow", "it changes how the machine starts"),
    ("wevtutil", r"\b(cl|clear-log|sl|set-log)\b", "ps-logs", "it deletes logs"),
    ("auditpol", r"/(clear|set|remove|restore)", "ps-logs", "it deletes logs"),
    ("reg", r"\b(add|copy|import|restore|load)\b.*(\\run|winlogon|image file exec|appinit|\\lsa|policies)",
     "ps-persist", "it adds something to the registry that runs later"),
    ("reg", r"\b(save|export)\b.*\b(sam|security|system)\b",
     "ps-credentials", "it copies the password store"),
    ("reg", r"\bdelete\b.*hk(lm|cu|ey_\w+)\\?(software|system|sam)?\\?\"?\s",
     "ps-registry", "it removes whole branches of the registry"),
    ("net", r"\b(user|localgroup|group|accounts)\b.*(/add|/delete|/active|\s\S+\s\S+)",
     "ps-users", "it changes users"),
    ("net", r"\bstop\b.*(windefend|wscsvc|mpssvc|eventlog|sense)",
     "ps-defender", "it stops protection of the machine"),
    ("sc", r"\b(create|config|failure|sdset)\b", "ps-persist", "it creates or changes a service"),
    ("sc", r"\b(stop|delete)\b.*(windefend|wscsvc|mpssvc|eventlog|sense|vss)",
     "ps-defender", "it stops protection"),
    ("bitsadmin", r"/(transfer|addfile|create|setnotifycmdline|resume)",
     "ps-download", "it downloads without the browser's checks"),
    ("certutil", r"[-/](urlcache|verifyctl|decode|decodehex|encode|f\b.*http|ping)|https?:",
     "ps-download", "it downloads or unpacks hidden files"),
    ("netsh", r"firewall.*(off|delete|disable)|wlan.*key\s*=\s*clear|portproxy|add\s+helper|trace\s+start",
     "ps-defender", "it opens the firewall or shows its keys"),
    ("wmic", r"shadowcopy|process\s+call\s+create|\bdelete\b|/node|format:.*http|useraccount.*(set|call)",
     "ps-shadow", "it runs, removes or changes things through WMI"),
    ("regsvr32", r"https?:|/i:|scrobj|\\\\", "ps-code", "it runs a script from another place"),
    ("rundll32", r"javascript:|vbscript:|https?:|comsvcs|minidump|mshtml|url\.dll|zipfldr|advpack"
     r"|shell32.*control|\\\\", "ps-code", "it runs code through a library"),
    ("msiexec", r"https?:|\\\\", "ps-code", "it installs from the network"),
    ("cscript", r"https?:|\\\\|//e:", "ps-code", "it runs a script from another place"),
    ("wscript", r"https?:|\\\\|//e:", "ps-code", "it runs a script from another place"),
    ("msbuild", r"https?:|\\\\", "ps-code", "it runs code from the network"),
    ("cipher", r"/w", "ps-disk", "it wipes free space"),
    ("fsutil", r"usn\s+deletejournal|setzerodata|behavior\s+set",
     "ps-disk", "it deletes data that recovery needs"),
    ("takeown", r"[a-z]:\\(windows|program|users)?\"?(\s|$|\\)|\s/r",
     "ps-rights", "it takes ownership of system files"),
    ("icacls", r"([a-z]:\\(windows|program files|users)?\"?(\s|$|\\))|everyone|/grant.*:(\(oi\)|\(ci\))*f",
     "ps-rights", "it gives everybody access to system files"),
    ("format", r"[a-z]:", "ps-disk", "it formats a drive"),
    ("attrib", r"[a-z]:\\(windows|program)", "ps-rights", "it hides or opens system files"),
    ("tasklist", r"lsass", "ps-credentials", "it looks for the process that holds passwords"),
    ("taskkill", r"(msmpeng|lsass|csrss|winlogon|cockpit)",
     "ps-defender", "it stops protection or the session"),
    ("setx", r"\bpath\b|pathext|comspec", "ps-persist", "it changes which programs are found by name"),
    ("runas", r".", "ps-priv", "it runs as another user"),
    ("dism", r"/disable-feature|/remove-package|/cleanup-image.*resetbase",
     "ps-host", "it removes parts of the system"),
    ("nltest", r".", "ps-users", "it lists the machines of the domain"),
    ("psexec", r".", "ps-priv", "it runs as another user or on another machine"),
)  # fmt: skip
INFORMATION_PROGRAMS = frozenset(
    {"whoami", "hostname", "where", "tree", "tasklist", "systeminfo", "ipconfig", "ver", "findstr"}
)
WINDOWS_PATH = re.compile(r"(^|[=:,])([A-Za-z]:[\\/]|\\\\)|\\\.\.|\.\.\\")


def check_windows_program(name: str, arguments: str) -> list[SafetyFinding]:
    """Findings on the arguments of a Windows program."""
    low = f" {arguments.lower()} "
    findings = [
        deny(rule, reason, "host.mutate")
        for program, pattern, rule, reason in REFUSED_ARGUMENTS
        if program == name and re.search(pattern, low)
    ]
    if name == "reg" and (RUN_KEYS.search(low) and re.search(r"\b(add|import|copy)\b", low)):
        findings.append(deny("ps-persist", "it adds something to the registry that runs later", "persist"))
    if SWITCHED_OFF.search(low) and name in ("reg", "netsh", "sc", "wmic"):
        findings.append(deny("ps-defender", "it turns protection off", "host.mutate"))
    return findings


def check_registry(values: tuple[str, ...], writes: bool, removes: bool) -> list[SafetyFinding]:
    """Findings on the use of these registry paths and value names."""
    findings: list[SafetyFinding] = []
    text = " ".join(values)
    if any(PASSWORD_STORES.search(value) for value in values) and (writes or "sam" in text.lower()):
        findings.append(deny("ps-credentials", "it is the machine's password store", "secret.read"))
    if removes and any(REGISTRY_HIVES.match(value) for value in values):
        findings.append(deny("ps-registry", "it removes whole branches of the registry", "host.mutate"))
    if writes and (RUN_KEYS.search(text) or re.search(r"\\(run|runonce)(\\|\s|$)", text, re.I)):
        findings.append(deny("ps-persist", "it adds something to the registry that runs later", "persist"))
    if writes and SWITCHED_OFF.search(text):
        findings.append(deny("ps-defender", "it turns protection off", "host.mutate"))
    return findings


def judge_shared_program(
    argv: tuple[str, ...], scope: PowerShellScope
) -> tuple[list[SafetyFinding], tuple[str, ...]]:
    """Judge a program by the rules that both shells share; also returns the words that its hardened form
    adds. A Windows path makes it an ask, as those rules do not know such paths."""
    key = (scope.cwd, *argv)
    context = scope.context if scope.cwd is None else replace(scope.context, cwd=scope.cwd)
    words = argv
    if context.platform == "windows":
        context = translate_to_unix(context, "")
        words = (argv[0], *(word.replace("\\", "/") for word in argv[1:]))
    line = scope.facts.programs.get(key) or judge_argv(words, context, scope.rules)
    scope.facts.programs[key] = line
    verdict = line.verdict
    reason = verdict.reason or f"{argv[0]} is not a known program"
    rule = verdict.rules[0] if verdict.rules else "program"
    findings = [
        SafetyFinding(verdict.level, rule, verdict.risk, verdict.capabilities, reason, verdict.alternative)
    ]
    if any(WINDOWS_PATH.search(word) for word in argv[1:]):
        reason = "its Windows path cannot be judged by the rules for programs"
        findings.append(ask("windows-path", reason, "fs.read", risk=45))
    added = _hardening_words(words, line.script) if line.environment else ()
    if verdict.level == "allow":
        scope.facts.environment = line.environment
    return findings, added


def translate_to_unix(context: ExecutionContext, mounted: str) -> ExecutionContext:
    """The same folders as paths that the rules for Unix programs understand: `/c/proj`, or below `mounted`.
    The platform stays Windows, so that nobody looks for them on disk."""

    def seen(path: str) -> str:
        drive, rest = ntpath.splitdrive(path)
        return f"{mounted}/{drive[0].lower()}{rest}".replace("\\", "/") if drive[1:] == ":" else path

    root, home, cwd, *own = map(seen, (context.root, context.home, context.cwd, *context.own))
    return replace(context, root=root, home=home, cwd=cwd, own=tuple(own))


def _hardening_words(argv: tuple[str, ...], script: str) -> tuple[str, ...]:
    try:
        words = shlex.split(script)
    except ValueError:
        return ()
    left = list(argv)
    added = tuple(word for word in words if not (left and word == left[0] and left.pop(0) == word))
    return added if not left and all(word.startswith("--") for word in added) else ()


POWERSHELL_NAMES = frozenset({"powershell", "pwsh", "powershell_ise", "pwsh-preview"})
POSIX_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "wsl", "ash", "fish"})
# Parameters of powershell.exe with and without a value. An abbreviation means the first that fits.
VALUE_PARAMETERS = """
    command commandwithargs encodedcommand ec executionpolicy ep ex encodedarguments file configurationname
    configurationfile custompipename inputformat outputformat psconsolefile settingsfile version windowstyle
    workingdirectory wd
"""
SWITCHES = """
    noexit nologo noninteractive noprofile noprofileloadtime nop sta mta interactive login sshservermode help
"""
MAX_SHELL_DEPTH = 6


def check_powershell(
    arguments: list[str | None], scope: PowerShellScope, is_fed: bool
) -> list[SafetyFinding]:
    """`powershell ...`: judge what it is told to run as well."""
    findings = [ask("ps-shell", "it starts another shell", "code.exec", risk=50, remember=False)]
    at = 0
    while at < len(arguments):
        text = arguments[at]
        if text is None:
            scope.facts.runs_computed = "the command of the inner shell is computed"
            return findings
        if text == "-" or text[:1] not in "-/\u2013\u2014\u2015":
            _judge_command_text(arguments[at:], scope, is_fed)
            return findings
        name = _match_parameter(text[1:].lower().partition(":")[0])
        value = arguments[at + 1] if at + 1 < len(arguments) else None
        if name in ("encodedcommand", "ec", "encodedarguments"):
            return [*findings, _judge_encoded(value, scope)]
        if name in ("command", "commandwithargs"):
            _judge_command_text(arguments[at + 1 :], scope, is_fed)
            return findings
        if name == "file":
            return [*findings, _judge_script_file(value, scope)]
        if name == "windowstyle" and (value or "").lower().startswith("h"):
            findings.append(ask("ps-hidden", "it hides its window", "code.exec", risk=70, remember=False))
        at += 2 if name in VALUE_PARAMETERS.split() else 1
    if is_fed:
        scope.facts.runs_computed = "a shell runs what it reads from the pipeline"
    return findings


def _match_parameter(text: str) -> str:
    if text in ("e", "en", "enc"):
        return "encodedcommand"
    fitting = (name for name in (VALUE_PARAMETERS + SWITCHES).split() if text and name.startswith(text))
    return next(fitting, "")


def _judge_encoded(value: str | None, scope: PowerShellScope) -> SafetyFinding:
    try:
        text = base64.b64decode(value or "", validate=False).decode("utf-16-le")
    except (binascii.Error, ValueError):
        text = ""
    if text:
        judge_inner_text(text, scope)
    decoded = f": {text.strip()[:80]!r}" if text.strip() else ""
    advice = "write the command in plain text"
    return deny("ps-encoded", f"its command is encoded{decoded}", "code.exec", alternative=advice)


def _judge_command_text(rest: list[str | None], scope: PowerShellScope, is_fed: bool) -> None:
    words = [word for word in rest if word is not None]
    if len(words) != len(rest) or words == ["-"] or (not words and is_fed):
        scope.facts.runs_computed = "the command of the inner shell is computed"
    if words and words != ["-"]:
        judge_inner_text(" ".join(words), scope)


def _judge_script_file(value: str | None, scope: PowerShellScope) -> SafetyFinding:
    scope.facts.started.add(base_name(value or ""))
    if value and re.match(r"^(\\\\|//|https?:)", value):
        return deny("ps-code", "it runs a script from the network", "code.remote")
    return ask("ps-script", "it runs a script", "code.exec", risk=45)


def judge_inner_text(text: str, scope: PowerShellScope) -> None:
    """Judge `text` as PowerShell, one shell deeper."""
    if scope.depth < MAX_SHELL_DEPTH:
        scope.facts.read(text, scope)
        return
    scope.facts.overdeep = True


def check_posix_shell(arguments: list[str | None], scope: PowerShellScope) -> list[SafetyFinding]:
    """`bash -c ...` and `wsl ...`: judge the text by the rules for bash."""
    words = [argument for argument in arguments if argument is not None]
    findings = [ask("ps-shell", "it starts another shell", "code.exec", risk=50, remember=False)]
    if len(words) != len(arguments):
        scope.facts.runs_computed = "the command of the inner shell is computed"
    flags = [at for at, word in enumerate(words) if re.fullmatch(r"-[a-z]*c", word)]
    text = words[flags[0] + 1] if flags and flags[0] + 1 < len(words) else " ".join(_without_flags(words))
    if not text:
        return findings
    scope.facts.started.add(base_name(text))
    context = scope.context
    if context.platform == "windows":
        home = f"/home/{ntpath.basename(context.home) or 'user'}"
        context = replace(translate_to_unix(context, "/mnt"), home=home)
    line = judge_bash(text, context, scope.rules)
    scope.facts.parts += line.verdict.parts
    if line.verdict.level != "deny" and (low := text.lower()) != text:
        # On a disk that ignores case, these programs can be written in any case.
        lower = judge_bash(low, context, scope.rules)
        line = lower if lower.verdict.level == "deny" else line
    verdict = line.verdict
    if verdict.level == "deny":
        rule = verdict.rules[0] if verdict.rules else "bash"
        denied = SafetyFinding("deny", rule, verdict.risk, verdict.capabilities, verdict.reason)
        findings.append(replace(denied, remember=False))
    return findings


def _without_flags(words: list[str]) -> list[str]:
    flat = [word for word in words if word not in ("--", "-e", "--exec", "-l", "-i")]
    return flat[2:] if flat[:1] in (["-d"], ["-u"], ["--distribution"], ["--user"]) else flat


def first_values(folded: list[Values | None]) -> list[str | None]:
    """The first value of each word, None where it is not known."""
    return [None if value is None or not value else value[0] for value in folded]


def base_name(text: str) -> str:
    """The last path component of the first word, to tell whether two commands mean the same file."""
    first = text.strip().strip("\"'").split(" ")[0]
    return re.split(r"[\\/]", first.split("?")[0])[-1].lower()
