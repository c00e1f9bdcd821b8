"""What a command writes to its output: from the network, decoded, secret, or a text that is known."""

import posixpath

from cockpit.safety.bash.commands import SILENT, Command, Flow
from cockpit.safety.bash.words import words_known
from cockpit.safety.bash.wrappers import SHELLS
from cockpit.workspace.words import words

FETCHERS = words(
    """
    curl wget fetch aria2c http https xh lynx links w3m elinks nc ncat netcat socat telnet ftp tftp lftp
    scp sftp rsync ssh openssl dig host nslookup ipfs curlie axel GET lwp-request
    """
)
DECODERS = words(
    """
    base64 base32 basenc xxd uudecode gunzip zcat gzip bunzip2 bzcat unxz xzcat zstdcat rev tr openssl
    gpg age uncompress lz4 brotli od printf awk sed perl python python3 ruby node php hexdump iconv unzip
    tar cut ascii2uni dc bc xz zstd bzip2 m4 envsubst jq
    """
)
# Their plain use only filters; only what is written behind a pipe may hide a command.
PLAIN_FILTERS = words(
    """
    awk sed cut jq bc dc envsubst m4 tar unzip node php ruby perl python python3
    """
)
QUIET = words(
    """
    cd pushd popd true false test [ export set unset mkdir touch rm cp mv chmod sleep exit return wait
    shift local readonly declare typeset trap umask
    """
)
ENVIRONMENT = words("env printenv set export declare")


def output(command: Command) -> Flow:
    """The flow out of `command`."""
    name, stdin = command.program, command.stdin
    taints = set(stdin.taints) if reads_stdin(command) else set()
    for word in command.words[1:]:
        taints |= word.taints
    taints.discard("unknown")
    if name in FETCHERS and not (name == "openssl" and "s_client" not in command.arguments):
        taints.add("net")
    if name in ("gh", "glab", "aws", "gsutil") and {"api", "gist", "s3", "cp", "cat"} & set(
        command.arguments
    ):
        taints.add("net")
    if name in SHELLS and command.words:
        taints.add("shell")
    if _decodes(command):
        taints.add("decoded")
    if name in ("env", "printenv", "history") or (name in ENVIRONMENT and len(command.words) < 2):
        taints.add("secret")
    return Flow(frozenset(taints), _text(command), False)


def reads_stdin(command: Command) -> bool:
    return command.program not in ("echo", "printf", "ls", "date", "pwd")


def _decodes(command: Command) -> bool:
    name, given = command.program, command.arguments
    if name in PLAIN_FILTERS:
        return False
    if name in ("base64", "base32", "basenc"):
        return any(
            one.startswith(("-d", "-D", "--d")) or ("d" in one[1:3] and one[:1] == "-") for one in given
        )
    if name == "xxd":
        return any(one.startswith("-") and "r" in one for one in given)
    if name in ("gzip", "xz", "zstd", "bzip2", "lz4", "brotli"):
        return any("d" in one for one in given if one.startswith("-"))
    if name == "openssl":
        return "-d" in given
    if name == "printf":
        return any("\\x" in one or "\\0" in one or "\\1" in one for one in given)
    if name == "echo":
        return False
    return name in DECODERS


def _text(command: Command) -> str | None:
    """The text itself, for commands that only say what they are given."""
    name = command.program
    if name == "pwd":
        return command.near + "\n"
    if name in ("dirname", "basename", "realpath", "readlink", "find", "ls", "fd"):
        return _named(command)
    if name in QUIET or not command.words:
        return SILENT.text
    if name in ("cat", "tee") and command.stdin.text is not None:
        return command.stdin.text if name == "tee" or not _operands(command) else None
    if name == "echo":
        words = list(command.words[1:])
        escapes = False
        while (
            words
            and set(words[0].guess) <= set("-neE")
            and len(words[0].guess) > 1
            and words[0].guess[0] == "-"
        ):
            escapes = escapes or "e" in words.pop(0).guess
        text = words_known(words)
        return None if text is None else _escaped(text, escapes) + "\n"
    if name == "printf" and len(command.words) > 1:
        return (
            printed([word.text for word in command.words[1:]])
            if words_known(command.words) is not None
            else None
        )
    if name in ("rev", "tac") and command.stdin.text is not None and not _operands(command):
        lines = command.stdin.text.split("\n")
        return "\n".join(line[::-1] for line in lines) if name == "rev" else "\n".join(reversed(lines))
    return _decoded(command)


def _named(command: Command) -> str | None:
    """The path that comes out of one that goes in; of a search what it starts from."""
    plain = _operands(command)
    if not plain or words_known(command.words[1:]) is None:
        return None
    first = plain[0]
    match command.program:
        case "dirname":
            return posixpath.dirname(first.rstrip("/")) or "/"
        case "basename":
            return posixpath.basename(first.rstrip("/"))
        case "find" | "ls" | "fd":
            return None if any("name" in one or "path" in one for one in command.arguments) else first
        case _:
            return posixpath.normpath(posixpath.join(command.near, first))


def _decoded(command: Command) -> str | None:
    """What base64 or xxd makes of a known text: a guess good enough to refuse by."""
    text = command.stdin.text
    if (
        text is None
        or command.program not in ("base64", "xxd")
        or not _decodes(command)
        or len(text) > 20_000
    ):
        return None
    import base64
    import binascii

    try:
        plain = base64.b64decode(text) if command.program == "base64" else bytes.fromhex(text.strip())
    except (binascii.Error, ValueError):
        return None
    return plain.decode("utf-8", "replace").replace("\0", "")


def printed(texts: list[str]) -> str:
    form, rest = (texts[0], texts[1:]) if texts[0] != "--" else ("".join(texts[1:2]), texts[2:])
    out = _escaped(form, True)
    for one in rest:
        out = out.replace("%s", one, 1).replace("%b", _escaped(one, True), 1) if "%" in out else out
    return out.replace("%%", "%")


def _escaped(text: str, escapes: bool) -> str:
    from cockpit.safety.bash.words import ansi_quoted

    return ansi_quoted(text) if escapes and "\\" in text else text


def _operands(command: Command) -> list[str]:
    return [one for one in command.arguments if not one.startswith("-")]
