"""What changes the machine itself: power, accounts, what starts later, the kernel, its defences, cockpit."""

import re

from cockpit.safety.bash import programs
from cockpit.safety.bash.commands import Command
from cockpit.safety.bash.findings import Finding, ask, deny
from cockpit.safety.values import Ground
from cockpit.workspace.words import words

POWER = words("shutdown reboot halt poweroff pm-suspend pm-hibernate telinit")
ACCOUNTS = words(
    """
    useradd adduser usermod userdel deluser groupadd groupmod groupdel gpasswd passwd chpasswd visudo
    vipw vigr newusers chsh chage pwconv grpconv dscl sysadminctl dseditgroup addgroup pam-auth-update
    authconfig update-passwd
    """
)
KERNEL = words(
    """
    insmod rmmod modprobe kexec depmod kmod update-grub grub-install grub-mkconfig bootctl
    update-initramfs dkms setenforce aa-teardown aa-disable aa-complain csrutil nvram kextload kextunload
    """
)
DEFENCES = re.compile(
    r"auditd|firewalld|apparmor|ufw|falco|fail2ban|clamav|crowdstrike|falcon|selinux|osquery|sshd?$|"
    r"rsyslog|systemd-journald|iptables|nftables|defender|wazuh|snort|tripwire|ossec|sysmon"
)
ELEVATORS = words("sudo doas su pkexec gosu su-exec runuser")
VIEWS = words("chroot nsenter unshare mount umount swapoff swapon pivot_root capsh")
COCKPIT = re.compile(r"cockpit")


def look(command: Command, ground: Ground) -> list[Finding]:
    """Everything about the machine."""
    name, given = command.program, command.arguments
    found: list[Finding] = []
    if name == "getent" and set(given) & {"shadow", "gshadow"}:
        found.append(deny("read.secret", "it reads the passwords of the system", "secret.read"))
    if name in ("gpg", "gpg2") and any(one.startswith("--export-secret") for one in given):
        found.append(deny("read.secret", "it writes out private keys", "secret.read"))
    if name in POWER or (name in ("init", "openrc-init") and set(given) & {"0", "6", "1", "s", "S"}):
        found.append(deny("host.power", "it stops or restarts the machine", "host.mutate"))
    if name in ACCOUNTS and not set(given) & {"-S", "--status", "-l", "--list", "--help", "-read", "-list"}:
        found.append(deny("host.accounts", f"{name} changes who may log in", "priv", "persist"))
    if name in KERNEL and not set(given) & {"-n", "--dry-run", "status", "-l", "list"}:
        found.append(deny("host.kernel", f"{name} changes the kernel or its defences", "host.mutate", "priv"))
    found += [*_services(name, given), *_firewall(name, given), *_later(command), *_traces(command)]
    found += [
        *_signals(command),
        *programs.git(command),
        *programs.containers(name, given),
        *programs.cockpit(command),
    ]
    if ELEVATORS & {name, *command.under}:
        found.append(ask("privilege", "it runs with the rights of another user", "priv", risk=70))
    return [*found, *_views(name, given)]


def _views(name: str, given: tuple[str, ...]) -> list[Finding]:
    """Programs that change what is seen of the machine."""
    if name not in VIEWS:
        return []
    again = name == "mount" and "/" in given and any("remount,rw" in one for one in given)
    if again or (name == "nsenter" and set(given) & {"1", "--target=1", "-t1"}):
        return [deny("host.escape", f"{name} leaves what holds it in", "priv", "host.mutate")]
    told = f"{name} changes what programs see of the machine"
    return [ask("host.mount", told, "priv", "host.mutate", risk=75)]


def _services(name: str, given: tuple[str, ...]) -> list[Finding]:
    if name == "launchctl" and set(given) & {"load", "bootstrap", "submit", "enable", "bootout", "setenv"}:
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
        set(given)
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
    weakens = set(given) & {"stop", "disable", "mask", "kill", "remove", "off"}
    if weakens and any(DEFENCES.search(one) for one in given):
        return [deny("host.defences", "it switches off what protects the machine", "host.mutate")]
    if set(given) & {"edit", "set-property", "link", "import-environment", "set-environment"}:
        return [deny("persist.service", "it changes what starts with the machine", "persist")]
    return [ask("host.service", "it changes a service of the machine", "host.mutate", risk=60)]


def _firewall(name: str, given: tuple[str, ...]) -> list[Finding]:
    flags = set(given)
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
            and (flags & {"-w", "--write", "-p", "--load"} or any("=" in one for one in given))
        )
        or (name in ("netsh", "Set-MpPreference"))
    )
    if off:
        return [
            deny("host.defences", f"{name} switches off or changes what protects the machine", "host.mutate")
        ]
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
        return [ask("host.network", f"{name} is about the network of the machine", "host.mutate", risk=50)]
    return []


def _later(command: Command) -> list[Finding]:
    name, given = command.program, command.arguments
    if name == "crontab":
        if "-e" in given or "-l" in given or (not given and not command.stdin.piped):
            return [ask("persist.cron", "it is about the cron table", "persist", risk=70)]
        if not given or given == ("-r",) or given == ("-i", "-r"):
            return [deny("persist.cron", "it replaces or removes the cron table", "persist")]
        return [deny("persist.cron", "it sets up commands that run later", "persist")]
    if name in ("at", "batch"):
        return [deny("persist.at", "it sets up a command that runs later, unseen", "persist")]
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
            ask("host.alternatives", f"{name} changes what programs the machine uses", "host.mutate", risk=60)
        ]
    if name in ("ssh-copy-id",):
        return [deny("persist.key", "it plants a login key on another machine", "persist", "net.egress")]
    return []


def _traces(command: Command) -> list[Finding]:
    name, given = command.program, command.arguments
    names = {left for left, _ in command.assignments}
    off = (
        (name == "history" and set(given) & {"-c", "-w", "-d", "-cw"})
        or (name == "unset" and set(given) & {"HISTFILE", "HISTSIZE"})
        or (name == "set" and list(given)[:2] == ["+o", "history"])
        or (name == "shopt" and "histappend" in given and "-u" in given)
        or bool(names & {"HISTFILE", "HISTSIZE", "HISTFILESIZE", "HISTCONTROL"})
        or (name == "journalctl" and any(one.startswith(("--vacuum", "--rotate")) for one in given))
        or (name in ("utmpdump", "wevtutil"))
        or (name == "dmesg" and set(given) & {"-C", "-c", "--clear"})
    )
    if off:
        return [deny("host.traces", "it wipes the record of what was done", "host.mutate")]
    return []


def _signals(command: Command) -> list[Finding]:
    name, given = command.program, command.arguments
    if name not in ("kill", "pkill", "killall", "skill", "xkill", "killall5", "taskkill", "renice"):
        return []
    plain = [one for at, one in enumerate(given) if not one.startswith("-") or (at and one == "-1")]
    if (
        name in ("pkill", "killall") and any(COCKPIT.search(one) for one in given)
    ) or "$PPID" in command.text:
        return [deny("agent.stop", "it stops cockpit itself", "agent.self", "proc.signal")]
    if name == "killall5" or (name == "kill" and set(plain) & {"-1", "1"} and "-l" not in given):
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
        return [ask("process.signal", "it stops processes that others need", "proc.signal", risk=75)]
    return [ask("process.signal", "it sends a signal to a process", "proc.signal", risk=45)]
