"""What a command changes on the machine: power, accounts, services, kernel, defences, containers, cockpit."""

import re

from cockpit.safety.bash.command_model import SimpleCommand
from cockpit.safety.findings import SafetyFinding, ask, deny
from cockpit.safety.values import ExecutionContext
from cockpit.workspace.word_set import word_set

GIT_RUNNING_KEYS = re.compile(
    r"core\.(hookspath|fsmonitor|sshcommand|pager|editor|gitproxy|askpass|attributesfile|worktree"
    r"|alternaterefscommand)|alias\.|pager\.|credential|filter\.|diff\..*\.(command|textconv)|diff\.external"
    r"|merge\..*\.driver|mergetool\.|difftool\.|gpg\.|include|init\.templatedir|url\..*insteadof"
    r"|remote\..*\.(uploadpack|receivepack|vcs|proxy)|sequence\.editor|interactive\.difffilter|browser\."
    r"|web\.browser|instaweb|guitool|man\.|sendemail|trailer|uploadpack\.|protocol\.|safe\.directory"
    r"|core\.editor|submodule\..*\.update|receive\.|http\..*(proxy|sslverify)|user\.signingkey",
    re.I,
)


def check_git_config(command: SimpleCommand) -> list[SafetyFinding]:
    """Git configuration that runs programs."""
    if command.program != "git":
        return []
    arguments = command.arguments
    findings = []
    for at, argument in enumerate(arguments):
        value = (
            arguments[at + 1]
            if argument == "-c" and at + 1 < len(arguments)
            else argument[2:]
            if argument.startswith("-c")
            else ""
        )
        if (
            argument in ("-c", "--config-env", "--exec-path")
            or (value and "=" in value)
            or argument.startswith(("--exec-path=", "--config-env="))
        ):
            findings.append(
                ask(
                    "git.override",
                    "it overrides git's configuration, which can run programs",
                    "code.exec",
                    "vcs.local",
                    risk=75,
                )
            )
            break
    if "config" in arguments:
        at = arguments.index("config")
        keys = [argument for argument in arguments[at:] if GIT_RUNNING_KEYS.match(argument)]
        wide = set(arguments) & {"--global", "--system"}
        reads = set(arguments) & {"--get", "--get-all", "--list", "-l", "--get-regexp", "get", "list"}
        if keys and not reads:
            strong = wide and re.match(
                r"(?i)core\.(hookspath|fsmonitor|sshcommand)|alias\..*|filter\.", keys[0]
            )
            shelled = any(argument.startswith("!") for argument in arguments)
            if strong and (shelled or not keys[0].lower().startswith("alias.")):
                findings.append(
                    deny(
                        "git.config-runs",
                        f"{keys[0]} runs a program in every repository",
                        "persist",
                        "code.exec",
                    )
                )
            findings.append(
                ask("git.config-runs", f"{keys[0]} can run programs later", "persist", "code.exec", risk=80)
            )
    return findings


def check_containers(name: str, arguments: tuple[str, ...]) -> list[SafetyFinding]:
    if name not in ("docker", "podman", "nerdctl", "lxc", "kubectl"):
        return []
    text = " ".join(arguments)
    mounts = re.search(r"(-v|--volume)[ =]/:|(--mount[ =]\S*(source|src)=/(,|\s|$))|-v/:", text)
    secrets = re.search(r"(-v|--volume)[ =]\S*(/etc|/root|\.ssh|\.aws)(/|:)", text)
    if mounts or secrets or ("--privileged" in arguments and "--pid=host" in arguments):
        return [
            deny(
                "container.escape",
                "the container gets access to the whole machine",
                "container",
                "priv",
                risk=95,
            )
        ]
    if "--privileged" in arguments or "docker.sock" in text or "--pid=host" in text:
        return [
            ask(
                "container.privileged",
                "the container gets rights on the machine",
                "container",
                "priv",
                risk=85,
            )
        ]
    return []


def check_cockpit(command: SimpleCommand) -> list[SafetyFinding]:
    """cockpit started by itself: its permission switches belong to the user."""
    if command.program == "cockpit" and not set(command.arguments) & {"--version", "--help", "-h"}:
        risky = set(command.arguments) & {
            "trust",
            "permissions",
            "settings",
            "--yes",
            "--trust",
            "--mode",
            "audit",
        }
        text = "it starts cockpit itself, with its own rights"
        return [
            deny("agent.self", text, "agent.self")
            if risky
            else ask("agent.self", text, "agent.self", risk=80)
        ]
    return []


