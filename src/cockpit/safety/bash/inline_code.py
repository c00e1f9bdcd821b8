"""Code in other languages on the command line. Code that plainly must not run is denied by what it names."""

import re
from collections.abc import Iterator

from cockpit.safety.bash.command_model import ShellWord, SimpleCommand, unquote_ansi
from cockpit.safety.bash.locations import explain_tree_loss, locate
from cockpit.safety.findings import SafetyFinding, ask, deny
from cockpit.safety.values import ExecutionContext
from cockpit.workspace.word_set import word_set

LANGUAGES = re.compile(
    r"(python|pypy|perl|ruby|node|nodejs|php|lua|luajit|Rscript|osascript|deno|bun|tclsh|pwsh|"
    r"powershell|groovy|elixir|julia|awk|gawk|mawk|nawk|vim|vi|nvim|ex|emacs|gdb|sqlite3|sed|gsed)[\d.]*"
)
STRING_LITERALS = re.compile(
    r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|`([^`]*)`|q[qxw]?[{(/]([^})/]*)[})/]""", re.S
)
SHELL_CALLS = re.compile(
    r"system|popen|exec|spawn|subprocess|call|run|`|qx|shell|Popen|os\.|check_output|do shell "
    r"script|!|getline|\|"
)
SOCKET_CALLS = re.compile(
    r"socket|TCPSocket|fsockopen|IO::Socket|net\.(connect|Socket|createConnection)|/inet/|Deno\.connect|['\"](net|tls|dgram)['\"]\)"
)
SHELL_TIES = re.compile(
    r"dup2|subprocess|exec|spawn|system|/bin/(ba)?sh|pty|proc_open|popen|fdopen|STDIN|stdin"
)
FETCH_CALLS = re.compile(
    r"urlopen|urllib|requests\.|http\.client|httpx|LWP|Net::HTTP|open-uri|fetch\(|"
    r"file_get_contents\(['\"]http|"
    r"require\(['\"]https?|URI\.|wget|curl|XMLHttp|HTTP::Tiny"
)
RUN_CALLS = re.compile(
    r"\b(exec|eval|compile|system|instance_eval|class_eval|Function|vm\.run|loads|include|"
    r"__import__)\b\s*\(?|\bsh\b"
)
DECODE_CALLS = re.compile(
    r"b64decode|base64|decode64|atob|fromhex|unhexlify|pack\(|Buffer\.from|codecs|zlib|gzip|rot13|"
    r"marshal|chr\("
)
REMOVE_CALLS = re.compile(
    r"rmtree|remove_tree|rm_rf|rmSync|rmdir|FileUtils|unlink|os\.remove|removeSync|rimraf|delete|\brm\b|"
    r"removedirs|chmod|chown|rename|truncate"
)
WRITE_CALLS = re.compile(
    r"""open\([^)]*,\s*['"](w|a|x|r\+|wb|ab)|write_text|write_bytes|writeFile|appendFile|File\.write|>>?\s*['"/~]|"""
    r"""fopen\([^)]*['"][wa]|file_put_contents|copyfile|shutil\.(copy|move)|symlink|os\.link|print\s*>"""
)
DECODED_RUN_CALLS = re.compile(r"\b(exec|eval|system|popen|subprocess|spawn|Function|loads)\b")
WRITE_DENIED_KINDS = word_set("protected persist own origin system device")
FORK_LOOPS = re.compile(
    r"(while|for|until|loop).{0,60}\bfork\b|\bfork\b.{0,30}(while|until|for)|:\(\)\{", re.S
)
KILL_CALLS = re.compile(r"reboot|poweroff|shutdown|os\.kill\(-?1\b|kill\s*\(?-?9?,?\s*-1")


