"""What a command does to files: secrets it reads, protected files it writes, trees and disks it destroys."""

import re
from collections.abc import Iterator
from dataclasses import replace

from cockpit.safety.bash.command_model import ShellWord, SimpleCommand
from cockpit.safety.bash.locations import explain_tree_loss
from cockpit.safety.bash.operands import FileOperand, list_plain_operands
from cockpit.safety.findings import SafetyFinding, ask, deny
from cockpit.safety.values import ExecutionContext
from cockpit.workspace.word_set import word_set

DELETE_ADVICE = "delete with the delete tool, which can be undone"
FORMATTERS = re.compile(
    r"mkfs(\..+)?|mke2fs|newfs|wipefs|fdisk|sfdisk|cfdisk|gdisk|sgdisk|cgdisk|parted|blkdiscard|badblocks"
    r"|mkswap|hdparm|nvme|mdadm|cryptsetup|pvcreate|pvremove|vgremove|vgcreate|lvremove|lvreduce|dmsetup"
    r"|zpool|zfs|diskutil|asr|shred|dd|dcfldd|ddrescue|nwipe|scrub|mkdosfs|mkntfs|losetup|partx|sg_format"
    r"|sd_format|flashrom|efibootmgr"
)
DISK_LISTING_WORDS = word_set(
    "-l --list print list status info -N --dump -d show-all --examine --detail smart-log"
)
DISK_DESTROYERS = {
    "zpool": {"destroy", "labelclear"},
    "zfs": {"destroy"},
    "mdadm": {"--zero-superblock", "--stop"},
    "diskutil": {"eraseDisk", "eraseVolume", "partitionDisk", "secureErase", "zeroDisk", "reformat", "apfs"},
    "lvremove": set(),
    "vgremove": set(),
    "pvremove": set(),
    "cryptsetup": {"luksFormat", "erase", "luksErase"},
    "nvme": {"format", "sanitize"},
    "dmsetup": {"remove", "remove_all", "wipe_table"},
}
DELETERS = word_set("rm srm grm trash rmdir unlink shred wipe find gfind fd fdfind rsync mv gmv")
ASKED_READ_KINDS = word_set("secret process own device outside system origin unknown persist") | {
    "project secret"
}
FIND_CHANGERS = re.compile(r"^-delete$|(^|/)(rm|shred|unlink|srm|chmod|chown|mv|truncate)$")
SYSTEM_FOLDERS = re.compile(r"/|/(etc|usr|bin|sbin|lib\w*|boot|dev|proc|sys|var|home|root|opt)(/.*)?")
DISK_DEVICE = re.compile(r"(^|=)/dev/(?!null|zero|u?random|stdin|stdout|fd|full|tty)")
RAW_DEVICES = re.compile(r"/dev/(sd|hd|vd|xvd|nvme|mmcblk|mem|kmem|port|dm-|mapper/|disk)")


def check_files(
    command: SimpleCommand, operands: list[FileOperand], context: ExecutionContext
) -> Iterator[SafetyFinding]:
    """All findings about files."""
    for operand in operands:
        if operand.place.kind == "socket":
            finding: SafetyFinding | None = _check_socket(operand.word.guess)
        else:
            finding = _check_write(operand, command) if operand.written else _check_read(operand, command)
        if finding is not None:
            yield finding
    yield from _check_trees(command, context)
    for check in (_check_disks(command), _check_modes(command, operands)):
        if check is not None:
            yield check