POWER = word_set("shutdown reboot halt poweroff pm-suspend pm-hibernate telinit")
ACCOUNTS = word_set(
    "useradd adduser usermod userdel deluser groupadd groupmod groupdel gpasswd passwd chpasswd visudo vipw "
    "vigr newusers chsh chage pwconv grpconv dscl sysadminctl dseditgroup addgroup pam-auth-update "
    "authconfig update-passwd"
)
KERNEL = word_set(
    "insmod rmmod modprobe kexec depmod kmod update-grub grub-install grub-mkconfig bootctl update-initramfs "
    "dkms setenforce aa-teardown aa-disable aa-complain csrutil nvram kextload kextunload"
)
DEFENCES = re.compile(
    r"auditd|firewalld|apparmor|ufw|falco|fail2ban|clamav|crowdstrike|falcon|selinux|osquery|sshd?$|"
    r"rsyslog|systemd-journald|iptables|nftables|defender|wazuh|snort|tripwire|ossec|sysmon"
)
ELEVATORS = word_set("sudo doas su pkexec gosu su-exec runuser")
VIEW_CHANGERS = word_set("chroot nsenter unshare mount umount swapoff swapon pivot_root capsh")
COCKPIT_PROCESS = re.compile(r"cockpit")


def check_host(command: SimpleCommand, context: ExecutionContext) -> list[SafetyFinding]:
    """All findings about the machine."""
    name, arguments = command.program, command.arguments
    findings: list[SafetyFinding] = []
    if name == "getent" and set(arguments) & {"shadow", "gshadow"}:
        findings.append(deny("read.secret", "it reads the password hashes of the system", "secret.read"))
    if name in ("gpg", "gpg2") and any(argument.startswith("--export-secret") for argument in arguments):
        findings.append(deny("read.secret", "it exports private keys", "secret.read"))
    if name in POWER or (name in ("init", "openrc-init") and set(arguments) & {"0", "6", "1", "s", "S"}):
        findings.append(deny("host.power", "it stops or restarts the machine", "host.mutate"))
    if name in ACCOUNTS and not set(arguments) & {
        "-S",
        "--status",
        "-l",
        "--list",
        "--help",
        "-read",
        "-list",
    }:
        findings.append(deny("host.accounts", f"{name} changes who may log in", "priv", "persist"))
    if name in KERNEL and not set(arguments) & {"-n", "--dry-run", "status", "-l", "list"}:
        findings.append(
            deny("host.kernel", f"{name} changes the kernel or its defences", "host.mutate", "priv")
        )
    findings += [
        *_check_services(name, arguments),
        *_check_firewall(name, arguments),
        *_check_scheduled(command),
        *_check_traces(command),
    ]
    findings += [
        *_check_signals(command),
        *check_git_config(command),
        *check_containers(name, arguments),
        *check_cockpit(command),
    ]
    if ELEVATORS & {name, *command.wrappers}:
        findings.append(ask("privilege", "it runs with the rights of another user", "priv", risk=70))
    return [*findings, *_check_views(name, arguments)]


def _check_views(name: str, arguments: tuple[str, ...]) -> list[SafetyFinding]:
    """Programs that change what other programs see of the machine."""
    if name not in VIEW_CHANGERS:
        return []
    again = name == "mount" and "/" in arguments and any("remount,rw" in argument for argument in arguments)
    if again or (name == "nsenter" and set(arguments) & {"1", "--target=1", "-t1"}):
        return [deny("host.escape", f"{name} leaves the container or namespace", "priv", "host.mutate")]
    reason = f"{name} changes what programs see of the machine"
    return [ask("host.mount", reason, "priv", "host.mutate", risk=75)]


def _check_services(name: str, arguments: tuple[str, ...]) -> list[SafetyFinding]:
    if name == "launchctl" and set(arguments) & {
        "load",
        "bootstrap",
        "submit",
        "enable",
        "bootout",
        "setenv",
    }:
        return [deny("persist.service", "it sets up a program that starts later", "persist")]
    if name not in (
        "systemctl",
        "service",
        "rc-service",
        "rc-update",
        "chkconfig",
        "update-rc.d",
        "loginctl",
    ):
        return []
    if (
        set(arguments)
        & {
            "poweroff",
            "reboot",
            "halt",
            "suspend",
            "hibernate",
            "kexec",
            "rescue",
            "emergency",
            "isolate",
            "soft-reboot",
            "default",
        }
        and name == "systemctl"
    ):
        return [deny("host.power", "it stops or restarts the machine", "host.mutate")]
    weakens = set(arguments) & {"stop", "disable", "mask", "kill", "remove", "off"}
    if weakens and any(DEFENCES.search(argument) for argument in arguments):
        return [deny("host.defences", "it disables protection of the machine", "host.mutate")]
    if set(arguments) & {"edit", "set-property", "link", "import-environment", "set-environment"}:
        return [deny("persist.service", "it changes what starts with the machine", "persist")]
    return [ask("host.service", "it changes a service of the machine", "host.mutate", risk=60)]


