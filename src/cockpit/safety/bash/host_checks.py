"""What a command changes on the machine: power, accounts, services, kernel, defences, containers, cockpit."""

import re
from collections.abc import Iterator

from cockpit.safety.bash.command_model import SimpleCommand
from cockpit.safety.findings import SafetyFinding, ask, deny
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
GLOBAL_GIT_RUNNING_KEYS = re.compile(r"(?i)core\.(hookspath|fsmonitor|sshcommand)|alias\..*|filter\.")
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
ACCOUNT_LISTING = word_set("-S --status -l --list --help -read -list")
SERVICE_MANAGERS = word_set("systemctl service rc-service rc-update chkconfig update-rc.d loginctl")
# Arguments of systemctl that stop or restart the machine.
POWER_UNITS = word_set(
    "poweroff reboot halt suspend hibernate kexec rescue emergency isolate soft-reboot default"
)
# Per program: arguments that switch protection of the machine off.
PROTECTION_SWITCHES = {
    "nft": word_set("flush"),
    "ufw": word_set("disable reset"),
    "firewall-cmd": word_set("--panic-off --set-default-zone=trusted"),
    "pfctl": word_set("-d"),
    "spctl": word_set("--master-disable --global-disable"),
}
NETWORK_SETTINGS = word_set("iptables ip6tables nft ufw firewall-cmd pfctl ip ifconfig route tc sysctl")
PROGRAM_CHOOSERS = word_set(
    "update-alternatives alternatives ldconfig dpkg-divert update-rc.d defaults gsettings"
)


def check_host(command: SimpleCommand) -> Iterator[SafetyFinding]:
    """All findings about the machine."""
    name, arguments = command.program, command.arguments
    flags = frozenset(arguments)
    if name == "getent" and flags & {"shadow", "gshadow"}:
        yield deny("read.secret", "it reads the password hashes of the system", "secret.read")
    if name in ("gpg", "gpg2") and any(argument.startswith("--export-secret") for argument in arguments):
        yield deny("read.secret", "it exports private keys", "secret.read")
    if name in POWER or (name in ("init", "openrc-init") and flags & {"0", "6", "1", "s", "S"}):
        yield deny("host.power", "it stops or restarts the machine", "host.mutate")
    if name in ACCOUNTS and not flags & ACCOUNT_LISTING:
        yield deny("host.accounts", f"{name} changes who may log in", "priv", "persist")
    if name in KERNEL and not flags & {"-n", "--dry-run", "status", "-l", "list"}:
        yield deny("host.kernel", f"{name} changes the kernel or its defences", "host.mutate", "priv")
    checks = (_check_services, _check_firewall, _check_scheduled, _check_traces, _check_signals)
    yield from filter(None, (check(command) for check in checks))
    yield from _check_git_config(command)
    yield from filter(None, (_check_containers(command), _check_cockpit(command)))
    if ELEVATORS & {name, *command.wrappers}:
        yield ask("privilege", "it runs with the rights of another user", "priv", risk=70)
    if name in VIEW_CHANGERS:
        yield _check_view(command)


def _check_view(command: SimpleCommand) -> SafetyFinding:
    """A program that changes what other programs see of the machine."""
    name, arguments = command.program, command.arguments
    again = name == "mount" and "/" in arguments and any("remount,rw" in argument for argument in arguments)
    if again or (name == "nsenter" and set(arguments) & {"1", "--target=1", "-t1"}):
        return deny("host.escape", f"{name} leaves the container or namespace", "priv", "host.mutate")
    return ask(
        "host.mount", f"{name} changes what programs see of the machine", "priv", "host.mutate", risk=75
    )


def _check_services(command: SimpleCommand) -> SafetyFinding | None:
    name, flags = command.program, frozenset(command.arguments)
    if name == "launchctl" and flags & {"load", "bootstrap", "submit", "enable", "bootout", "setenv"}:
        return deny("persist.service", "it sets up a program that starts later", "persist")
    if name not in SERVICE_MANAGERS:
        return None
    if name == "systemctl" and flags & POWER_UNITS:
        return deny("host.power", "it stops or restarts the machine", "host.mutate")
    weakens = flags & {"stop", "disable", "mask", "kill", "remove", "off"}
    if weakens and any(DEFENCES.search(argument) for argument in flags):
        return deny("host.defences", "it disables protection of the machine", "host.mutate")
    if flags & {"edit", "set-property", "link", "import-environment", "set-environment"}:
        return deny("persist.service", "it changes what starts with the machine", "persist")
    return ask("host.service", "it changes a service of the machine", "host.mutate", risk=60)


def _check_firewall(command: SimpleCommand) -> SafetyFinding | None:
    name, flags = command.program, frozenset(command.arguments)
    match name:
        case "iptables" | "ip6tables" | "iptables-legacy":
            off = bool(flags & {"-F", "--flush", "-X", "-Z"}) or flags >= {"ACCEPT", "-P"}
        case "auditctl":
            off = "-D" in flags or flags >= {"-e", "0"}
        case "sysctl":
            writes = flags & {"-w", "--write", "-p", "--load"}
            off = bool(writes) or any("=" in argument for argument in flags)
        case "netsh" | "Set-MpPreference":
            off = True
        case _:
            off = bool(flags & PROTECTION_SWITCHES.get(name, frozenset()))
    if off:
        return deny("host.defences", f"{name} disables or changes protection of the machine", "host.mutate")
    if name in NETWORK_SETTINGS:
        reason = f"{name} changes or shows the machine's network settings"
        return ask("host.network", reason, "host.mutate", risk=50)
    return None


