"""The operands of a command that name files, and which of those it writes."""

import re
from dataclasses import dataclass

from cockpit.safety.bash.command_model import ShellWord, SimpleCommand
from cockpit.safety.bash.locations import BashLocation, locate
from cockpit.safety.values import ExecutionContext
from cockpit.workspace.word_set import word_set

# The words of these commands are text, not files.
TEXT_COMMANDS = word_set(
    "echo printf true false : seq expr sleep kill pkill killall pgrep export declare local readonly typeset "
    "unset alias set trap type which whereis command man info whatis apropos tput stty yes test [ [[ exit "
    "return shift wait jobs umask ulimit basename dirname"
)
# The first operand of these commands is a pattern or a script.
PATTERN_FIRST_COMMANDS = word_set(
    "grep egrep fgrep zgrep rg ag ack sed gsed awk gawk mawk nawk jq yq perl sd"
)
WRITERS = word_set(
    "rm rmdir unlink shred truncate patch tee touch mkdir mkfifo mknod chattr srm wipe trash sponge gzip "
    "gunzip bzip2 xz unxz bunzip2 vim vi nano emacs ed ex code install-hooks"
)
MODE_CHANGERS = word_set("chmod chown chgrp setfacl chcon")
COPIERS = word_set("cp ln install rsync scp ditto gcp")
MOVERS = word_set("mv gmv rename")
OUTPUT_OPTIONS = re.compile(
    r"(-o|--output|--output-file|--output-document|--out|-out|--outfile|--target-directory"
    r"|--directory-prefix|--output-dir|--log-file|--logfile|--dump-header|--trace|--trace-ascii|--cookie-jar"
    r"|--libcurl|-D|--append-output)$"
)
FOLDER_OPTIONS = {
    "tar": ("-C", "--directory"),
    "bsdtar": ("-C",),
    "unzip": ("-d",),
    "wget": ("-P",),
    "cpio": ("-D",),
    **dict.fromkeys(("cp", "mv", "install", "ln"), ("-t",)),
}
# Options whose value is used as a key, and is neither shown nor sent.
KEY_OPTIONS = word_set(
    "--key --cert --cacert --kubeconfig --identity --identity-file --private-key --tlskey --tlscert "
    "--ssl-key --keyfile --secret-keyring --client-key -E"
)
SSH_KEY_OPTIONS = word_set("-i -F")
SSH_COMMANDS = word_set("ssh scp sftp rsync mosh ansible ansible-playbook ssh-copy-id age")
KEY_USERS = word_set("ssh-add ssh-keygen ssh-copy-id chmod chown chgrp gpg-agent ssh-agent mkdir")
METADATA_COMMANDS = word_set("ls stat du tree file find fd fdfind realpath readlink exa eza lsd touch locate")
IN_PLACE_OPTIONS = re.compile(r"-[a-zA-Z]*i|--in-place")


# For these programs -o has another meaning.
OTHER_MEANING_OF_O = word_set(
    "find grep egrep fgrep rg ps ls ssh scp sftp mount test set shopt yq uniq paste column lsblk df sudo "
    "pytest hexdump od stdbuf kubectl aws gh helm docker oc stat strace git ionice"
)


@dataclass(frozen=True, slots=True)
class FileOperand:
    """A file that a command names: the word, its location and whether it is written. `shown` is False where
    only its metadata is read."""

    word: ShellWord
    place: BashLocation
    written: bool
    shown: bool = True


def list_file_operands(command: SimpleCommand, context: ExecutionContext) -> list[FileOperand]:
    """All files that `command` names, including its redirections."""
    operands = []
    for item in command.redirects:
        if item.copies:
            continue
        location = locate(item.target, command.cwd, command.likely_cwd, context)
        operands.append(FileOperand(item.target, location, item.writes))
    if command.program in TEXT_COMMANDS or not command.words:
        return operands
    for word, written in _named_words(command):
        location = locate(word, command.cwd, command.likely_cwd, context)
        shown = command.program not in METADATA_COMMANDS and command.program not in KEY_USERS
        operands.append(FileOperand(word, location, written, shown))
    return operands


