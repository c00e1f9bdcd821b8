"""What a command writes to its output: from the network, decoded, secret, or a text that is known.

What a command changes for those behind it: the folder, variables, the files it wrote.

Redirections and here-documents in the walk: what they feed a command and what it writes, hung on the
command that bash gives them to.
"""

import posixpath
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from cockpit.safety.bash.command_model import (
    NO_OUTPUT,
    UNKNOWN,
    UNKNOWN_HARMLESS,
    WORD_NODES,
    DataFlow,
    Redirection,
    ShellScope,
    ShellWord,
    SimpleCommand,
    join_known,
)
from cockpit.safety.bash.wrappers import SHELLS
from cockpit.workspace.word_set import word_set

if TYPE_CHECKING:
    from tree_sitter import Node

    from cockpit.safety.bash.line_walker import LineWalker


FETCHERS = word_set(
    """
    curl wget fetch aria2c http https xh lynx links w3m elinks nc ncat netcat socat telnet ftp tftp lftp
    scp sftp rsync ssh openssl dig host nslookup ipfs curlie axel GET lwp-request
    """
)
DECODERS = word_set(
    """
    base64 base32 basenc xxd uudecode gunzip zcat gzip bunzip2 bzcat unxz xzcat zstdcat rev tr openssl
    gpg age uncompress lz4 brotli od printf awk sed perl python python3 ruby node php hexdump iconv unzip
    tar cut ascii2uni dc bc xz zstd bzip2 m4 envsubst jq
    """
)
# Their plain use only filters; only what is written behind a pipe may hide a command.
PLAIN_FILTERS = word_set(
    """
    awk sed cut jq bc dc envsubst m4 tar unzip node php ruby perl python python3
    """
)
SILENT_COMMANDS = word_set(
    """
    cd pushd popd true false test [ export set unset mkdir touch rm cp mv chmod sleep exit return wait
    shift local readonly declare typeset trap umask
    """
)
ENVIRONMENT_PRINTERS = word_set("env printenv set export declare")


def trace_output(command: SimpleCommand) -> DataFlow:
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
    if name in ("env", "printenv", "history") or (name in ENVIRONMENT_PRINTERS and len(command.words) < 2):
        taints.add("secret")
    return DataFlow(frozenset(taints), _known_output(command), False)


def reads_stdin(command: SimpleCommand) -> bool:
    return command.program not in ("echo", "printf", "ls", "date", "pwd")


def _decodes(command: SimpleCommand) -> bool:
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


def _known_output(command: SimpleCommand) -> str | None:
    """The text itself, for commands that only say what they are given."""
    name = command.program
    if name == "pwd":
        return command.near + "\n"
    if name in ("dirname", "basename", "realpath", "readlink", "find", "ls", "fd"):
        return _path_output(command)
    if name in SILENT_COMMANDS or not command.words:
        return NO_OUTPUT.text
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
        text = join_known(words)
        return None if text is None else _unescape(text, escapes) + "\n"
    if name == "printf" and len(command.words) > 1:
        return (
            format_printf([word.text for word in command.words[1:]])
            if join_known(command.words) is not None
            else None
        )
    if name in ("rev", "tac") and command.stdin.text is not None and not _operands(command):
        lines = command.stdin.text.split("\n")
        return "\n".join(line[::-1] for line in lines) if name == "rev" else "\n".join(reversed(lines))
    return _decode_known(command)


def _path_output(command: SimpleCommand) -> str | None:
    """The path that comes out of one that goes in; of a search what it starts from."""
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
            return None if any("name" in one or "path" in one for one in command.arguments) else first
        case _:
            return posixpath.normpath(posixpath.join(command.near, first))


def _decode_known(command: SimpleCommand) -> str | None:
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


def format_printf(texts: list[str]) -> str:
    form, rest = (texts[0], texts[1:]) if texts[0] != "--" else ("".join(texts[1:2]), texts[2:])
    out = _unescape(form, True)
    for one in rest:
        out = out.replace("%s", one, 1).replace("%b", _unescape(one, True), 1) if "%" in out else out
    return out.replace("%%", "%")


def _unescape(text: str, escapes: bool) -> str:
    from cockpit.safety.bash.command_model import unquote_ansi

    return unquote_ansi(text) if escapes and "\\" in text else text


def _operands(command: SimpleCommand) -> list[str]:
    return [one for one in command.arguments if not one.startswith("-")]


