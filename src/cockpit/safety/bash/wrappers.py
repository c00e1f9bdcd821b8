"""Programs that run other commands: which options precede the command, and how to extract it.

A wrapper never makes a verdict milder.
"""

import re
from dataclasses import dataclass, replace
from itertools import dropwhile, pairwise, takewhile

from cockpit.safety.bash.command_model import UNKNOWN, ShellWord, SimpleCommand
from cockpit.workspace.word_set import word_set

SHELLS = word_set("sh bash dash zsh ksh mksh ash fish rbash csh tcsh yash")
# Per program: options that take the next word, and the number of operands before the command. Long options
# with `=` take no further word.
PREFIX: dict[str, tuple[str, int]] = {
    "sudo": (
        "-u -g -h -p -C -r -t -T -U -D -R --user --group --host --prompt --chdir --role --type --chroot",
        0,
    ),
    "doas": ("-u -C -a", 0),
    "pkexec": ("--user", 0),
    "env": ("-u -C --unset --chdir", 0),
    "nice": ("-n --adjustment", 0),
    "ionice": ("-c -n -P -u --class --classdata", 0),
    "chrt": ("-T -P -D", 1),
    "timeout": ("-s -k --signal --kill-after", 1),
    "gtimeout": ("-s -k --signal --kill-after", 1),
    "stdbuf": ("-i -o -e --input --output --error", 0),
    "time": ("-f -o --format --output", 0),
    "exec": ("-a", 0),
    "xargs": (
        "-I -n -P -L -d -s -E -a --max-args --max-procs --max-lines --delimiter --arg-file --replace",
        0,
    ),
    "watch": ("-n --interval", 0),
    "flock": ("-w -E --timeout --conflict-exit-code", 1),
    "strace": ("-e -o -p -s -u -E -a -I -O -S -P -b -X", 0),
    "ltrace": ("-e -o -p -s -u -a -l -x -n", 0),
    "unshare": ("-S -G --root --wd --setuid --setgid", 0),
    "nsenter": ("-t -S -G --target --setuid --setgid", 0),
    "setpriv": ("--reuid --regid", 0),
    "prlimit": ("-p --pid", 0),
    "fakeroot": ("-l -s -i -b", 0),
    "caffeinate": ("-t -w", 0),
    "proxychains": ("-f", 0),
    "proxychains4": ("-f", 0),
    "systemd-run": ("-u -p -E -H -M --unit --property --setenv --uid --gid", 0),
    "runuser": ("-u -g", 0),
    "xvfb-run": ("-n -s -e -f", 0),
    "ld.so": ("--library-path --preload", 0),
    **dict.fromkeys(("gosu", "su-exec", "taskset", "chroot"), ("", 1)),
    **dict.fromkeys(
        word_set(
            "nohup setsid unbuffer command builtin coproc noglob nocorrect busybox toybox numactl torsocks "
            "valgrind firejail dbus-run-session catchsegv ccache then do !"
        ),
        ("", 0),
    ),
}
RUNNERS = {
    *((name, "run") for name in ("uv", "poetry", "pipenv", "hatch", "pdm", "rye", "conda")),
    *((name, "exec") for name in ("bundle", "pnpm", "npm", "mise", "direnv")),
    *(("perf", "stat"), ("perf", "record"), ("xcrun", "--")),
}
# Wrappers without effects of their own: as harmless as the command they run.
TRANSPARENT = word_set("time command builtin nice timeout stdbuf ionice")
GIT_RUNNING_SETTINGS = re.compile(
    r"alias\.|editor|pager|sshcommand|fsmonitor|\.(cmd|command|clean|smudge|process)|external"
)
SSH_VALUES = word_set("-i -p -l -o -F -J -L -R -D -b -c -E -e -I -m -O -Q -S -W -w -B")
SCRIPT_OPTIONS = {
    "su": ("-c", "--command", "--session-command"),
    "runuser": ("-c", "--command"),
    "sg": ("-c",),
    "script": ("-c", "--command"),
    "flock": ("-c", "--command"),
    "nix-shell": ("--run", "--command"),
    "tar": ("--to-command", "--use-compress-program", "--info-script", "--rsh-command", "-I", "-F"),
    "rsync": ("-e", "--rsh"),
    "man": ("-P", "--pager"),
    "git": (
        *("--exec", "-x", "--tree-filter", "--index-filter", "--env-filter", "--msg-filter"),
        *("--ext-cmd", "--extcmd", "--upload-pack", "--receive-pack"),
    ),
    "hyperfine": ("--prepare", "--setup", "--cleanup"),
    "screen": ("-X",),
    "fzf": ("--preview",),
    "rg": ("--pre",),
    "sort": ("--compress-program",),
    "zip": ("-TT", "--unzip-command"),
    "scp": ("-S",),
    "ssh": ("-oProxyCommand",),
    "split": ("--filter",),
    "npx": ("-c", "--call"),
    "npm": ("-c", "--call"),
    "pnpm": ("-c",),
    "ncat": ("-c", "-e", "--exec", "--sh-exec"),
    "nc": ("-c", "-e"),
    "netcat": ("-c", "-e"),
}