def list_plain_operands(command: SimpleCommand) -> list[ShellWord]:
    """The words that are not options; after `--` all of them."""
    out, literal = [], False
    for word in command.words[1:]:
        if literal or not word.guess.startswith("-") or word.guess == "-":
            out.append(word)
        elif word.guess == "--":
            literal = True
    return out


def _named_words(command: SimpleCommand) -> list[tuple[ShellWord, bool]]:
    name, operands = command.program, []
    plain = list_plain_operands(command)
    written = {id(word) for word in _written_words(command, plain)}
    plain_ids = {id(word) for word in plain}
    skipped = plain[:1] if name in PATTERN_FIRST_COMMANDS and not _has_script_option(command) else []
    before = ""
    for word in command.words[1:]:
        option, before = before, word.guess
        text = word.guess
        if any(word is item for item in skipped):
            continue
        if name == "find" and option in ("-name", "-iname", "-path"):
            continue
        if name == "dd":
            operands.append((word.after("="), text.startswith("of=")))
        elif (
            (option == "-O" and name in ("wget", "fetch"))
            or (OUTPUT_OPTIONS.match(option) and _writes_by(option, name))
            or option in FOLDER_OPTIONS.get(name, ())
        ):
            operands.append((word, True))
        elif (
            option in KEY_OPTIONS
            or (name in SSH_COMMANDS and option in SSH_KEY_OPTIONS)
            or (name == "git" and option in ("-m", "--message", "-G", "-S", "--grep"))
        ):
            continue
        elif id(word) in plain_ids:
            operands += [(path, id(word) in written) for path in _possible_paths(word, name)]
        elif "=" in text:
            key = text.partition("=")[0]
            paths = _possible_paths(word.after("="), name) if key not in KEY_OPTIONS else []
            operands += [(path, bool(OUTPUT_OPTIONS.match(key))) for path in paths]
        elif len(text) > 2 and text[1] != "-" and ("/" in text or "@" in text):
            operands.append((ShellWord(word.text[2:].lstrip("@="), word.sure), text[1] in "oOD"))
    return [(word, is_written) for word, is_written in operands if word.text]


def _writes_by(option: str, program: str) -> bool:
    if option == "-D":
        return program == "curl"
    return option != "-o" or program not in OTHER_MEANING_OF_O


def _written_words(command: SimpleCommand, plain: list[ShellWord]) -> list[ShellWord]:
    name = command.program
    if name in WRITERS or name in MOVERS:
        return plain
    if name in MODE_CHANGERS:
        return plain[1:]
    if name in COPIERS:
        return plain[-1:] if len(plain) > 1 else []
    in_place = any(IN_PLACE_OPTIONS.match(argument) for argument in command.arguments)
    return plain if in_place and name in ("sed", "gsed", "perl", "yq", "sd", "gawk") else []


def _has_script_option(command: SimpleCommand) -> bool:
    option = re.compile(r"(-[a-zA-Z]*[ef]|--regexp|--file|--expression)")
    return any(option.match(argument) for argument in command.arguments)


def _possible_paths(word: ShellWord, program: str) -> list[ShellWord]:
    """The paths a word may contain: itself, the text after `=` or `@`, the parts around a colon."""
    text = word.text
    if program not in ("cat", "less", "rm", "cp", "mv", "ln") and (" " in text or "\n" in text):
        return []
    if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*://", text) and not text.startswith("file://"):
        return []
    pieces = [word]
    if text.startswith("file://"):
        pieces.append(ShellWord(text[7:], word.sure))
    for sign in "=@<:":
        if sign in text and not text.startswith("/"):
            tail = (text.rpartition(sign)[2] if sign != "=" else text.partition("=")[2]).lstrip("@<")
            if tail and tail != text:
                pieces.append(ShellWord(tail.split(";")[0], word.sure))
    if ":" in text and text.startswith("/"):
        pieces.append(ShellWord(text.partition(":")[0], word.sure))
    return pieces
