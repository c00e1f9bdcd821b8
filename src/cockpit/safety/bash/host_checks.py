"""What a command changes on the machine: power, accounts, services, kernel, defences, containers, cockpit."""

import re

from cockpit.safety.bash.command_model import SimpleCommand
from cockpit.safety.findings import SafetyFinding, ask, deny
from cockpit.safety.values import ExecutionContext
from cockpit.workspace.word_set import word_set

GIT_RUNNING_KEYS = re.compile(
    r"core\.(hookspath|fsmonitor|sshcommand|pager|editor|gitproxy|askpass|attributesfile|worktree|"
    r"alternaterefscommand)|"
    r"alias\.|pager\.|credential|filter\.|diff\..*\.(command|textconv)|diff\.external|merge\..*\.driver|"
    r"mergetool\.|difftool\.|gpg\.|include|init\.templatedir|url\..*insteadof|"
    r"remote\..*\.(uploadpack|receivepack|vcs|proxy)|"
    r"sequence\.editor|interactive\.difffilter|browser\.|web\.browser|instaweb|guitool|man\.|"
    r"sendemail|trailer|uploadpack\.|"
    r"protocol\.|safe\.directory|core\.editor|submodule\..*\.update|receive\.|http\..*(proxy|"
    r"sslverify)|user\.signingkey",
    re.I,
)


def check_git_config(command: SimpleCommand) -> list[SafetyFinding]:
    """Git configuration that runs programs."""
    if command.program != "git":
        return []
    given = command.arguments
    found = []
    for at, one in enumerate(given):
        value = (
            given[at + 1] if one == "-c" and at + 1 < len(given) else one[2:] if one.startswith("-c") else ""
        )
        if (
            one in ("-c", "--config-env", "--exec-path")
            or (value and "=" in value)
            or one.startswith(("--exec-path=", "--config-env="))
        ):
            found.append(
                ask(
                    "git.override",
                    "it overrides git's configuration, which can run programs",
                    "code.exec",
                    "vcs.local",
                    risk=75,
                )
            )
            break
    if "config" in given:
        at = given.index("config")
        keys = [one for one in given[at:] if GIT_RUNNING_KEYS.match(one)]
        wide = set(given) & {"--global", "--system"}
        reads = set(given) & {"--get", "--get-all", "--list", "-l", "--get-regexp", "get", "list"}
        if keys and not reads:
            strong = wide and re.match(
                r"(?i)core\.(hookspath|fsmonitor|sshcommand)|alias\..*|filter\.", keys[0]
            )
            shelled = any(one.startswith("!") for one in given)
            if strong and (shelled or not keys[0].lower().startswith("alias.")):
                found.append(
                    deny(
                        "git.config-runs",
                        f"{keys[0]} runs a program in every repository",
                        "persist",
                        "code.exec",
                    )
                )
            found.append(
                ask("git.config-runs", f"{keys[0]} can run programs later", "persist", "code.exec", risk=80)
            )
    return found