@dataclass(frozen=True, slots=True)
class InnerCommand:
    """A command inside another: its words, or a script in one word. `cwd` is the folder the wrapper changes
    to."""

    words: tuple[ShellWord, ...] = ()
    script: ShellWord | None = None
    cwd: ShellWord | None = None
    arguments: tuple[ShellWord, ...] = ()
    assignments: tuple[tuple[str, ShellWord], ...] = ()


def find_inner_commands(command: SimpleCommand) -> list[InnerCommand]:
    """The commands that `command` runs besides itself, as far as its words tell."""
    name = command.program
    if not name or len(command.words) < 2:
        return []
    if name.startswith(("ld-linux", "ld-musl")):
        name = "ld.so"
    words = command.words[1:]
    result = [InnerCommand(script=word) for word in _script_options(name, words)]
    if name in SHELLS:
        result += _shell(command.words)
    elif name == "eval":
        taints = frozenset().union(*(word.taints for word in words))
        text = " ".join(word.text for word in words)
        result.append(InnerCommand(script=ShellWord(text, all(word.sure for word in words), taints)))
    elif name in ("trap", "watch", "hyperfine"):
        result += [InnerCommand(script=word) for word in words[:1] if not word.guess.startswith("-")]
    elif name == "alias":
        result += [_guessed_script(word.text.partition("=")[2]) for word in words]
    elif name == "ssh":
        result += _ssh(command.words)
    elif name in ("find", "gfind", "fd", "fdfind"):
        result += _find(command)
    elif name == "git":
        result += _git(command.words)
    elif name == "parallel":
        result += _parallel(words)
    elif name in ("tmux", "screen", "xterm", "gnome-terminal", "expect", "at", "batch"):
        result.append(
            _guessed_script(" ".join(word.text for word in words if not word.guess.startswith("-")))
        )
        result += [InnerCommand(script=word) for word in words if " " in word.guess]
    if name in PREFIX and not (name == "command" and words[0].guess in ("-v", "-V")):
        result += _prefix(name, command)
    elif (name, words[0].guess) in RUNNERS:
        result.append(InnerCommand(tuple(dropwhile(lambda word: word.guess.startswith("-"), words[1:]))))
    return [inner for inner in result if inner.script is not None or inner.words]


def _guessed_script(text: str) -> InnerCommand:
    return InnerCommand(script=ShellWord(text, False))


def _script_options(name: str, words: tuple[ShellWord, ...]) -> list[ShellWord]:
    names = SCRIPT_OPTIONS.get(name, ())
    long_names = tuple(f"{option}=" for option in names if option.startswith("--"))
    inner = []
    for at, word in enumerate(words):
        text = word.guess
        # In a bundle such as `script -qc` or `su -lc`, the last letter takes the script.
        bundled = "-c" in names and re.fullmatch(r"-[a-zA-Z]+c", text) is not None
        if (text in names or bundled) and at + 1 < len(words):
            inner.append(words[at + 1])
            continue
        if text.startswith(long_names):
            script = text.partition("=")[2]
        elif name == "tar" and text.startswith("--checkpoint-action=exec="):
            script = text.split("=", 2)[2]
        elif "ProxyCommand" in text and name in ("ssh", "scp", "sftp"):
            script = re.split(r"ProxyCommand[= ]", text)[-1]
        elif name == "socat" and re.match(r"(?i)(exec|system):", text):
            script = text.partition(":")[2].split(",")[0].strip("'\"")
        else:
            continue
        inner.append(ShellWord(script, word.sure, word.taints))
    return inner


def _prefix(name: str, command: SimpleCommand) -> list[InnerCommand]:
    valued, count = PREFIX[name]
    takes = frozenset(valued.split())
    words, at, cwd = command.words, 1, None
    assigned: list[tuple[str, ShellWord]] = []
    while at < len(words):
        text = words[at].guess
        if text == "--":
            at += 1
            continue
        if name == "env" and (text in ("-S", "--split-string") or text.startswith(("-S", "--split-string="))):
            rest = words[at + 1 :] if text in ("-S", "--split-string") else words[at:]
            line = " ".join(word.text for word in rest)
            cut = line.removeprefix("--split-string=") if line.startswith("--") else line.removeprefix("-S")
            return [replace(_guessed_script(cut), cwd=cwd)]
        if text.startswith("-") and len(text) > 1:
            if text in takes:
                cwd = words[at + 1] if text in ("-C", "-D", "--chdir") and at + 1 < len(words) else cwd
                at += 1
            elif text.startswith("--chdir="):
                cwd = ShellWord(text[8:], words[at].sure)
            at += 1
            continue
        if name in ("env", "sudo", "doas") and re.match(r"[A-Za-z_]\w*=", text):
            left, _, right = words[at].text.partition("=")
            assigned.append((left, ShellWord(right, words[at].sure)))
            at += 1
            continue
        break
    rest = words[at + count :]
    if name == "xargs":
        fed = (command.stdin.text or UNKNOWN).strip()
        if any("{}" in word.text for word in rest):
            rest = tuple(_fill(word, fed, command.stdin.taints) for word in rest)
        else:
            rest = (*rest, ShellWord(fed, False, command.stdin.taints))
    return [InnerCommand(rest, cwd=cwd, assignments=tuple(assigned))] if rest else []


