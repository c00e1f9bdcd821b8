"""What a command does to files: secrets it reads, protected files it writes, trees and disks it destroys."""

import re
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
ASKED_READ_KINDS = frozenset(
    {
        "secret",
        "process",
        "project secret",
        "own",
        "device",
        "outside",
        "system",
        "origin",
        "unknown",
        "persist",
    }
)
RAW_DEVICES = re.compile(r"/dev/(sd|hd|vd|xvd|nvme|mmcblk|mem|kmem|port|dm-|mapper/|disk)")


def check_files(
    command: SimpleCommand, operands: list[FileOperand], context: ExecutionContext
) -> list[SafetyFinding]:
    """All findings about files."""
    findings = [finding for operand in operands for finding in _check_operand(operand, command)]
    return [
        *findings,
        *_check_trees(command, context),
        *_check_disks(command, operands),
        *_check_modes(command, operands, context),
    ]


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


def _check_operand(operand: FileOperand, command: SimpleCommand) -> list[SafetyFinding]:
    if operand.place.kind == "socket":
        return [_check_socket(operand.word.guess)]
    return _check_write(operand, command) if operand.written else _check_read(operand, command)


def _check_write(operand: FileOperand, command: SimpleCommand) -> list[SafetyFinding]:
    location, text = operand.place, operand.word.guess
    if location.kind == "protected" and command.program == "mkdir":
        return [
            ask("write.protected", f"it creates a folder at {text}: {location.reason}", "fs.write", risk=70)
        ]
    if location.kind == "secret" and command.program in ("chmod", "chown", "mkdir", "ssh-keygen"):
        return [ask("write.secret", f"it changes {text}: {location.reason}", "fs.outside", risk=70)]
    form = WRITE_FINDINGS.get(location.kind)
    if form is None:
        return []
    reason = (
        form.reason.replace("{why}", location.reason).replace("{path}", location.path).replace("{text}", text)
    )
    return [replace(form, reason=reason)]


def _check_read(operand: FileOperand, command: SimpleCommand) -> list[SafetyFinding]:
    location, text = operand.place, operand.word.guess
    if location.kind in ("secret", "process") and operand.shown:
        findings = deny("read.secret", f"it reads {text}: {location.reason}", "secret.read", risk=90)
        return [replace(findings, alternative="ask the user for the one value you need")]
    if location.kind == "device" and RAW_DEVICES.match(location.path):
        return [deny("read.device", f"it reads the raw device {location.path}", "secret.read", "host.mutate")]
    if location.kind not in ASKED_READ_KINDS or command.program in ("cd", "pushd"):
        return []
    if location.kind == "project secret":
        return [ask("read.secret-file", f"it reads {text}: {location.reason}", "secret.read", risk=60)]
    return [
        ask(f"read.{location.kind}", location.reason or f"it reads {text}", "fs.read", "fs.outside", risk=30)
    ]


def _check_socket(text: str) -> SafetyFinding:
    host = text.split("/")[3] if text.count("/") >= 3 else ""
    if host in ("localhost", "127.0.0.1", "::1"):
        return ask("net.socket", f"it opens a connection to {host}", "net.egress", risk=60, destination=host)
    return deny("net.socket", f"it opens a raw network connection ({text})", "net.egress", "code.remote")


def _is_recursive(command: SimpleCommand) -> bool:
    return any(
        argument in ("--recursive", "--no-preserve-root")
        or (argument.startswith("--rec"))
        or (re.fullmatch(r"-[a-zA-Z]+", argument) is not None and ("r" in argument or "R" in argument))
        for argument in command.arguments
    )


def _tree_targets(command: SimpleCommand) -> list[ShellWord]:
    """The words that name what the command would destroy or change recursively."""
    name, arguments = command.program, command.arguments
    plain = list_plain_operands(command)
    if name in ("rm", "grm", "srm", "trash", "wipe", "shred", "rmdir", "unlink"):
        return (
            plain
            if _is_recursive(command) or name in ("trash", "srm") or any("*" in word.guess for word in plain)
            else []
        )
    if name in ("chmod", "chown", "chgrp", "setfacl", "chattr", "chcon"):
        return plain[1:] if _is_recursive(command) else []
    if name in ("mv", "gmv"):
        return plain[:-1] if len(plain) > 1 else plain
    if name in ("find", "gfind", "fd", "fdfind"):
        deletes = "-delete" in arguments or any(
            re.search(r"(^|/)(rm|shred|unlink|srm|chmod|chown|mv|truncate)$", argument)
            for argument in arguments
        )
        starts = []
        for word in command.words[1:]:
            if word.guess.startswith(("-", "(", "!")):
                break
            starts.append(word)
        narrow = (
            any(argument in ("-name", "-iname", "-path", "-regex", "-maxdepth") for argument in arguments)
            and "-exec" not in arguments
        )
        return starts if deletes and not (narrow and all(_is_narrow(word) for word in starts)) else []
    if name == "rsync" and any(
        argument.startswith(("--delete", "--remove-source")) for argument in arguments
    ):
        return plain[-1:]
    if name == "git" and "clean" in arguments and "-C" in arguments:
        return [command.words[arguments.index("-C") + 2]]
    return []