def check_inline_code(
    command: SimpleCommand, context: ExecutionContext
) -> tuple[list[SafetyFinding], list[str]]:
    """The findings on inline code, and the texts in it that may be given to a shell."""
    if not LANGUAGES.fullmatch(command.program):
        return [], []
    text = "\n".join(word.guess for word in command.words[1:] if not word.guess.startswith("--"))
    if command.stdin.text and len(command.words) < 3:
        text += "\n" + command.stdin.text
    if len(text) > 20_000:
        return [ask("code.long", "its code is too long to check", "code.exec", "shell.opaque", risk=70)], []
    strings = _strings(text)
    paths = (_check_named_path(literal, text, command, context) for literal in strings)
    findings = [*_check_patterns(text, command.program), *filter(None, paths)]
    calls_shell = SHELL_CALLS.search(text) is not None
    shelled = [literal for literal in strings if calls_shell and (" " in literal or "/" in literal)]
    if command.program in ("sed", "gsed"):
        shelled += re.findall(r"(?:^|[;\n\d$/{!])\s*e\s+([^\n;]+)", text)
    if calls_shell:
        shelled.append(" ".join(literal for literal in strings if literal and "\n" not in literal))
        shelled += re.findall(r"(?:system|exec|spawn|qx|`|:?!|shell)\s*\(?\s*([^;\n]{2,200})", text)
    return findings, shelled


def _strings(text: str) -> list[str]:
    out = []
    for groups in STRING_LITERALS.findall(text):
        if literal := "".join(groups):
            out.append(unquote_ansi(literal) if "\\" in literal else literal)
            out += ["".join(inner) for inner in STRING_LITERALS.findall(literal)]
    return out[:64]


def _check_patterns(text: str, program: str) -> Iterator[SafetyFinding]:
    if (
        SOCKET_CALLS.search(text)
        and SHELL_TIES.search(re.sub(r"import [^;\n]*", "", text))
        and re.search(r"dup2|/bin/|exec|spawn|popen|pty|system|sh\b", text)
    ):
        reason = "its code connects a shell to the network"
        yield deny("net.reverse-shell", reason, "net.egress", "code.remote", risk=100)
    if FETCH_CALLS.search(text) and RUN_CALLS.search(text) and program not in ("awk", "sed"):
        yield deny(
            "code.remote", "its code runs what it fetches from the network", "code.remote", "net.egress"
        )
    elif DECODE_CALLS.search(text) and DECODED_RUN_CALLS.search(text):
        yield deny("code.decoded", "its code runs a text that cannot be read", "code.remote")
    if FORK_LOOPS.search(text):
        yield deny("fork-bomb", "its code starts processes endlessly", "host.mutate")
    if KILL_CALLS.search(text) and SHELL_CALLS.search(text):
        yield deny("host.power", "its code stops the machine or all processes", "host.mutate")


def _check_named_path(
    literal: str, text: str, command: SimpleCommand, context: ExecutionContext
) -> SafetyFinding | None:
    if not re.match(r"[~/.$]|\w:|id_", literal) or "\n" in literal or len(literal) > 300:
        return None
    path = literal.replace("$HOME", context.home).replace("$ENV{HOME}", context.home)
    word = ShellWord(context.home + path[1:] if path.startswith("~") else path)
    location = locate(word, command.cwd, command.likely_cwd, context)
    removes = REMOVE_CALLS.search(text)
    if removes and (loss := explain_tree_loss(word, command.cwd, command.likely_cwd, context)):
        reason = f"its code deletes or changes a whole tree: {loss}"
        return deny("destroy.tree", reason, "fs.delete", risk=100)
    if location.kind in ("secret", "process"):
        return deny("read.secret", f"its code names {literal}: {location.reason}", "secret.read")
    if location.kind in WRITE_DENIED_KINDS and (removes or WRITE_CALLS.search(text)):
        reason = f"its code writes {literal}: {location.reason}"
        return deny("write.protected", reason, "persist", "fs.write")
    if location.kind == "project secret" and FETCH_CALLS.search(text):
        reason = f"its code reads {literal} and talks to the network"
        return deny("secret.sent", reason, "secret.read", "net.egress")
    return None
