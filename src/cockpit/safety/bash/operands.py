"""Which words of a command name files, and which of those it would write."""

import re
from dataclasses import dataclass

from cockpit.safety.bash.commands import Command
from cockpit.safety.bash.places import Place, place
from cockpit.safety.bash.words import MILD, UNKNOWN, Word
from cockpit.safety.values import Ground
from cockpit.workspace.words import words

# Their words are text, not files.
TEXT = words(
    """
    echo printf true false : seq expr sleep kill pkill killall pgrep export declare local readonly
    typeset unset alias set trap type which whereis command man info whatis apropos tput stty yes test [
    [[ exit return shift wait jobs umask ulimit basename dirname
    """
)
# Their first operand is a pattern or a script.
PATTERN_FIRST = words(
    """
    grep egrep fgrep zgrep rg ag ack sed gsed awk gawk mawk nawk jq yq perl sd
    """
)
ALL_WRITTEN = words(
    """
    rm rmdir unlink shred truncate patch tee touch mkdir mkfifo mknod chattr srm wipe trash sponge gzip gunzip
    bzip2 xz unxz bunzip2 vim vi nano emacs ed ex code install-hooks
    """
)
AFTER_FIRST = words("chmod chown chgrp setfacl chcon")
LAST_WRITTEN = words("cp ln install rsync scp ditto gcp")
MOVERS = words("mv gmv rename")
OUTPUTS = re.compile(
    r"(-o|--output|--output-file|--output-document|--out|-out|--outfile|--target-directory|"
    r"--directory-prefix|"
    r"--output-dir|--log-file|--logfile|--dump-header|--trace|--trace-ascii|--cookie-jar|--libcurl|"
    r"-D|--append-output)$"
)
FOLDERS = {
    "tar": ("-C", "--directory"),
    "unzip": ("-d",),
    "wget": ("-P",),
    "cp": ("-t",),
    "mv": ("-t",),
    "install": ("-t",),
    "ln": ("-t",),
    "7z": (),
    "cpio": ("-D",),
    "bsdtar": ("-C",),
}
# What these options name is used as a key, not shown or sent.
KEYS = words(
    """
    --key --cert --cacert --kubeconfig --identity --identity-file --private-key --tlskey --tlscert --ssl-key
    --keyfile --secret-keyring --client-key -E
    """
)
SSH_KEYS = words("-i -F")
SSH = words("ssh scp sftp rsync mosh ansible ansible-playbook ssh-copy-id age")
KEY_USERS = words(
    """
    ssh-add ssh-keygen ssh-copy-id chmod chown chgrp gpg-agent ssh-agent mkdir
    """
)
METADATA = words(
    """
    ls stat du tree file find fd fdfind realpath readlink exa eza lsd touch locate
    """
)
EDITS = re.compile(r"-[a-zA-Z]*i|--in-place")


# For these -o is something else.
OTHER_O = words(
    """
    find grep egrep fgrep rg ps ls ssh scp sftp mount test set shopt yq uniq paste column lsblk df sudo
    pytest hexdump od stdbuf kubectl aws gh helm docker oc stat strace git ionice
    """
)


@dataclass(frozen=True, slots=True)
class Operand:
    """A file that a command names: the word, where it lies, whether it is written, and whether only its
    name is looked at (`shown` is False then)."""

    word: Word
    place: Place
    written: bool
    shown: bool = True


def operands(command: Command, ground: Ground) -> list[Operand]:
    """All files that `command` names, its redirections included."""
    found = []
    for item in command.redirects:
        if item.copies:
            continue
        spot = place(item.target, command.cwd, command.near, ground)
        found.append(Operand(item.target, spot, item.writes))
    if command.program in TEXT or not command.words:
        return found
    for word, written in _named(command):
        spot = place(word, command.cwd, command.near, ground)
        shown = command.program not in METADATA and command.program not in KEY_USERS
        found.append(Operand(word, spot, written, shown))
    return found


def plain_operands(command: Command) -> list[Word]:
    """The words that are no options; after `--` all of them."""
    out, literal = [], False
    for word in command.words[1:]:
        if literal or not word.guess.startswith("-") or word.guess == "-":
            out.append(word)
        elif word.guess == "--":
            literal = True
    return out


def _named(command: Command) -> list[tuple[Word, bool]]:
    name, found = command.program, []
    plain = plain_operands(command)
    chosen = _written(command, plain)
    skipped = plain[:1] if name in PATTERN_FIRST and not _has_script_option(command) else []
    before = ""
    for word in command.words[1:]:
        text = word.guess
        if any(word is one for one in skipped) or (name == "find" and before in ("-name", "-iname", "-path")):
            before = text
            continue
        if name == "dd":
            found.append((Word(word.text.partition("=")[2], word.sure), text.startswith("of=")))
        elif (
            (before == "-O" and name in ("wget", "fetch"))
            or (OUTPUTS.match(before) and _writes_by(before, name))
            or before in FOLDERS.get(name, ())
        ):
            found.append((word, True))
        elif (
            before in KEYS
            or (name in SSH and before in SSH_KEYS)
            or (name in ("git",) and before in ("-m", "--message", "-G", "-S", "--grep"))
        ):
            pass
        elif any(word is one for one in plain):
            found += [(one, any(word is other for other in chosen)) for one in _pieces(word, name)]
        elif "=" in text:
            left, _, _right = text.partition("=")
            value = Word(word.text.partition("=")[2], word.sure)
            if left not in KEYS:
                found += [(one, bool(OUTPUTS.match(left))) for one in _pieces(value, name)]
        elif len(text) > 2 and text[1] != "-" and ("/" in text or "@" in text):
            found.append((Word(word.text[2:].lstrip("@="), word.sure), text[1] in "oOD"))
        before = text
    return [(word, written) for word, written in found if word.text]


def _writes_by(option: str, program: str) -> bool:
    """Whether the short option names a file to write for this program."""
    if option == "-D":
        return program == "curl"
    return option != "-o" or program not in OTHER_O


def _written(command: Command, plain: list[Word]) -> list[Word]:
    name = command.program
    if name in ALL_WRITTEN or name in MOVERS:
        return plain
    if name in AFTER_FIRST:
        return plain[1:]
    if name in LAST_WRITTEN:
        return plain[-1:] if len(plain) > 1 else []
    if name in ("sed", "gsed", "perl", "yq", "sd", "gawk") and any(
        EDITS.match(one) for one in command.arguments
    ):
        return plain
    return []


def _has_script_option(command: Command) -> bool:
    return any(re.match(r"(-[a-zA-Z]*[ef]|--regexp|--file|--expression)", one) for one in command.arguments)


def _pieces(word: Word, program: str) -> list[Word]:
    """A word as the files it may name: itself, what follows `=` or `@`, the parts around a colon."""
    text = word.text
    if program not in ("cat", "less", "rm", "cp", "mv", "ln") and (" " in text or "\n" in text):
        return []
    if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*://", text) and not text.startswith("file://"):
        return []
    pieces = [word]
    if text.startswith("file://"):
        pieces.append(Word(text[7:], word.sure))
    for sign in "=@<:":
        if sign in text and not text.startswith("/"):
            tail = (text.rpartition(sign)[2] if sign != "=" else text.partition("=")[2]).lstrip("@<")
            if tail and tail != text:
                pieces.append(Word(tail.split(";")[0], word.sure))
    if ":" in text and text.startswith("/"):
        pieces.append(Word(text.partition(":")[0], word.sure))
    return pieces


def unknown(word: Word) -> bool:
    return UNKNOWN in word.text or MILD in word.text
