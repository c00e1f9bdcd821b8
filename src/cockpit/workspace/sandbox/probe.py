"""Tries which sandbox works on this machine, and says how to get the full one."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cockpit.plugin.workspace import Isolation
from cockpit.workspace.environment import absolute_search_path
from cockpit.workspace.sandbox import kernel_limits
from cockpit.workspace.sandbox.bubblewrap import BubblewrapFeatures
from cockpit.workspace.sandbox.seccomp import build_filter as refusals

# On Ubuntu only this path may create user namespaces (an AppArmor profile names it).
SYSTEM_BWRAP = "/usr/bin/bwrap"
PROBE_SECONDS = 10
INSTALL_COMMANDS = {
    "apt-get": "sudo apt-get install -y",
    "dnf": "sudo dnf install -y",
    "pacman": "sudo pacman -S",
}
SWITCHED_OFF = Isolation("none", "none", 'switched off in settings: [sandbox] use = "off"')
NAMESPACE_SETTINGS = (
    ("kernel/unprivileged_userns_clone", "0", "sudo sysctl -w kernel.unprivileged_userns_clone=1"),
    ("user/max_user_namespaces", "0", "sudo sysctl -w user.max_user_namespaces=15000"),
    (
        "kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
    ),
)


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What works here. `features` is set if bubblewrap works."""

    isolation: Isolation
    features: BubblewrapFeatures | None = None


def probe_sandbox(platform: str = sys.platform, machine: str = "") -> ProbeResult:
    """Try it. Takes some ten milliseconds and starts programs: call it in a thread."""
    if platform != "linux":
        return ProbeResult(Isolation("none", "none", unsupported_reason(platform)))
    # With `.` in PATH an untrusted folder would decide what the sandbox is.
    search_path = os.environ.get("PATH", os.defpath)
    # A user who removes the folder of a program from PATH means it; a fake earlier in PATH is ignored.
    in_path = os.path.dirname(SYSTEM_BWRAP) in search_path.split(os.pathsep)
    has_system_bwrap = in_path and os.access(SYSTEM_BWRAP, os.X_OK)
    program = (
        SYSTEM_BWRAP if has_system_bwrap else shutil.which("bwrap", path=absolute_search_path(search_path))
    )
    features, message = _try_bubblewrap(program) if program else (None, "")
    filtered = bool(refusals(machine or os.uname().machine, unix=True))
    if features is not None and filtered:
        return ProbeResult(Isolation("full", "bwrap"), features)
    if features is not None:
        reason = f"there is no seccomp filter for {os.uname().machine}"
    else:
        reason = bubblewrap_failure_reason(program or "", message, shutil.which, _read_setting)
    if kernel_limits.landlock_version() > 0 and filtered:
        as_root = "; cockpit runs as root, so chmod affects more files" if os.geteuid() == 0 else ""
        return ProbeResult(Isolation("partial", "landlock", reason + as_root))
    return ProbeResult(Isolation("none", "none", f"{reason}; this kernel has no Landlock either"))


def unsupported_reason(platform: str) -> str:
    """Why there is no sandbox on a system other than Linux."""
    reasons = {
        "darwin": "macOS has no supported sandbox (sandbox-exec is deprecated)",
        "win32": "Windows has no sandbox that cockpit can set up without an administrator",
    }
    return f"{reasons.get(platform, f'cockpit has no sandbox for {platform}')}; approvals protect you"


def bubblewrap_failure_reason(
    program: str, message: str, which: Callable[[str], str | None], read_setting: Callable[[str], str]
) -> str:
    """Why bubblewrap does not work here, with the command that fixes it if one is known. Pure."""
    if not program:
        installs = (f"`{command} bubblewrap`" for tool, command in INSTALL_COMMANDS.items() if which(tool))
        return f"bubblewrap is not installed; {next(installs, 'install the package bubblewrap')}"
    for name, bad, fix in NAMESPACE_SETTINGS:
        if read_setting(name) == bad:
            return f"user namespaces are switched off; `{fix}`"
    return f"bubblewrap cannot set up a sandbox here: {message or 'it gave no reason'}"


def _try_bubblewrap(program: str) -> tuple[BubblewrapFeatures | None, str]:
    """What this bubblewrap supports, tried with a real sandbox; None and its error message if it fails."""
    shown = _run((program, "--help"))
    if shown is None or shown.returncode != 0:
        return None, f"{program} does not respond"
    text = shown.stdout + shown.stderr
    # Root inside could undo --disable-userns, so an ordinary user runs inside.
    uid, gid = os.getuid() or 1000, os.getgid() or 1000
    message = ""
    for disables in (True, False):
        if disables and "--disable-userns" not in text:
            continue
        features = BubblewrapFeatures(program, disables, "--size" in text, (uid, gid))
        options = ["--unshare-user", "--uid", str(uid), "--gid", str(gid), "--unshare-all"]
        options += ["--disable-userns"] if disables else []
        options += ["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"]
        options += ["--ro-bind", "/", "/", "--tmpfs", "/tmp", "--dev", "/dev", "--proc", "/proc"]
        options += ["--ro-bind", "/proc/sys", "/proc/sys"]
        # With the seccomp filter that commands get.
        fd = memory_file(refusals(os.uname().machine, unix=False))
        try:
            done = _run((program, *options, "--seccomp", str(fd), "--", "/bin/sh", "-c", "echo $$"), fd)
        finally:
            os.close(fd)
        # In a pid namespace the shell is one of the first processes; a fake bwrap would not pass this.
        if done is not None and done.returncode == 0 and done.stdout.strip() in ("1", "2", "3"):
            return features, ""
        message = message or _first_line(done)
    return None, message


def memory_file(content: bytes) -> int:
    """A file in memory with this content, open at its start. The caller closes it."""
    fd = os.memfd_create("cockpit", os.MFD_CLOEXEC)
    os.write(fd, content)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _run(argv: tuple[str, ...], *fds: int) -> "subprocess.CompletedProcess[str] | None":
    try:
        return subprocess.run(
            argv,
            env={"PATH": "/usr/bin:/bin"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PROBE_SECONDS,
            pass_fds=fds,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None


def _first_line(done: "subprocess.CompletedProcess[str] | None") -> str:
    if done is None:
        return "it does not respond"
    lines = done.stderr.strip().splitlines()
    return lines[0][:200] if lines else f"it ended with code {done.returncode}"


def _read_setting(name: str) -> str:
    try:
        return Path("/proc/sys", name).read_text().strip()
    except OSError:
        return ""
