"""The arguments of bubblewrap for one launch. Looks at the disk only to see whether a path exists.

Mounts are made in order, and a later one covers an earlier one: the machine read-only, hidden folders, what
is shown again in them, the workspace, guarded paths in it, devices.
"""

import os
from dataclasses import dataclass

from cockpit.plugin.workspace import Profile
from cockpit.workspace.resolver import is_within
from cockpit.workspace.sandbox.git_folders import GitFolders
from cockpit.workspace.sandbox.guarded_paths import GuardedPaths
from cockpit.workspace.sandbox.host_view import HostView

# Bytes of memory for temporary files: in /tmp and the home folder, and in every other hidden folder.
LARGE_TMPFS, SMALL_TMPFS = str(2 << 30), str(64 << 20)
# The socket of our proxy inside the sandbox.
PROXY_SOCKET = "/run/cockpit-proxy"


@dataclass(frozen=True, slots=True)
class BubblewrapFeatures:
    """What this bubblewrap supports. `ids` are the user and the group inside: never root."""

    program: str
    disables_namespaces: bool
    sizes: bool
    ids: tuple[int, int]


@dataclass(frozen=True, slots=True)
class SandboxView:
    """The file system of one launch. `top` is the checkout that contains the root, `host` the rest of the
    machine. With `hosts_network` there is no network namespace."""

    root: str
    top: str
    home: str
    cwd: str
    profile: Profile
    host: HostView
    guarded: GuardedPaths
    stubs: tuple[str, ...]
    git: GitFolders
    scratch: str
    proxy: str = ""
    hosts_network: bool = False


def bubblewrap_arguments(
    view: SandboxView, features: BubblewrapFeatures, environment: dict[str, str]
) -> list[str]:
    """All options, without the program; the command comes after `--`."""
    uid, gid = map(str, features.ids)
    options = ["--unshare-user", "--uid", uid, "--gid", gid, "--unshare-all"]
    if view.hosts_network:
        options.append("--share-net")
    if features.disables_namespaces:
        options.append("--disable-userns")
    options += ["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"]
    for name, value in environment.items():
        options += ["--setenv", name, value]
    options += ["--ro-bind", "/", "/"]
    options += [*_hide_folders(view, view.host.outer, features), *_show_paths(view, view.host.outer)]
    options += ["--dir", view.home, *_mount_workspace(view)]
    options += [*_hide_folders(view, view.host.inner, features), *_show_paths(view, view.host.inner)]
    options += ["--bind", view.scratch, view.scratch]
    if view.proxy:
        options += ["--ro-bind", view.proxy, PROXY_SOCKET]
    options += [*_mount_guards(view), *_mask_paths(view.host.masked), *_mount_devices(features)]
    return [*options, "--chdir", view.cwd]


def _hide_folders(view: SandboxView, folders: tuple[str, ...], features: BubblewrapFeatures) -> list[str]:
    options: list[str] = []
    for folder in folders:
        size = LARGE_TMPFS if folder == "/tmp" or is_within(view.home, folder) else SMALL_TMPFS
        options += ["--perms", "1777" if folder in ("/tmp", "/var/tmp") else "0755"]
        options += ["--size", size] if features.sizes else []
        options += ["--tmpfs", folder]
    return options


def _show_paths(view: SandboxView, hides: tuple[str, ...]) -> list[str]:
    paths = [path for path in view.host.shown if any(is_within(path, folder) for folder in hides)]
    return [part for path in paths for part in ("--ro-bind-try", path, path)]


def _mount_workspace(view: SandboxView) -> list[str]:
    if view.root == "/":
        return []
    options = ["--ro-bind", view.top, view.top] if view.top != view.root else []
    writable = "--ro-bind" if view.profile == "read" else "--bind"
    options += [writable, view.root, view.root]
    for store in view.git.stores:
        # Also if it is inside the root: a mounted folder cannot be moved away.
        options += [writable, store, store]
    return options


def _mount_guards(view: SandboxView) -> list[str]:
    options: list[str] = []
    if view.profile != "read":
        protected = [path for path in view.guarded.protected if path not in view.git.stores]
        for path in (*view.git.fixed, *protected):
            options += ["--ro-bind-try", path, path] if path not in view.stubs else []
        for path in view.stubs:
            # An empty tmpfs costs a tenth of a bind mount.
            options += ["--perms", "0555", "--tmpfs", path]
    if view.profile != "build" or is_within(view.home, view.root):
        options += _mask_paths(view.guarded.secret)
    return options


def _mask_paths(paths: tuple[str, ...]) -> list[str]:
    options: list[str] = []
    for path in paths:
        if os.path.isdir(path):
            options += ["--perms", "0555", "--tmpfs", path]
        else:
            options += ["--ro-bind", "/dev/null", path]
    return options


def _mount_devices(features: BubblewrapFeatures) -> list[str]:
    # Without a size bubblewrap's /dev and shm could each take half of the memory.
    options = ["--dev", "/dev", "--perms", "1777", *(("--size", LARGE_TMPFS) if features.sizes else ())]
    options += ["--tmpfs", "/dev/shm", "--remount-ro", "/dev"]
    options += ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"]
    for path in ("/proc/sysrq-trigger", "/proc/kcore", "/proc/kmsg", "/proc/keys"):
        if os.path.exists(path):
            options += ["--ro-bind", "/dev/null", path]
    for path in ("/proc/irq", "/proc/bus", "/proc/acpi", "/proc/scsi"):
        if os.path.isdir(path):
            options += ["--ro-bind", path, path]
    return options