# What writing to each kind of location means.
WRITE_FINDINGS: dict[str, SafetyFinding] = {
    "protected": deny("write.protected", "it writes {text}: {why}", "persist", "fs.write"),
    "persist": deny("write.persist", "it writes {text}: {why}", "persist", "fs.outside"),
    "own": deny("write.own", "it changes cockpit's own files: {path}", "agent.self"),
    "secret": deny("write.secret", "it writes {text}: {why}", "persist", "fs.outside"),
    "origin": deny("write.origin", "it writes {path}: {why}; use the path in the worktree", "fs.outside"),
    "system": deny("write.system", "it changes the system: {path}", "host.mutate", "fs.outside"),
    "process": deny("write.system", "it changes the system: {path}", "host.mutate", "fs.outside"),
    "device": deny("write.device", "it writes to the device {path}", "host.mutate"),
    "outside": ask(
        "write.outside", "it writes {path}, outside the workspace", "fs.write", "fs.outside", risk=55
    ),
    "unknown": ask("write.unknown", "{text} is only known when it runs", "fs.write", risk=50),
    "project secret": ask(
        "write.secret-file", "it writes {text}, a file that holds secrets", "fs.write", risk=60
    ),
    "plain": ask("write.inside", "it writes {text}", "fs.write", risk=30),
}


def _check_write(operand: FileOperand, command: SimpleCommand) -> SafetyFinding | None:
    location, text = operand.place, operand.word.guess
    if location.kind == "protected" and command.program == "mkdir":
        reason = f"it creates a folder at {text}: {location.reason}"
        return ask("write.protected", reason, "fs.write", risk=70)
    if location.kind == "secret" and command.program in ("chmod", "chown", "mkdir", "ssh-keygen"):
        return ask("write.secret", f"it changes {text}: {location.reason}", "fs.outside", risk=70)
    form = WRITE_FINDINGS.get(location.kind)
    if form is None:
        return None
    reason = form.reason.replace("{why}", location.reason).replace("{path}", location.path)
    return replace(form, reason=reason.replace("{text}", text))


def _check_read(operand: FileOperand, command: SimpleCommand) -> SafetyFinding | None:
    location, text = operand.place, operand.word.guess
    if location.kind in ("secret", "process") and operand.shown:
        advice = "ask the user for the one value you need"
        reason = f"it reads {text}: {location.reason}"
        return deny("read.secret", reason, "secret.read", risk=90, alternative=advice)
    if location.kind == "device" and RAW_DEVICES.match(location.path):
        return deny("read.device", f"it reads the raw device {location.path}", "secret.read", "host.mutate")
    if location.kind not in ASKED_READ_KINDS or command.program in ("cd", "pushd"):
        return None
    if location.kind == "project secret":
        return ask("read.secret-file", f"it reads {text}: {location.reason}", "secret.read", risk=60)
    reason = location.reason or f"it reads {text}"
    return ask(f"read.{location.kind}", reason, "fs.read", "fs.outside", risk=30)


def _check_socket(text: str) -> SafetyFinding:
    host = text.split("/")[3] if text.count("/") >= 3 else ""
    if host in ("localhost", "127.0.0.1", "::1"):
        return ask("net.socket", f"it opens a connection to {host}", "net.egress", risk=60, destination=host)
    return deny("net.socket", f"it opens a raw network connection ({text})", "net.egress", "code.remote")


def _is_recursive(command: SimpleCommand) -> bool:
    return any(
        argument == "--no-preserve-root"
        or argument.startswith("--rec")
        or (re.fullmatch(r"-[a-zA-Z]+", argument) is not None and "r" in argument.lower())
        for argument in command.arguments
    )


def _tree_targets(command: SimpleCommand) -> list[ShellWord]:
    """The words that name what the command would destroy or change recursively."""
    name, arguments = command.program, command.arguments
    plain = list_plain_operands(command)
    if name in ("rm", "grm", "srm", "trash", "wipe", "shred", "rmdir", "unlink"):
        wide = name in ("trash", "srm") or any("*" in word.guess for word in plain)
        return plain if wide or _is_recursive(command) else []
    if name in ("chmod", "chown", "chgrp", "setfacl", "chattr", "chcon"):
        return plain[1:] if _is_recursive(command) else []
    if name in ("mv", "gmv"):
        return plain[:-1] if len(plain) > 1 else plain
    if name in ("find", "gfind", "fd", "fdfind"):
        return _find_targets(command)
    if name == "rsync" and any(item.startswith(("--delete", "--remove-source")) for item in arguments):
        return plain[-1:]
    if name == "git" and "clean" in arguments and "-C" in arguments:
        return [command.words[arguments.index("-C") + 2]]
    return []