def apply_effects(walk: "LineWalker", made: SimpleCommand, scope: ShellScope) -> None:
    """What a builtin changes for the commands behind it."""
    name, words = made.program, made.words[1:]
    if name in ("cd", "pushd"):
        operands = [word for word in words if not (word.guess.startswith("-") and len(word.guess) > 1)]
        scope.move(resolve_cd_target(operands[0], scope) if operands else walk.reading.ground.home)
    elif name == "popd":
        scope.move(None)
    elif name == "set" and any(word.guess == "--" or not word.guess.startswith(("-", "+")) for word in words):
        scope.arguments = tuple(word for word in words if word.guess != "--")
    elif name in ("read", "mapfile", "readarray", "getopts", "select", "printf", "unset", "shift", "let"):
        chosen = words if name != "printf" else words[1:2] if words[:1] and words[0].guess == "-v" else ()
        for word in chosen:
            taints = made.stdin.taints
            text = (made.stdin.text or "").strip() if name in ("read", "mapfile", "readarray") else ""
            if name == "printf" and words[2:]:
                text = format_printf([word.text for word in words[2:]]) or ""
            scope.names[word.guess] = ShellWord(text or UNKNOWN, False, taints)
        if name == "shift" and scope.arguments is not None:
            scope.arguments = scope.arguments[1:]
    for at in range(len(words)):
        if name in (
            "curl",
            "wget",
            "tee",
            "aria2c",
            "base64",
            "xxd",
            "openssl",
            "dd",
            "cp",
            "mv",
            "fetch",
            "scp",
        ):
            path = _written_file(name, words, at)
            if path:
                source = trace_output(replace(made, redirects=())).taints | _source_taints(walk, made, scope)
                walk.reading.files[resolve_operand(path, scope)] = DataFlow(source, made.stdin.text)


def _source_taints(walk: "LineWalker", made: SimpleCommand, scope: ShellScope) -> frozenset[str]:
    found = [
        walk.reading.files.get(resolve_operand(one, scope))
        for one in made.arguments
        if not one.startswith("-")
    ]
    return frozenset().union(*(one.taints for one in found if one))


def _written_file(name: str, words: tuple[ShellWord, ...], at: int) -> str:
    """The file that word `at` of a fetching or copying command names, or ""."""
    text = words[at].guess
    before = words[at - 1].guess if at else ""
    if name in ("curl", "wget", "aria2c", "fetch") and re.match(r"[a-z]+://|www\.|[\w.-]+\.\w+/", text):
        return text.rstrip("/").split("?")[0].rpartition("/")[2]
    if before in ("-o", "-O", "--output", "--output-document", "-out") or re.fullmatch(
        r"-[a-zA-Z]*[oO]", before
    ):
        return text
    if text.startswith(("--output=", "--output-document=", "of=")):
        return text.partition("=")[2]
    if name in ("curl", "wget") and re.match(r"-[oO][^-]", text):
        return text[2:]
    return text if name in ("tee", "cp", "mv", "scp") and not text.startswith("-") else ""


def resolve_cd_target(word: ShellWord, scope: ShellScope) -> str | None:
    text = word.guess
    if UNKNOWN in text or UNKNOWN_HARMLESS in text or text == "-" or not word.sure or word.literal is None:
        if text.startswith("/") or (UNKNOWN not in text and UNKNOWN_HARMLESS not in text and text != "-"):
            scope.near = posixpath.normpath(posixpath.join(scope.near, text))
        return None
    if not text.startswith("/") and scope.cwd is None:
        scope.near = posixpath.normpath(posixpath.join(scope.near, text))
        return None
    return posixpath.normpath(posixpath.join(scope.cwd or "/", text))


def resolve_operand(text: str, scope: ShellScope) -> str:
    """An operand as an absolute path, by the best guess of where the line stands."""
    return posixpath.normpath(posixpath.join(scope.near, text))


def walk_redirected(walk: "LineWalker", node: "Node", scope: ShellScope, stdin: DataFlow) -> DataFlow:
    """A statement with redirections."""
    body = node.child_by_field_name("body")
    hung = [child for child in node.named_children if body is None or child.id != body.id]
    last = body
    while last is not None and last.type in ("list", "pipeline", "negated_command"):
        last = last.named_children[-1]
    if body is not None and last is not None and last.id != body.id:
        # The grammar hangs them on all of `a && b > x`; bash gives them to b, where b runs.
        walk.hung[_node_key(last)] = (node, hung)
        return walk.statement(body, scope, stdin)
    return walk_with_redirects(walk, node, body, hung, scope, stdin)


def walk_deferred_redirects(
    walk: "LineWalker", node: "Node", scope: ShellScope, stdin: DataFlow
) -> DataFlow | None:
    """`node` with the redirections that the grammar hung on a list around it; None where there are none."""
    found = walk.hung.pop(_node_key(node), None) if walk.hung else None
    return walk_with_redirects(walk, found[0], node, found[1], scope, stdin) if found else None


def _node_key(node: "Node") -> tuple[int, int, int]:
    return (node.id, node.start_byte, node.end_byte)


