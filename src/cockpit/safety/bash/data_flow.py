"""What flows between the commands of a bash line: output, redirections, files, variables and the folder.

Data carries taints that say where it came from: `net`, `decoded`, `secret`, `shell`.
"""

import base64
import binascii
import posixpath
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING

from cockpit.safety.bash.command_model import (
    NO_OUTPUT,
    UNKNOWN,
    WORD_NODES,
    DataFlow,
    LineReading,
    Redirection,
    ShellScope,
    ShellWord,
    SimpleCommand,
    join_known,
    node_text,
    unquote_ansi,
)
from cockpit.safety.bash.wrappers import SHELLS
from cockpit.workspace.word_set import word_set

if TYPE_CHECKING:
    from tree_sitter import Node

    from cockpit.safety.bash.expansion import WordExpander


FETCHERS = word_set(
    "curl wget fetch aria2c http https xh lynx links w3m elinks nc ncat netcat socat telnet ftp tftp lftp "
    "scp sftp rsync ssh openssl dig host nslookup ipfs curlie axel GET lwp-request"
)
DECODERS = word_set(
    "base64 base32 basenc xxd uudecode gunzip zcat gzip bunzip2 bzcat unxz xzcat zstdcat rev tr openssl gpg "
    "age uncompress lz4 brotli od printf awk sed perl python python3 ruby node php hexdump iconv unzip tar "
    "cut ascii2uni dc bc xz zstd bzip2 m4 envsubst jq"
)
# Used plainly these only filter; what they write into a pipe cannot hide a command.
PLAIN_FILTERS = word_set("awk sed cut jq bc dc envsubst m4 tar unzip node php ruby perl python python3")
SILENT_COMMANDS = word_set(
    "cd pushd popd true false test [ export set unset mkdir touch rm cp mv chmod sleep exit return wait "
    "shift local readonly declare typeset trap umask"
)
VARIABLE_SETTERS = word_set("read mapfile readarray getopts select printf unset shift let")
FILE_WRITERS = word_set("curl wget tee aria2c base64 xxd openssl dd cp mv fetch scp")
ENVIRONMENT_PRINTERS = word_set("env printenv set export declare")


def trace_output(command: SimpleCommand) -> DataFlow:
    """The output of `command` with its taints."""
    name, stdin = command.program, command.stdin
    taints = set(stdin.taints) if reads_stdin(command) else set()
    for word in command.words[1:]:
        taints |= word.taints
    taints.discard("unknown")
    if name in FETCHERS and not (name == "openssl" and "s_client" not in command.arguments):
        taints.add("net")
    fetches = {"api", "gist", "s3", "cp", "cat"} & set(command.arguments)
    if name in ("gh", "glab", "aws", "gsutil") and fetches:
        taints.add("net")
    if name in SHELLS and command.words:
        taints.add("shell")
    if _decodes(command):
        taints.add("decoded")
    if name in ("env", "printenv", "history") or (name in ENVIRONMENT_PRINTERS and len(command.words) < 2):
        taints.add("secret")
    return DataFlow(frozenset(taints), _known_output(command), False)


def reads_stdin(command: SimpleCommand) -> bool:
    return command.program not in ("echo", "printf", "ls", "date", "pwd")


def _decodes(command: SimpleCommand) -> bool:
    name, arguments = command.program, command.arguments
    if name in PLAIN_FILTERS:
        return False
    if name in ("base64", "base32", "basenc"):
        return any(
            argument.startswith(("-d", "-D", "--d")) or ("d" in argument[1:3] and argument[:1] == "-")
            for argument in arguments
        )
    if name == "xxd":
        return any(argument.startswith("-") and "r" in argument for argument in arguments)
    if name in ("gzip", "xz", "zstd", "bzip2", "lz4", "brotli"):
        return any("d" in argument for argument in arguments if argument.startswith("-"))
    if name == "openssl":
        return "-d" in arguments
    if name == "printf":
        return any("\\x" in argument or "\\0" in argument or "\\1" in argument for argument in arguments)
    if name == "echo":
        return False
    return name in DECODERS


def _known_output(command: SimpleCommand) -> str | None:
    """The output itself, for commands that only print what they are given."""
    name = command.program
    if name == "pwd":
        return command.likely_cwd + "\n"
    if name in ("dirname", "basename", "realpath", "readlink", "find", "ls", "fd"):
        return _path_output(command)
    if name in SILENT_COMMANDS or not command.words:
        return NO_OUTPUT.text
    if name in ("cat", "tee") and command.stdin.text is not None:
        return command.stdin.text if name == "tee" or not _operands(command) else None
    if name == "echo":
        options = list(takewhile(lambda word: re.fullmatch(r"-[neE-]+", word.guess), command.words[1:]))
        text = join_known(command.words[1 + len(options) :])
        escapes = any("e" in option.guess for option in options)
        return None if text is None else _unescape(text, escapes) + "\n"
    if name == "printf" and len(command.words) > 1:
        texts = [word.text for word in command.words[1:]]
        return None if join_known(command.words) is None else format_printf(texts)
    if name in ("rev", "tac") and command.stdin.text is not None and not _operands(command):
        lines = command.stdin.text.split("\n")
        return "\n".join(line[::-1] for line in lines) if name == "rev" else "\n".join(reversed(lines))
    return _decode_known(command)


