"""Code that comes from the network or is decoded, and data that leaves: piped installers, reverse shells,
secrets sent away."""

import re

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


def check_network(
    command: SimpleCommand, operands: list[FileOperand], files: dict[str, DataFlow]
) -> list[SafetyFinding]:
    """All findings about the origin of code and the destination of data."""
    return [
        *_check_remote_code(command, files),
        *_check_reverse_shell(command),
        *_check_sent_secrets(command, operands),
        *_check_network_use(command),
    ]


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


def _describe_taint(taints: frozenset[str]) -> str:
    return "from the network" if "net" in taints else "decoded from an unreadable text"


def _check_remote_code(command: SimpleCommand, files: dict[str, DataFlow]) -> list[SafetyFinding]:
    if not command.words:
        return []
    name = command.program
    bad = {"net", "decoded"}
    if command.words[0].taints & bad:
        return [
            deny(
                "code.remote", f"it runs what comes {_describe_taint(command.words[0].taints)}", "code.remote"
            )
        ]
    if command.stdin.taints & bad and _reads_code(command):
        return [
            deny(
                "code.remote",
                f"{name} runs what comes {_describe_taint(command.stdin.taints)}",
                "code.remote",
            )
        ]
    runs_words = is_interpreter(name) or name in ("eval", "source", ".", "trap", "alias", "ssh", "exec")
    if runs_words and name not in (
        "sed",
        "awk",
        "gawk",
        "bc",
        "make",
        "m4",
        "psql",
        "mysql",
        "sqlite3",
        "ssh",
    ):
        for word in command.words[1:]:
            if word.taints & bad:
                return [
                    deny(
                        "code.remote", f"{name} runs what comes {_describe_taint(word.taints)}", "code.remote"
                    )
                ]
    ran = [command.words[0].guess] if "/" in command.words[0].guess else []
    if is_interpreter(name) or name in ("source", ".", "chmod"):
        ran += [argument for argument in command.arguments if not argument.startswith("-")][:2]
    for item in ran:
        for path, flow in files.items():
            if flow.taints & bad and path.rpartition("/")[2] == item.rpartition("/")[2] and name != "chmod":
                return [
                    deny(
                        "code.remote",
                        f"it runs {item}, which the same line fetched or decoded",
                        "code.remote",
                    )
                ]
    if runs_words and command.stdin.taints & {"unknown"} and _reads_code(command):
        return [ask("code.unknown", "it runs a text that cannot be read beforehand", "code.exec", risk=80)]
    return []


def _check_reverse_shell(command: SimpleCommand) -> list[SafetyFinding]:
    name, arguments = command.program, command.arguments
    text = " ".join(arguments)
    why = ""
    if name in ("nc", "ncat", "netcat", "cryptcat", "rustcat"):
        if any(
            re.fullmatch(r"-[a-zA-Z]*[ec][a-zA-Z]*|--exec.*|--sh-exec.*|--lua-exec.*", argument)
            for argument in arguments
        ):
            why = "it gives a shell to whoever connects"
    elif name == "socat" and re.search(r"(?i)\b(exec|system|shell):", text):
        why = "it gives a shell to whoever connects"
    elif name in ("pwncat", "chisel", "ngrok", "cloudflared"):
        return [ask("net.tunnel", f"{name} opens a tunnel for access from outside", "net.egress", risk=85)]
    if name in CONNECTORS and "shell" in command.stdin.taints:
        why = "it sends the output of a shell over a connection"
    if name in SHELLS and any(
        "/dev/tcp" in item.target.guess or "/dev/udp" in item.target.guess for item in command.redirects
    ):
        why = "it connects a shell to the network"
    if re.search(r"/inet/(tcp|udp)/", text):
        why = "it opens a raw network connection"
    return [deny("net.reverse-shell", why, "net.egress", "code.remote", risk=100)] if why else []


def _check_sent_secrets(command: SimpleCommand, operands: list[FileOperand]) -> list[SafetyFinding]:
    name = command.program
    if name not in SENDERS or name in (
        "git",
        "docker",
        "podman",
        "kubectl",
        "npm",
        "open",
        "xdg-open",
        "logger",
    ):
        return []
    taints = command.stdin.taints.union(*(word.taints for word in command.words))
    files = [
        operand
        for operand in operands
        if operand.place.kind in ("secret", "project secret", "process") and not operand.written
    ]
    if "secret" in taints or (files and name != "openssl"):
        what = files[0].word.guess if files else "a secret"
        return [deny("secret.sent", f"it sends {what} away", "secret.read", "net.egress", risk=100)]
    wide = [
        operand
        for operand in operands
        if not operand.written and operand.place.path in ("/", "/home", "/root", "/etc", "/Users")
    ]
    if wide and name in ("scp", "rsync", "rclone"):
        return [
            deny("secret.sent", f"it sends all of {wide[0].place.path} away", "secret.read", "net.egress")
        ]
    return []


def _check_network_use(command: SimpleCommand) -> list[SafetyFinding]:
    name = command.program
    if name not in NETWORK:
        return []
    hosts = [parse_host(argument) for argument in command.arguments]
    where = next((host for host in hosts if host), "")
    sends = any(
        re.match(r"(-d|--data|-F|--form|-T|--upload-file|--json|--post|-X)", argument)
        for argument in command.arguments
    )
    piped = command.stdin.piped and name not in ("dig", "host", "nslookup", "ping")
    reason = (
        f"it sends data to {where or 'the network'}"
        if sends or piped
        else f"it talks to {where or 'the network'}"
    )
    rule = "net.send" if sends or piped else "net"
    return [ask(rule, reason, "net.egress", risk=65 if sends or piped else 45, destination=where)]


def parse_host(text: str) -> str:
    """The host that an argument names, or an empty string."""
    if match := re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*://(?:[^@/]*@)?(\[[^\]]+\]|[^/:?#]+)", text):
        return match[1].lower()
    if match := re.match(r"(?:[\w.-]+@)?([\w-]+(?:\.[\w-]+)+|localhost)(?::.*)?$", text):
        return match[1].lower()
    return ""