def walk_with_redirects(
    walk: "LineWalker",
    node: "Node",
    body: "Node | None",
    hung: "list[Node]",
    scope: ShellScope,
    stdin: DataFlow,
) -> DataFlow:
    """`body` with what is `hung` on it; `node` is all of it."""
    from cockpit.safety.bash.simple_commands import emit_command, walk_command

    redirects: list[Redirection] = []
    behind: list[Node] = []
    words: list[ShellWord] = []
    whole = node.text or b""
    for child in hung:
        if names_descriptor(whole, child.start_byte - node.start_byte):
            walk.reading.note("descriptor", _redirect_text(node))
        if child.type == "heredoc_redirect":
            stdin = _read_heredoc(walk, child, scope, redirects, behind)
        elif child.type == "herestring_redirect":
            stdin = read_herestring(walk, child, scope)
        elif child.type == "file_redirect":
            redirects.append(parse_redirect(walk, child, scope))
            words += words_after_target(walk, child, scope)
    for item in redirects:
        if item.reads:
            stdin = _read_target(walk, item.target, scope)
    if body is not None and body.type == "command":
        flow = walk_command(walk, body, scope, stdin, tuple(redirects), words)
    else:
        if words:
            walk.reading.note("syntax", _redirect_text(node))
            walk.reading.unread.append(_redirect_text(node))
        emit_command(
            walk, SimpleCommand(_redirect_text(node), (), (), tuple(redirects), scope.cwd, scope.near, stdin)
        )
        flow = walk.statement(body, scope, stdin) if body is not None else NO_OUTPUT
        record_writes(walk, redirects, flow, scope)
    for child in behind:
        walk.statement(child, scope, DataFlow(flow.taints, flow.text, True))
    return flow


def names_descriptor(source: bytes, at: int) -> bool:
    """Whether the redirection at `at` is `{name}>file`: bash keeps the number of the file in a variable,
    which may be `PATH`."""
    return re.search(rb"\{[A-Za-z_][^\s{}]*\}$", source[max(0, at - 200) : max(0, at)]) is not None


def words_after_target(walk: "LineWalker", redirect: "Node", scope: ShellScope) -> list[ShellWord]:
    """What stands behind the file of a redirection: words of the command, which the grammar keeps there."""
    targets = redirect.children_by_field_name("destination")
    return [word for child in targets[1:] for word in walk.folder.fold(child, scope)]


def _read_heredoc(
    walk: "LineWalker", node: "Node", scope: ShellScope, redirects: list[Redirection], behind: "list[Node]"
) -> DataFlow:
    start = next(
        (_redirect_text(child) for child in node.named_children if child.type == "heredoc_start"), ""
    )
    text, taints = "", frozenset[str]()
    for child in node.named_children:
        if child.type == "heredoc_body":
            if re.search(r"['\"\\]", start):
                text += _redirect_text(child)
            else:
                piece = walk.folder.heredoc(child, scope)
                text, taints = text + piece.text, taints | piece.taints
        elif child.type == "file_redirect":
            redirects.append(parse_redirect(walk, child, scope))
        elif child.type not in ("heredoc_start", "heredoc_end", "file_descriptor"):
            behind.append(child)
    return DataFlow(taints, text, True)


def read_herestring(walk: "LineWalker", node: "Node", scope: ShellScope) -> DataFlow:
    pieces = [walk.folder.one(child, scope) for child in node.named_children if child.type in WORD_NODES]
    text = "".join(piece.text for piece in pieces)
    return DataFlow(frozenset().union(*(piece.taints for piece in pieces)), text + "\n", True)


def _read_target(walk: "LineWalker", target: ShellWord, scope: ShellScope) -> DataFlow:
    known = walk.reading.files.get(resolve_operand(target.guess, scope))
    return DataFlow(known.taints, known.text, True) if known else DataFlow(target.taints, None, True)


def walk_file_substitution(walk: "LineWalker", node: "Node", scope: ShellScope) -> DataFlow:
    """`$(<file)`."""
    from cockpit.safety.bash.simple_commands import emit_command

    item = parse_redirect(walk, node, scope)
    words = (ShellWord("cat"), item.target)
    emit_command(walk, SimpleCommand(_redirect_text(node), words, (), (), scope.cwd, scope.near, DataFlow()))
    known = _read_target(walk, item.target, scope)
    return DataFlow(known.taints | {"mild"}, known.text, True)


def record_writes(
    walk: "LineWalker",
    redirects: "list[Redirection] | tuple[Redirection, ...]",
    flow: DataFlow,
    scope: ShellScope,
) -> None:
    """What a redirection wrote, so that running it later in the line is judged by it."""
    from cockpit.safety.bash.simple_commands import emit_command

    for item in redirects:
        if item.writes:
            known = walk.reading.files.get(item.target.guess)
            if known is not None and known.piped and flow.taints:
                emit_command(
                    walk,
                    SimpleCommand(
                        "> >( )", (ShellWord("sh"),), stdin=DataFlow(flow.taints, flow.text, True), near="/"
                    ),
                )
            walk.reading.files[resolve_operand(item.target.guess, scope)] = DataFlow(flow.taints, flow.text)


def parse_redirect(walk: "LineWalker", node: "Node", scope: ShellScope) -> Redirection:
    """One `> file`, `2>&1`, `< file`."""
    target = node.child_by_field_name("destination")
    signs = "".join(
        _redirect_text(child) for child in node.children if not child.is_named or child.type == "ERROR"
    )
    operator = signs.replace("\\", "").strip() or ">"
    if target is None:
        return Redirection(operator.rstrip("-"), ShellWord("-"))
    return Redirection(operator, walk.folder.one(target, scope))


def _redirect_text(node: "Node") -> str:
    return (node.text or b"").decode("utf-8", "replace")