def _path_output(command: SimpleCommand) -> str | None:
    """The path that a path command prints for its operand; for a search the folder it starts from."""
    plain = _operands(command)
    if not plain or join_known(command.words[1:]) is None:
        return None
    first = plain[0]
    match command.program:
        case "dirname":
            return posixpath.dirname(first.rstrip("/")) or "/"
        case "basename":
            return posixpath.basename(first.rstrip("/"))
        case "find" | "ls" | "fd":
            narrowed = any("name" in argument or "path" in argument for argument in command.arguments)
            return None if narrowed else first
        case _:
            return posixpath.normpath(posixpath.join(command.likely_cwd, first))


def _decode_known(command: SimpleCommand) -> str | None:
    """The known text that base64 or xxd decodes: a guess, good enough to deny by."""
    text = command.stdin.text
    if text is None or len(text) > 20_000 or command.program not in ("base64", "xxd"):
        return None
    if not _decodes(command):
        return None
    try:
        plain = base64.b64decode(text) if command.program == "base64" else bytes.fromhex(text.strip())
    except (binascii.Error, ValueError):
        return None
    return plain.decode("utf-8", "replace").replace("\0", "")


def format_printf(texts: list[str]) -> str:
    form, rest = (texts[0], texts[1:]) if texts[0] != "--" else ("".join(texts[1:2]), texts[2:])
    out = _unescape(form, True)
    for word in rest:
        out = out.replace("%s", word, 1).replace("%b", _unescape(word, True), 1) if "%" in out else out
    return out.replace("%%", "%")


def _unescape(text: str, escapes: bool) -> str:
    return unquote_ansi(text) if escapes and "\\" in text else text


def _operands(command: SimpleCommand) -> list[str]:
    return [argument for argument in command.arguments if not argument.startswith("-")]


def apply_effects(reading: LineReading, command: SimpleCommand, scope: ShellScope) -> None:
    """Record what a command changes for later ones: the folder, variables, arguments and written files."""
    name, words = command.program, command.words[1:]
    if name in ("cd", "pushd"):
        operands = [word for word in words if not (word.guess.startswith("-") and len(word.guess) > 1)]
        scope.move(resolve_cd_target(operands[0], scope) if operands else scope.home)
    elif name == "popd":
        scope.move(None)
    elif name == "set" and any(word.guess == "--" or not word.guess.startswith(("-", "+")) for word in words):
        scope.arguments = tuple(word for word in words if word.guess != "--")
    elif name in VARIABLE_SETTERS:
        targets = words if name != "printf" else words[1:2] if words[:1] and words[0].guess == "-v" else ()
        for word in targets:
            text = (command.stdin.text or "").strip() if name in ("read", "mapfile", "readarray") else ""
            if name == "printf" and words[2:]:
                text = format_printf([word.text for word in words[2:]]) or ""
            scope.variables[word.guess] = ShellWord(text or UNKNOWN, False, command.stdin.taints)
        if name == "shift" and scope.arguments is not None:
            scope.arguments = scope.arguments[1:]
    if name in FILE_WRITERS:
        for at in range(len(words)):
            if path := _written_file(name, words, at):
                taints = trace_output(replace(command, redirects=())).taints
                taints |= _source_taints(reading, command, scope)
                reading.files[resolve_operand(path, scope)] = DataFlow(taints, command.stdin.text)


def _source_taints(reading: LineReading, command: SimpleCommand, scope: ShellScope) -> frozenset[str]:
    flows = (reading.files.get(resolve_operand(argument, scope)) for argument in _operands(command))
    return frozenset().union(*(flow.taints for flow in flows if flow))


def _written_file(name: str, words: tuple[ShellWord, ...], at: int) -> str:
    """The file to write that word `at` of a fetching or copying command names, or an empty string."""
    text = words[at].guess
    before = words[at - 1].guess if at else ""
    if name in ("curl", "wget", "aria2c", "fetch") and re.match(r"[a-z]+://|www\.|[\w.-]+\.\w+/", text):
        return text.rstrip("/").split("?")[0].rpartition("/")[2]
    if re.fullmatch(r"--output|--output-document|-out|-[a-zA-Z]*[oO]", before):
        return text
    if text.startswith(("--output=", "--output-document=", "of=")):
        return text.partition("=")[2]
    if name in ("curl", "wget") and re.match(r"-[oO][^-]", text):
        return text[2:]
    return text if name in ("tee", "cp", "mv", "scp") and not text.startswith("-") else ""


