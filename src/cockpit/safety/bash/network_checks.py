"""Code that comes from the network or is decoded, and data that leaves: piped installers, reverse shells,
secrets sent away."""

import re
from collections.abc import Iterator

from cockpit.safety.bash.command_model import DataFlow, SimpleCommand
from cockpit.safety.bash.data_flow import FETCHERS
from cockpit.safety.bash.operands import FileOperand
from cockpit.safety.bash.wrappers import SHELLS
from cockpit.safety.findings import SafetyFinding, ask, deny
from cockpit.workspace.word_set import word_set

INTERPRETERS = re.compile(
    r"(python|pypy|perl|ruby|node|php|lua|luajit|tclsh|wish|Rscript|osascript|deno|bun|pwsh|powershell"
    r"|groovy|scala|ghci|irb|gdb|ex|ed|vim|awk|gawk|sed|make|m4|bc|sqlite3|psql|mysql|at|batch|crontab"
    r"|elixir|julia|swift|jshell)[\d.]*"
)
STDIN_IS_CODE = re.compile(
    r"(python|pypy|perl|ruby|node|php|lua|luajit|tclsh|Rscript|osascript|deno|bun|pwsh|powershell|at|batch"
    r"|crontab|elixir|julia|groovy|jshell|irb|ex|ed)[\d.]*"
)
CODE_OPTIONS = word_set("-c -e -m -p -r -n -ne -pe -ane -lne -nle --eval --print -E -i -f -h --version -V")
CONNECTORS = word_set("nc ncat netcat socat telnet cryptcat pwncat rustcat openssl")
SENDERS = FETCHERS | word_set(
    "mail mailx sendmail mutt ping ping6 traceroute whois ssh-copy-id rclone s3cmd aws gsutil gcloud az gh "
    "glab npm twine hub git kubectl docker podman ftp sshfs restic termbin transfer ngrok cloudflared chisel "
    "wscat websocat grpcurl mosquitto_pub redis-cli logger xdg-open open"
)
# Programs whose purpose is to fetch from or inspect the network; sending adds to the risk.
NETWORK = SENDERS - word_set("git kubectl docker podman npm gh glab logger xdg-open open hub openssl")
SECRET_SENDERS = SENDERS - word_set("git docker podman kubectl npm open xdg-open logger")
# Words given to these programs are data or patterns, not code from elsewhere.
DATA_LANGUAGES = word_set("sed awk gawk bc make m4 psql mysql sqlite3 ssh")
REMOTE_TAINTS = frozenset({"net", "decoded"})


def check_network(
    command: SimpleCommand, operands: list[FileOperand], files: dict[str, DataFlow]
) -> Iterator[SafetyFinding]:
    """All findings about the origin of code and the destination of data."""
    findings = (
        _check_remote_code(command, files) if command.words else None,
        _check_reverse_shell(command),
        _check_sent_secrets(command, operands),
        _check_network_use(command),
    )
    yield from filter(None, findings)


def is_interpreter(name: str) -> bool:
    return name in SHELLS or INTERPRETERS.fullmatch(name) is not None