def check_containers(name: str, given: tuple[str, ...]) -> list[SafetyFinding]:
    if name not in ("docker", "podman", "nerdctl", "lxc", "kubectl"):
        return []
    text = " ".join(given)
    mounts = re.search(r"(-v|--volume)[ =]/:|(--mount[ =]\S*(source|src)=/(,|\s|$))|-v/:", text)
    secrets = re.search(r"(-v|--volume)[ =]\S*(/etc|/root|\.ssh|\.aws)(/|:)", text)
    if mounts or secrets or ("--privileged" in given and "--pid=host" in given):
        return [
            deny(
                "container.escape",
                "the container gets access to the whole machine",
                "container",
                "priv",
                risk=95,
            )
        ]
    if "--privileged" in given or "docker.sock" in text or "--pid=host" in text:
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
    """
    useradd adduser usermod userdel deluser groupadd groupmod groupdel gpasswd passwd chpasswd visudo
    vipw vigr newusers chsh chage pwconv grpconv dscl sysadminctl dseditgroup addgroup pam-auth-update
    authconfig update-passwd
    """
)
KERNEL = word_set(
    """
    insmod rmmod modprobe kexec depmod kmod update-grub grub-install grub-mkconfig bootctl
    update-initramfs dkms setenforce aa-teardown aa-disable aa-complain csrutil nvram kextload kextunload
    """
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
    name, given = command.program, command.arguments
    found: list[SafetyFinding] = []
    if name == "getent" and set(given) & {"shadow", "gshadow"}:
        found.append(deny("read.secret", "it reads the password hashes of the system", "secret.read"))
    if name in ("gpg", "gpg2") and any(one.startswith("--export-secret") for one in given):
        found.append(deny("read.secret", "it exports private keys", "secret.read"))
    if name in POWER or (name in ("init", "openrc-init") and set(given) & {"0", "6", "1", "s", "S"}):
        found.append(deny("host.power", "it stops or restarts the machine", "host.mutate"))
    if name in ACCOUNTS and not set(given) & {"-S", "--status", "-l", "--list", "--help", "-read", "-list"}:
        found.append(deny("host.accounts", f"{name} changes who may log in", "priv", "persist"))
    if name in KERNEL and not set(given) & {"-n", "--dry-run", "status", "-l", "list"}:
        found.append(deny("host.kernel", f"{name} changes the kernel or its defences", "host.mutate", "priv"))
    found += [
        *_check_services(name, given),
        *_check_firewall(name, given),
        *_check_scheduled(command),
        *_check_traces(command),
    ]
    found += [
        *_check_signals(command),
        *check_git_config(command),
        *check_containers(name, given),
        *check_cockpit(command),
    ]
    if ELEVATORS & {name, *command.wrappers}:
        found.append(ask("privilege", "it runs with the rights of another user", "priv", risk=70))
    return [*found, *_check_views(name, given)]


def _check_views(name: str, given: tuple[str, ...]) -> list[SafetyFinding]:
    """Programs that change what other programs see of the machine."""
    if name not in VIEW_CHANGERS:
        return []
    again = name == "mount" and "/" in given and any("remount,rw" in one for one in given)
    if again or (name == "nsenter" and set(given) & {"1", "--target=1", "-t1"}):
        return [deny("host.escape", f"{name} leaves the container or namespace", "priv", "host.mutate")]
    told = f"{name} changes what programs see of the machine"
    return [ask("host.mount", told, "priv", "host.mutate", risk=75)]


def _check_services(name: str, given: tuple[str, ...]) -> list[SafetyFinding]:
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
        return [deny("host.defences", "it disables protection of the machine", "host.mutate")]
    if set(given) & {"edit", "set-property", "link", "import-environment", "set-environment"}:
        return [deny("persist.service", "it changes what starts with the machine", "persist")]
    return [ask("host.service", "it changes a service of the machine", "host.mutate", risk=60)]


def _check_firewall(name: str, given: tuple[str, ...]) -> list[SafetyFinding]:
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
    name, given = command.program, command.arguments
    if name == "crontab":
        if "-e" in given or "-l" in given or (not given and not command.stdin.piped):
            return [ask("persist.cron", "it changes or shows the cron table", "persist", risk=70)]
        if not given or given == ("-r",) or given == ("-i", "-r"):
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
        return [deny("host.traces", "it deletes the record of what was done", "host.mutate")]
    return []


def _check_signals(command: SimpleCommand) -> list[SafetyFinding]:
    name, given = command.program, command.arguments
    if name not in ("kill", "pkill", "killall", "skill", "xkill", "killall5", "taskkill", "renice"):
        return []
    plain = [one for at, one in enumerate(given) if not one.startswith("-") or (at and one == "-1")]
    if (
        name in ("pkill", "killall") and any(COCKPIT_PROCESS.search(one) for one in given)
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
        return [ask("process.signal", "it stops processes that other programs need", "proc.signal", risk=75)]
    return [ask("process.signal", "it sends a signal to a process", "proc.signal", risk=45)]