def _check_firewall(name: str, arguments: tuple[str, ...]) -> list[SafetyFinding]:
    flags = set(arguments)
    off = (
        (
            name in ("iptables", "ip6tables", "iptables-legacy")
            and (flags & {"-F", "--flush", "-X", "-Z"} or ("ACCEPT" in flags and "-P" in flags))
        )
        or (name == "nft" and {"flush"} & flags)
        or (name == "ufw" and flags & {"disable", "reset"})
        or (name == "firewall-cmd" and flags & {"--panic-off", "--set-default-zone=trusted"})
        or (name == "pfctl" and "-d" in flags)
        or (name == "spctl" and flags & {"--master-disable", "--global-disable"})
        or (name == "auditctl" and (flags & {"-D"} or {"-e", "0"} <= flags))
        or (
            name == "sysctl"
            and (flags & {"-w", "--write", "-p", "--load"} or any("=" in argument for argument in arguments))
        )
        or (name in ("netsh", "Set-MpPreference"))
    )
    if off:
        return [deny("host.defences", f"{name} disables or changes protection of the machine", "host.mutate")]
    if name in (
        "iptables",
        "ip6tables",
        "nft",
        "ufw",
        "firewall-cmd",
        "pfctl",
        "ip",
        "ifconfig",
        "route",
        "tc",
        "sysctl",
    ):
        return [
            ask(
                "host.network",
                f"{name} changes or shows the machine's network settings",
                "host.mutate",
                risk=50,
            )
        ]
    return []


def _check_scheduled(command: SimpleCommand) -> list[SafetyFinding]:
    name, arguments = command.program, command.arguments
    if name == "crontab":
        if "-e" in arguments or "-l" in arguments or (not arguments and not command.stdin.piped):
            return [ask("persist.cron", "it changes or shows the cron table", "persist", risk=70)]
        if not arguments or arguments == ("-r",) or arguments == ("-i", "-r"):
            return [deny("persist.cron", "it replaces or removes the cron table", "persist")]
        return [deny("persist.cron", "it sets up commands that run later", "persist")]
    if name in ("at", "batch"):
        return [deny("persist.at", "it schedules a command that runs later without being seen", "persist")]
    if name in (
        "update-alternatives",
        "alternatives",
        "ldconfig",
        "dpkg-divert",
        "update-rc.d",
        "defaults",
        "gsettings",
    ):
        return [
            ask(
                "host.alternatives", f"{name} changes which programs the machine uses", "host.mutate", risk=60
            )
        ]
    if name in ("ssh-copy-id",):
        return [deny("persist.key", "it installs a login key on another machine", "persist", "net.egress")]
    return []


def _check_traces(command: SimpleCommand) -> list[SafetyFinding]:
    name, arguments = command.program, command.arguments
    names = {left for left, _ in command.assignments}
    off = (
        (name == "history" and set(arguments) & {"-c", "-w", "-d", "-cw"})
        or (name == "unset" and set(arguments) & {"HISTFILE", "HISTSIZE"})
        or (name == "set" and list(arguments)[:2] == ["+o", "history"])
        or (name == "shopt" and "histappend" in arguments and "-u" in arguments)
        or bool(names & {"HISTFILE", "HISTSIZE", "HISTFILESIZE", "HISTCONTROL"})
        or (
            name == "journalctl"
            and any(argument.startswith(("--vacuum", "--rotate")) for argument in arguments)
        )
        or (name in ("utmpdump", "wevtutil"))
        or (name == "dmesg" and set(arguments) & {"-C", "-c", "--clear"})
    )
    if off:
        return [deny("host.traces", "it deletes the record of what was done", "host.mutate")]
    return []


def _check_signals(command: SimpleCommand) -> list[SafetyFinding]:
    name, arguments = command.program, command.arguments
    if name not in ("kill", "pkill", "killall", "skill", "xkill", "killall5", "taskkill", "renice"):
        return []
    plain = [
        argument
        for at, argument in enumerate(arguments)
        if not argument.startswith("-") or (at and argument == "-1")
    ]
    if (
        name in ("pkill", "killall") and any(COCKPIT_PROCESS.search(argument) for argument in arguments)
    ) or "$PPID" in command.text:
        return [deny("agent.stop", "it stops cockpit itself", "agent.self", "proc.signal")]
    if name == "killall5" or (name == "kill" and set(plain) & {"-1", "1"} and "-l" not in arguments):
        return [deny("host.power", "it stops every process of the machine", "proc.signal", "host.mutate")]
    if name in ("pkill", "killall") and set(plain) & {
        "init",
        "systemd",
        "sshd",
        "bash",
        "python",
        "python3",
        ".",
        ".*",
    }:
        return [ask("process.signal", "it stops processes that other programs need", "proc.signal", risk=75)]
    return [ask("process.signal", "it sends a signal to a process", "proc.signal", risk=45)]