def _check_scheduled(command: SimpleCommand) -> SafetyFinding | None:
    name, arguments = command.program, command.arguments
    if name == "crontab":
        if "-e" in arguments or "-l" in arguments or (not arguments and not command.stdin.piped):
            return ask("persist.cron", "it changes or shows the cron table", "persist", risk=70)
        if not arguments or arguments in (("-r",), ("-i", "-r")):
            return deny("persist.cron", "it replaces or removes the cron table", "persist")
        return deny("persist.cron", "it sets up commands that run later", "persist")
    if name in ("at", "batch"):
        return deny("persist.at", "it schedules a command that runs later without being seen", "persist")
    if name in PROGRAM_CHOOSERS:
        reason = f"{name} changes which programs the machine uses"
        return ask("host.alternatives", reason, "host.mutate", risk=60)
    if name == "ssh-copy-id":
        return deny("persist.key", "it installs a login key on another machine", "persist", "net.egress")
    return None


def _check_traces(command: SimpleCommand) -> SafetyFinding | None:
    name, flags = command.program, frozenset(command.arguments)
    assigned = {left for left, _ in command.assignments}
    off = (
        (name == "history" and flags & {"-c", "-w", "-d", "-cw"})
        or (name == "unset" and flags & {"HISTFILE", "HISTSIZE"})
        or (name == "set" and command.arguments[:2] == ("+o", "history"))
        or (name == "shopt" and flags >= {"histappend", "-u"})
        or assigned & {"HISTFILE", "HISTSIZE", "HISTFILESIZE", "HISTCONTROL"}
        or (name == "journalctl" and any(flag.startswith(("--vacuum", "--rotate")) for flag in flags))
        or name in ("utmpdump", "wevtutil")
        or (name == "dmesg" and flags & {"-C", "-c", "--clear"})
    )
    return deny("host.traces", "it deletes the record of what was done", "host.mutate") if off else None


def _check_signals(command: SimpleCommand) -> SafetyFinding | None:
    name, arguments = command.program, command.arguments
    if name not in ("kill", "pkill", "killall", "skill", "xkill", "killall5", "taskkill", "renice"):
        return None
    by_name = name in ("pkill", "killall")
    plain = {
        argument
        for at, argument in enumerate(arguments)
        if not argument.startswith("-") or (at and argument == "-1")
    }
    if (by_name and any("cockpit" in argument for argument in arguments)) or "$PPID" in command.text:
        return deny("agent.stop", "it stops cockpit itself", "agent.self", "proc.signal")
    if name == "killall5" or (name == "kill" and plain & {"-1", "1"} and "-l" not in arguments):
        return deny("host.power", "it stops every process of the machine", "proc.signal", "host.mutate")
    if by_name and plain & {"init", "systemd", "sshd", "bash", "python", "python3", ".", ".*"}:
        return ask("process.signal", "it stops processes that other programs need", "proc.signal", risk=75)
    return ask("process.signal", "it sends a signal to a process", "proc.signal", risk=45)


def _check_git_config(command: SimpleCommand) -> Iterator[SafetyFinding]:
    if command.program != "git":
        return
    arguments = command.arguments
    flags = frozenset(arguments)
    if any(
        argument in ("-c", "--config-env", "--exec-path")
        or argument.startswith(("--exec-path=", "--config-env="))
        or (argument.startswith("-c") and "=" in argument)
        for argument in arguments
    ):
        reason = "it overrides git's configuration, which can run programs"
        yield ask("git.override", reason, "code.exec", "vcs.local", risk=75)
    if "config" not in arguments:
        return
    keys = [key for key in arguments[arguments.index("config") :] if GIT_RUNNING_KEYS.match(key)]
    if not keys or flags & {"--get", "--get-all", "--list", "-l", "--get-regexp", "get", "list"}:
        return
    is_alias = keys[0].lower().startswith("alias.")
    if (
        flags & {"--global", "--system"}
        and GLOBAL_GIT_RUNNING_KEYS.match(keys[0])
        and (not is_alias or any(argument.startswith("!") for argument in arguments))
    ):
        reason = f"{keys[0]} runs a program in every repository"
        yield deny("git.config-runs", reason, "persist", "code.exec")
    yield ask("git.config-runs", f"{keys[0]} can run programs later", "persist", "code.exec", risk=80)


def _check_containers(command: SimpleCommand) -> SafetyFinding | None:
    if command.program not in ("docker", "podman", "nerdctl", "lxc", "kubectl"):
        return None
    arguments, text = command.arguments, " ".join(command.arguments)
    mounts = re.search(r"(-v|--volume)[ =]/:|(--mount[ =]\S*(source|src)=/(,|\s|$))|-v/:", text)
    secrets = re.search(r"(-v|--volume)[ =]\S*(/etc|/root|\.ssh|\.aws)(/|:)", text)
    if mounts or secrets or ("--privileged" in arguments and "--pid=host" in arguments):
        return deny("container.escape", "the container gets access to the whole machine", "container", "priv")
    if "--privileged" in arguments or "docker.sock" in text or "--pid=host" in text:
        reason = "the container gets rights on the machine"
        return ask("container.privileged", reason, "container", "priv", risk=85)
    return None


def _check_cockpit(command: SimpleCommand) -> SafetyFinding | None:
    """cockpit started by itself: its permission switches belong to the user."""
    flags = frozenset(command.arguments)
    if command.program != "cockpit" or flags & {"--version", "--help", "-h"}:
        return None
    text = "it starts cockpit itself, with its own rights"
    if flags & {"trust", "permissions", "settings", "--yes", "--trust", "--mode", "audit"}:
        return deny("agent.self", text, "agent.self")
    return ask("agent.self", text, "agent.self", risk=80)