def _fill(word: ShellWord, value: str, taints: frozenset[str] = frozenset()) -> ShellWord:
    if "{}" not in word.text:
        return word
    return ShellWord(word.text.replace("{}", value), False, word.taints | taints)


def _shell(words: tuple[ShellWord, ...]) -> list[InnerCommand]:
    for at, word in enumerate(words[1:], 1):
        text = word.guess
        if re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", text) or text == "--command":
            rest = [word for word in words[at + 1 :] if not word.guess.startswith(("-", "+"))]
            return [InnerCommand(script=rest[0], arguments=tuple(rest[2:]))] if rest else []
        takes_word = words[at - 1].guess in ("-o", "-O", "--rcfile", "--init-file")
        if not text.startswith(("-", "+")) and not takes_word:
            return []
    return []


def _ssh(words: tuple[ShellWord, ...]) -> list[InnerCommand]:
    at = 1
    while at < len(words) and words[at].guess.startswith("-"):
        at += 2 if words[at].guess in SSH_VALUES else 1
    rest = words[at + 1 :]
    return [_guessed_script(" ".join(word.text for word in rest))] if rest else []


def _find(command: SimpleCommand) -> list[InnerCommand]:
    """Each -exec of find and -x of fd. `{}` stands for the starting folders and the searched names."""
    starts = command.search_starts()
    searched = [
        following.text
        for word, following in pairwise(command.words)
        if word.guess in ("-name", "-iname", "-path", "-wholename")
    ]
    base = (starts or [ShellWord(".")])[0].text.rstrip("/") or "/"
    paths = [f"{base.rstrip('/')}/{text.lstrip('*')}" for text in searched] or [base]
    filled = [ShellWord(path, False) for path in paths]
    result = []
    for at, word in enumerate(command.words):
        if word.guess not in ("-exec", "-execdir", "-ok", "-okdir", "-x", "--exec", "-X", "--exec-batch"):
            continue
        inner: list[ShellWord] = []
        for argument in takewhile(lambda word: word.guess not in (";", "+"), command.words[at + 1 :]):
            inner += filled if argument.guess == "{}" else [replace(_fill(argument, paths[0]), span=None)]
        result.append(InnerCommand(tuple(inner)))
    return result


def _git(words: tuple[ShellWord, ...]) -> list[InnerCommand]:
    inner = []
    texts = [word.guess for word in words]
    for at, text in enumerate(texts):
        key, _, value = text.partition("=")
        is_setting = at and value and texts[at - 1] in ("-c", "--config-env")
        if is_setting and GIT_RUNNING_SETTINGS.search(key.lower()):
            inner.append(_guessed_script(value.lstrip("!")))
    if "foreach" in texts:
        rest = [word for word in words[texts.index("foreach") + 1 :] if word.guess != "--recursive"]
        inner.append(_guessed_script(" ".join(word.text for word in rest)))
    if "bisect" in texts and "run" in texts:
        inner.append(InnerCommand(words[texts.index("run") + 1 :]))
    if "config" in texts:
        inner += [_guessed_script(word.text.lstrip("!")) for word in words if word.guess.startswith("!")]
    return inner


def _parallel(words: tuple[ShellWord, ...]) -> list[InnerCommand]:
    rest = list(words)
    while rest and rest[0].guess.startswith("-"):
        rest = rest[2:] if rest[0].guess in ("-j", "-n", "-N", "--jobs", "-S") else rest[1:]
    texts = [word.guess for word in rest]
    cut = next((at for at, text in enumerate(texts) if text.startswith(":::")), len(rest))
    operands = [word for word in rest[cut + 1 :] if not word.guess.startswith(":::")]
    if not cut:
        return [InnerCommand(script=word) for word in operands]
    line = " ".join(word.text for word in rest[:cut])
    values = operands or [ShellWord(UNKNOWN, False)]
    script = _guessed_script(line.replace("{}", " ".join(value.text for value in values)))
    return [script] if "{}" in line else [script, InnerCommand((*rest[:cut], *values))]