def _reads_code(command: SimpleCommand) -> bool:
    """Whether the program runs its stdin as code."""
    name, arguments = command.program, command.arguments
    if name in SHELLS:
        plain = [argument for argument in arguments if not argument.startswith(("-", "+"))]
        has_script = any(re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", argument) for argument in arguments)
        return not has_script and (
            not plain
            or any(re.fullmatch(r"-[a-zA-Z]*s[a-zA-Z]*", argument) for argument in arguments)
            or plain[0] in ("/dev/stdin", "-", "/dev/fd/0", "/proc/self/fd/0")
        )
    if name in ("source", "."):
        return arguments[:1] in (("/dev/stdin",), ("/dev/fd/0",), ("/proc/self/fd/0",))
    if STDIN_IS_CODE.fullmatch(name):
        return (
            not arguments
            or arguments[0] in ("-", "/dev/stdin")
            or not any(argument in CODE_OPTIONS or not argument.startswith("-") for argument in arguments)
        )
    return False


def runs_standard_input(command: SimpleCommand) -> bool:
    """Whether the program runs rules or scripts from its stdin, build tools included."""
    return _reads_code(command) or (command.program in ("make", "gmake", "just") and "-" in command.arguments)


def _find_remote_code(command: SimpleCommand, runs_words: bool) -> tuple[str, frozenset[str]]:
    """The program that runs fetched or decoded text directly, with the taints of that text."""
    name = command.program
    if command.words[0].taints & REMOTE_TAINTS:
        return "it", command.words[0].taints
    if command.stdin.taints & REMOTE_TAINTS and _reads_code(command):
        return name, command.stdin.taints
    if runs_words and name not in DATA_LANGUAGES:
        tainted = (word.taints for word in command.words[1:] if word.taints & REMOTE_TAINTS)
        return name, next(tainted, frozenset())
    return "", frozenset()


def _check_remote_code(command: SimpleCommand, files: dict[str, DataFlow]) -> SafetyFinding | None:
    name = command.program
    runs_words = is_interpreter(name) or name in ("eval", "source", ".", "trap", "alias", "ssh", "exec")
    runner, taints = _find_remote_code(command, runs_words)
    if taints:
        source = "from the network" if "net" in taints else "decoded from an unreadable text"
        return deny("code.remote", f"{runner} runs what comes {source}", "code.remote")
    ran = [command.words[0].guess] if "/" in command.words[0].guess else []
    if is_interpreter(name) or name in ("source", "."):
        ran += [argument for argument in command.arguments if not argument.startswith("-")][:2]
    for item in ran if name != "chmod" else ():
        for path, flow in files.items():
            if flow.taints & REMOTE_TAINTS and path.rpartition("/")[2] == item.rpartition("/")[2]:
                reason = f"it runs {item}, which the same line fetched or decoded"
                return deny("code.remote", reason, "code.remote")
    if runs_words and "unknown" in command.stdin.taints and _reads_code(command):
        return ask("code.unknown", "it runs a text that cannot be read beforehand", "code.exec", risk=80)
    return None


def _check_reverse_shell(command: SimpleCommand) -> SafetyFinding | None:
    name, arguments = command.program, command.arguments
    text = " ".join(arguments)
    why = ""
    if name in ("nc", "ncat", "netcat", "cryptcat", "rustcat"):
        runs = re.compile(r"-[a-zA-Z]*[ec][a-zA-Z]*|--exec.*|--sh-exec.*|--lua-exec.*")
        if any(runs.fullmatch(argument) for argument in arguments):
            why = "it gives a shell to whoever connects"
    elif name == "socat" and re.search(r"(?i)\b(exec|system|shell):", text):
        why = "it gives a shell to whoever connects"
    elif name in ("pwncat", "chisel", "ngrok", "cloudflared"):
        return ask("net.tunnel", f"{name} opens a tunnel for access from outside", "net.egress", risk=85)
    if name in CONNECTORS and "shell" in command.stdin.taints:
        why = "it sends the output of a shell over a connection"
    targets = (item.target.guess for item in command.redirects)
    if name in SHELLS and any("/dev/tcp" in target or "/dev/udp" in target for target in targets):
        why = "it connects a shell to the network"
    if re.search(r"/inet/(tcp|udp)/", text):
        why = "it opens a raw network connection"
    return deny("net.reverse-shell", why, "net.egress", "code.remote", risk=100) if why else None


def _check_sent_secrets(command: SimpleCommand, operands: list[FileOperand]) -> SafetyFinding | None:
    name = command.program
    if name not in SECRET_SENDERS:
        return None
    taints = command.stdin.taints.union(*(word.taints for word in command.words))
    read = [operand for operand in operands if not operand.written]
    secret = [item for item in read if item.place.kind in ("secret", "project secret", "process")]
    if "secret" in taints or (secret and name != "openssl"):
        what = secret[0].word.guess if secret else "a secret"
        return deny("secret.sent", f"it sends {what} away", "secret.read", "net.egress", risk=100)
    wide = [item.place.path for item in read if item.place.path in ("/", "/home", "/root", "/etc", "/Users")]
    if wide and name in ("scp", "rsync", "rclone"):
        return deny("secret.sent", f"it sends all of {wide[0]} away", "secret.read", "net.egress")
    return None


def _check_network_use(command: SimpleCommand) -> SafetyFinding | None:
    name = command.program
    if name not in NETWORK:
        return None
    where = next(filter(None, map(parse_host, command.arguments)), "")
    uploads = re.compile(r"(-d|--data|-F|--form|-T|--upload-file|--json|--post|-X)")
    piped = command.stdin.piped and name not in ("dig", "host", "nslookup", "ping")
    if piped or any(uploads.match(argument) for argument in command.arguments):
        reason = f"it sends data to {where or 'the network'}"
        return ask("net.send", reason, "net.egress", risk=65, destination=where)
    return ask("net", f"it talks to {where or 'the network'}", "net.egress", risk=45, destination=where)


def parse_host(text: str) -> str:
    """The host that an argument names, or an empty string."""
    if match := re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*://(?:[^@/]*@)?(\[[^\]]+\]|[^/:?#]+)", text):
        return match[1].lower()
    if match := re.match(r"(?:[\w.-]+@)?([\w-]+(?:\.[\w-]+)+|localhost)(?::.*)?$", text):
        return match[1].lower()
    return ""