def _is_narrow(word: ShellWord) -> bool:
    return not re.fullmatch(
        r"/|/(etc|usr|bin|sbin|lib\w*|boot|dev|proc|sys|var|home|root|opt)(/.*)?", word.guess
    )


def _check_trees(command: SimpleCommand, context: ExecutionContext) -> list[SafetyFinding]:
    name = command.program
    findings = []
    for word in _tree_targets(command):
        if reason := explain_tree_loss(word, command.cwd, command.likely_cwd, context):
            findings.append(
                deny(
                    "destroy.tree",
                    f"it would destroy or change a whole tree: {reason}",
                    "fs.delete",
                    "fs.outside",
                    risk=100,
                )
            )
    if name in ("mv", "gmv") and command.words[-1].guess == "/dev/null":
        findings.append(deny("destroy.null", "a file moved to /dev/null is lost", "fs.delete"))
    if "--no-preserve-root" in command.arguments:
        findings.append(
            deny(
                "destroy.root",
                "--no-preserve-root is only used to destroy the root folder",
                "fs.delete",
                risk=100,
            )
        )
    if findings:
        return findings
    if name in ("rm", "srm", "trash", "shred", "unlink", "rmdir", "wipe") or (
        name in DELETERS and "-delete" in command.arguments
    ):
        return [
            ask(
                "delete",
                f"it deletes {' '.join(word.guess for word in list_plain_operands(command)[:3])}",
                "fs.delete",
                risk=60 if _is_recursive(command) else 45,
                alternative=DELETE_ADVICE,
            )
        ]
    return []


def _check_disks(command: SimpleCommand, operands: list[FileOperand]) -> list[SafetyFinding]:
    name = command.program
    if not FORMATTERS.fullmatch(name):
        return []
    arguments = command.arguments
    if arguments and any(argument in DISK_LISTING_WORDS for argument in arguments) and name != "dd":
        return [ask("disk.list", f"{name} inspects disks", "fs.outside", risk=40)]
    if name in DISK_DESTROYERS and (not DISK_DESTROYERS[name] or DISK_DESTROYERS[name] & set(arguments)):
        return [
            deny(
                "disk.destroy", f"{name} destroys the content of a disk", "host.mutate", "fs.delete", risk=100
            )
        ]
    touched = [
        argument
        for argument in arguments
        if re.search(r"(^|=)/dev/(?!null|zero|u?random|stdin|stdout|fd|full|tty)", argument)
    ]
    if name in ("dd", "dcfldd", "ddrescue"):
        touched = [argument for argument in touched if not argument.startswith("if=")]
    if touched:
        return [
            deny(
                "disk.write",
                f"{name} writes to the device {touched[0]}",
                "host.mutate",
                "fs.delete",
                risk=100,
            )
        ]
    return []


def _check_modes(
    command: SimpleCommand, operands: list[FileOperand], context: ExecutionContext
) -> list[SafetyFinding]:
    if command.program not in ("chmod", "chown", "setfacl", "setcap", "chattr") or len(command.words) < 2:
        return []
    mode = next((word.guess for word in list_plain_operands(command)[:1]), "")
    if (
        re.fullmatch(r"[2467][0-7]{3}", mode)
        or re.search(r"[ugoa]*[+=][rwxX]*s", mode)
        or command.program == "setcap"
    ):
        return [
            deny(
                "mode.setuid", "it lets a program run with the rights of another user", "priv", "host.mutate"
            )
        ]
    open_wide = re.search(r"[0-7]?[0-7][0-7][2367]$", mode) or re.search(
        r"(^|[,ao])[ugo]*[ao]*[+=][rxX]*w", mode
    )
    outside = [
        operand
        for operand in operands
        if operand.written and operand.place.kind not in ("plain", "quiet", "unknown")
    ]
    if open_wide and outside:
        return [ask("mode.open", f"it lets every user write {outside[0].place.path}", "host.mutate", risk=70)]
    return [ask("mode", "it changes the permissions or the owner of files", "fs.write", risk=40)]