def _find_targets(command: SimpleCommand) -> list[ShellWord]:
    """The folders in which a `find` deletes or changes files."""
    arguments = command.arguments
    starts = command.search_starts()
    if not any(FIND_CHANGERS.search(argument) for argument in arguments):
        return []
    narrows = {"-name", "-iname", "-path", "-regex", "-maxdepth"} & set(arguments)
    in_system = any(SYSTEM_FOLDERS.fullmatch(word.guess) for word in starts)
    return [] if narrows and "-exec" not in arguments and not in_system else starts


def _check_trees(command: SimpleCommand, context: ExecutionContext) -> Iterator[SafetyFinding]:
    name, safe = command.program, True
    for word in _tree_targets(command):
        if loss := explain_tree_loss(word, command.cwd, command.likely_cwd, context):
            safe = False
            reason = f"it would destroy or change a whole tree: {loss}"
            yield deny("destroy.tree", reason, "fs.delete", "fs.outside", risk=100)
    if name in ("mv", "gmv") and command.words[-1].guess == "/dev/null":
        safe = False
        yield deny("destroy.null", "a file moved to /dev/null is lost", "fs.delete")
    if "--no-preserve-root" in command.arguments:
        safe = False
        reason = "--no-preserve-root is only used to destroy the root folder"
        yield deny("destroy.root", reason, "fs.delete", risk=100)
    if safe and (
        name in ("rm", "srm", "trash", "shred", "unlink", "rmdir", "wipe")
        or (name in DELETERS and "-delete" in command.arguments)
    ):
        reason = f"it deletes {' '.join(word.guess for word in list_plain_operands(command)[:3])}"
        risk = 60 if _is_recursive(command) else 45
        yield ask("delete", reason, "fs.delete", risk=risk, alternative=DELETE_ADVICE)


def _check_disks(command: SimpleCommand) -> SafetyFinding | None:
    name, arguments = command.program, command.arguments
    if not FORMATTERS.fullmatch(name):
        return None
    if DISK_LISTING_WORDS.intersection(arguments) and name != "dd":
        return ask("disk.list", f"{name} inspects disks", "fs.outside", risk=40)
    if name in DISK_DESTROYERS and (not DISK_DESTROYERS[name] or DISK_DESTROYERS[name] & set(arguments)):
        reason = f"{name} destroys the content of a disk"
        return deny("disk.destroy", reason, "host.mutate", "fs.delete", risk=100)
    for argument in arguments:
        is_source = name in ("dd", "dcfldd", "ddrescue") and argument.startswith("if=")
        if DISK_DEVICE.search(argument) and not is_source:
            reason = f"{name} writes to the device {argument}"
            return deny("disk.write", reason, "host.mutate", "fs.delete", risk=100)
    return None


def _check_modes(command: SimpleCommand, operands: list[FileOperand]) -> SafetyFinding | None:
    if command.program not in ("chmod", "chown", "setfacl", "setcap", "chattr") or len(command.words) < 2:
        return None
    mode = next((word.guess for word in list_plain_operands(command)[:1]), "")
    if command.program == "setcap" or re.search(r"^[2467][0-7]{3}\Z|[ugoa]*[+=][rwxX]*s", mode):
        reason = "it lets a program run with the rights of another user"
        return deny("mode.setuid", reason, "priv", "host.mutate")
    open_wide = re.search(r"[0-7]?[0-7][0-7][2367]$|(^|[,ao])[ugo]*[ao]*[+=][rxX]*w", mode)
    written = [operand.place for operand in operands if operand.written]
    outside = [place for place in written if place.kind not in ("plain", "quiet", "unknown")]
    if open_wide and outside:
        return ask("mode.open", f"it lets every user write {outside[0].path}", "host.mutate", risk=70)
    return ask("mode", "it changes the permissions or the owner of files", "fs.write", risk=40)