def resolve_cd_target(word: ShellWord, scope: ShellScope) -> str | None:
    """The folder after `cd word`, None where it is not known; then only the likely folder moves."""
    text = word.guess
    is_known = not word.is_partly_unknown and text != "-"
    if not is_known or word.literal is None:
        if text.startswith("/") or is_known:
            scope.likely_cwd = posixpath.normpath(posixpath.join(scope.likely_cwd, text))
        return None
    if not text.startswith("/") and scope.cwd is None:
        scope.likely_cwd = posixpath.normpath(posixpath.join(scope.likely_cwd, text))
        return None
    return posixpath.normpath(posixpath.join(scope.cwd or "/", text))


def resolve_operand(text: str, scope: ShellScope) -> str:
    """An operand as an absolute path, seen from the likely folder."""
    return posixpath.normpath(posixpath.join(scope.likely_cwd, text))


def names_descriptor(source: bytes, at: int) -> bool:
    """Whether the redirection at byte `at` is `{name}>file`: bash stores the number of the descriptor in a
    variable, which may be `PATH`."""
    return re.search(rb"\{[A-Za-z_][^\s{}]*\}$", source[max(0, at - 200) : max(0, at)]) is not None


def parse_redirect(expander: "WordExpander", node: "Node", scope: ShellScope) -> Redirection:
    """One `> file`, `2>&1`, `< file`."""
    target = node.child_by_field_name("destination")
    tokens = (node_text(child) for child in node.children if not child.is_named or child.type == "ERROR")
    operator = "".join(tokens).replace("\\", "").strip() or ">"
    if target is None:
        return Redirection(operator.rstrip("-"), ShellWord("-"))
    return Redirection(operator, expander.expand_single(target, scope))


def words_after_target(expander: "WordExpander", redirect: "Node", scope: ShellScope) -> list[ShellWord]:
    """The words after a redirection's file: they belong to the command, but the grammar puts them here."""
    targets = redirect.children_by_field_name("destination")
    return [word for child in targets[1:] for word in expander.expand(child, scope)]


def read_heredoc(
    expander: "WordExpander", node: "Node", scope: ShellScope
) -> "tuple[DataFlow, list[Redirection], list[Node]]":
    """The text of a here-document, further redirections on its line, and the statements after them."""
    start = next((node_text(child) for child in node.named_children if child.type == "heredoc_start"), "")
    text, taints = "", frozenset[str]()
    redirects: list[Redirection] = []
    following: list[Node] = []
    for child in node.named_children:
        if child.type == "heredoc_body":
            if re.search(r"['\"\\]", start):
                text += node_text(child)
            else:
                body = expander.expand_heredoc(child, scope)
                text, taints = text + body.text, taints | body.taints
        elif child.type == "file_redirect":
            redirects.append(parse_redirect(expander, child, scope))
        elif child.type not in ("heredoc_start", "heredoc_end", "file_descriptor"):
            following.append(child)
    return DataFlow(taints, text, True), redirects, following


def read_herestring(expander: "WordExpander", node: "Node", scope: ShellScope) -> DataFlow:
    words = [
        expander.expand_single(child, scope) for child in node.named_children if child.type in WORD_NODES
    ]
    text = "".join(word.text for word in words)
    return DataFlow(frozenset().union(*(word.taints for word in words)), text + "\n", True)


def read_file(reading: LineReading, target: ShellWord, scope: ShellScope) -> DataFlow:
    """The content of a file, known if an earlier command of the line wrote it."""
    known = reading.files.get(resolve_operand(target.guess, scope))
    return DataFlow(known.taints, known.text, True) if known else DataFlow(target.taints, None, True)


def record_writes(
    reading: LineReading, redirects: Sequence[Redirection], flow: DataFlow, scope: ShellScope
) -> None:
    """Record what redirections write, so that a later command that runs the file is judged by it."""
    for redirect in redirects:
        if not redirect.writes:
            continue
        known = reading.files.get(redirect.target.guess)
        if known is not None and known.piped and flow.taints:
            stdin = DataFlow(flow.taints, flow.text, True)
            reading.emit(SimpleCommand("> >( )", (ShellWord("sh"),), stdin=stdin, likely_cwd="/"))
        reading.files[resolve_operand(redirect.target.guess, scope)] = DataFlow(flow.taints, flow.text)
