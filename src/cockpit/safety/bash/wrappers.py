"""Programs that run other commands: which options precede the command, and how to extract it.

A wrapper never makes a verdict milder.
"""

import re
from dataclasses import dataclass

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
    "gosu": ("", 1),
    "su-exec": ("", 1),
    "env": ("-u -C --unset --chdir", 0),
    "nice": ("-n --adjustment", 0),
    "ionice": ("-c -n -P -u --class --classdata", 0),
    "chrt": ("-T -P -D", 1),
    "taskset": ("", 1),
    "timeout": ("-s -k --signal --kill-after", 1),
    "gtimeout": ("-s -k --signal --kill-after", 1),
    "nohup": ("", 0),
    "setsid": ("", 0),
    "stdbuf": ("-i -o -e --input --output --error", 0),
    "unbuffer": ("", 0),
    "time": ("-f -o --format --output", 0),
    "command": ("", 0),
    "builtin": ("", 0),
    "exec": ("-a", 0),
    "coproc": ("", 0),
    "noglob": ("", 0),
    "nocorrect": ("", 0),
    "xargs": (
        "-I -n -P -L -d -s -E -a --max-args --max-procs --max-lines --delimiter --arg-file --replace",
        0,
    ),
    "watch": ("-n --interval", 0),
    "flock": ("-w -E --timeout --conflict-exit-code", 1),
    "busybox": ("", 0),
    "toybox": ("", 0),
    "strace": ("-e -o -p -s -u -E -a -I -O -S -P -b -X", 0),
    "ltrace": ("-e -o -p -s -u -a -l -x -n", 0),
    "chroot": ("", 1),
    "unshare": ("-S -G --root --wd --setuid --setgid", 0),
    "nsenter": ("-t -S -G --target --setuid --setgid", 0),
    "setpriv": ("--reuid --regid", 0),
    "prlimit": ("-p --pid", 0),
    "numactl": ("", 0),
    "fakeroot": ("-l -s -i -b", 0),
    "caffeinate": ("-t -w", 0),
    "proxychains": ("-f", 0),
    "proxychains4": ("-f", 0),
    "torsocks": ("", 0),
    "valgrind": ("", 0),
    "systemd-run": ("-u -p -E -H -M --unit --property --setenv --uid --gid", 0),
    "runuser": ("-u -g", 0),
    "xvfb-run": ("-n -s -e -f", 0),
    "firejail": ("", 0),
    "dbus-run-session": ("", 0),
    "catchsegv": ("", 0),
    "ccache": ("", 0),
    "then": ("", 0),
    "do": ("", 0),
    "!": ("", 0),
    "ld.so": ("--library-path --preload", 0),
}
RUNNERS = {
    ("uv", "run"),
    ("poetry", "run"),
    ("pipenv", "run"),
    ("hatch", "run"),
    ("pdm", "run"),
    ("rye", "run"),
    ("bundle", "exec"),
    ("pnpm", "exec"),
    ("npm", "exec"),
    ("mise", "exec"),
    ("direnv", "exec"),
    ("conda", "run"),
    ("perf", "stat"),
    ("perf", "record"),
    ("xcrun", "--"),
}
# Wrappers without effects of their own: as harmless as the command they run.
TRANSPARENT = word_set("time command builtin nice timeout stdbuf ionice")
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
        "--exec",
        "-x",
        "--tree-filter",
        "--index-filter",
        "--env-filter",
        "--msg-filter",
        "--ext-cmd",
        "--extcmd",
        "--upload-pack",
        "--receive-pack",
    ),
    "hyperfine": ("--prepare", "--setup", "--cleanup"),
    "tmux": (),
    "screen": ("-X",),
    "entr": (),
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
    "socat": (),
    "ncat": ("-c", "-e", "--exec", "--sh-exec"),
    "nc": ("-c", "-e"),
    "netcat": ("-c", "-e"),
    "parallel": (),
    "osascript": (),
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
    result = [InnerCommand(script=word) for word in _script_options(name, command.words[1:])]
    if name in SHELLS:
        result += _shell(command.words)
    elif name == "eval":
        text = " ".join(word.text for word in command.words[1:])
        taints = frozenset().union(*(word.taints for word in command.words[1:]))
        result.append(
            InnerCommand(script=ShellWord(text, all(word.sure for word in command.words[1:]), taints))
        )
    elif name in ("trap", "watch", "hyperfine"):
        result += [InnerCommand(script=word) for word in command.words[1:2] if not word.guess.startswith("-")]
    elif name == "alias":
        result += [
            InnerCommand(script=ShellWord(word.text.partition("=")[2], False)) for word in command.words[1:]
        ]
    elif name == "ssh":
        result += _ssh(command.words)
    elif name in ("find", "gfind", "fd", "fdfind"):
        result += _find(command)
    elif name == "git":
        result += _git(command.words)
    elif name == "parallel":
        result += _parallel(command.words)
    elif name in ("tmux", "screen", "xterm", "gnome-terminal", "expect", "at", "batch"):
        line = " ".join(word.text for word in command.words[1:] if not word.guess.startswith("-"))
        result.append(InnerCommand(script=ShellWord(line, False)))
        result += [InnerCommand(script=word) for word in command.words[1:] if " " in word.guess]
    if name in PREFIX and not (name == "command" and command.words[1].guess in ("-v", "-V")):
        result += _prefix(name, command)
    elif (name, command.words[1].guess) in RUNNERS:
        rest = command.words[2:]
        while rest and rest[0].guess.startswith("-"):
            rest = rest[1:]
        result.append(InnerCommand(rest))
    return [inner for inner in result if inner.script is not None or inner.words]


def _script_options(name: str, words: tuple[ShellWord, ...]) -> list[ShellWord]:
    names = SCRIPT_OPTIONS.get(name, ())
    inner = []
    for at, word in enumerate(words):
        text = word.guess
        # In a bundle such as `script -qc` or `su -lc`, the last letter takes the script.
        bundled = "-c" in names and re.fullmatch(r"-[a-zA-Z]+c", text) is not None
        if (text in names or bundled) and at + 1 < len(words):
            inner.append(words[at + 1])
        elif any(name.startswith("--") and text.startswith(name + "=") for name in names):
            inner.append(ShellWord(text.partition("=")[2], word.sure, word.taints))
        elif name == "tar" and text.startswith("--checkpoint-action=exec="):
            inner.append(ShellWord(text.split("=", 2)[2], word.sure, word.taints))
        elif "ProxyCommand" in text and name in ("ssh", "scp", "sftp"):
            inner.append(ShellWord(re.split(r"ProxyCommand[= ]", text)[-1], word.sure, word.taints))
        elif name == "socat" and re.match(r"(?i)(exec|system):", text):
            inner.append(ShellWord(text.partition(":")[2].split(",")[0].strip("'\""), word.sure, word.taints))
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
            return [InnerCommand(script=ShellWord(cut, False), cwd=cwd)]
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
    if name == "xargs" and any("{}" in word.text for word in rest):
        fed = (command.stdin.text or UNKNOWN).strip()
        rest = tuple(
            ShellWord(word.text.replace("{}", fed), False, word.taints | command.stdin.taints)
            if "{}" in word.text
            else word
            for word in rest
        )
    elif name == "xargs":
        rest = (*rest, ShellWord((command.stdin.text or UNKNOWN).strip(), False, command.stdin.taints))
    return [InnerCommand(rest, cwd=cwd, assignments=tuple(assigned))] if rest else []


def _shell(words: tuple[ShellWord, ...]) -> list[InnerCommand]:
    for at, word in enumerate(words[1:], 1):
        text = word.guess
        if re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", text) or text == "--command":
            rest = [
                word
                for word in words[at + 1 :]
                if word.guess == "--" or not word.guess.startswith(("-", "+"))
            ]
            rest = [word for word in rest if word.guess != "--"]
            return [InnerCommand(script=rest[0], arguments=tuple(rest[2:]))] if rest else []
        if not text.startswith(("-", "+")) and words[at - 1].guess not in (
            "-o",
            "-O",
            "--rcfile",
            "--init-file",
        ):
            return []
    return []


def _ssh(words: tuple[ShellWord, ...]) -> list[InnerCommand]:
    at = 1
    while at < len(words) and words[at].guess.startswith("-"):
        at += 2 if words[at].guess in SSH_VALUES else 1
    rest = words[at + 1 :]
    return [InnerCommand(script=ShellWord(" ".join(word.text for word in rest), False))] if rest else []


def _find(command: SimpleCommand) -> list[InnerCommand]:
    """Each -exec of find and -x of fd. `{}` stands for the starting folders and the searched names."""
    starts: list[ShellWord] = []
    for word in command.words[1:]:
        if word.guess.startswith(("-", "(", "!")):
            break
        starts.append(word)
    operands = [
        next_one
        for word, next_one in zip(command.words, command.words[1:], strict=False)
        if word.guess in ("-name", "-iname", "-path", "-wholename")
    ]
    base = (starts or [ShellWord(".")])[0].text.rstrip("/") or "/"
    filled = [ShellWord(f"{base.rstrip('/')}/{word.text.lstrip('*')}", False) for word in operands] or [
        ShellWord(base, False)
    ]
    result = []
    for at, word in enumerate(command.words):
        if word.guess not in ("-exec", "-execdir", "-ok", "-okdir", "-x", "--exec", "-X", "--exec-batch"):
            continue
        inner: list[ShellWord] = []
        for argument in command.words[at + 1 :]:
            if argument.guess in (";", "+"):
                break
            if argument.guess == "{}":
                inner += filled
            else:
                inner.append(
                    ShellWord(
                        argument.text.replace("{}", filled[0].text),
                        argument.sure and "{}" not in argument.text,
                        argument.taints,
                    )
                )
        result.append(InnerCommand(tuple(inner)))
    return result


def _git(words: tuple[ShellWord, ...]) -> list[InnerCommand]:
    inner = []
    texts = [word.guess for word in words]
    for at, text in enumerate(texts):
        value = text.partition("=")[2]
        key = text.partition("=")[0].lower()
        if at and texts[at - 1] in ("-c", "--config-env") and value:
            runs = re.search(
                r"alias\.|editor|pager|sshcommand|fsmonitor|\.(cmd|command|clean|smudge|process)|external",
                key,
            )
            if runs:
                inner.append(InnerCommand(script=ShellWord(value.lstrip("!"), False)))
    if "foreach" in texts:
        rest = [word for word in words[texts.index("foreach") + 1 :] if word.guess != "--recursive"]
        inner.append(InnerCommand(script=ShellWord(" ".join(word.text for word in rest), False)))
    if "bisect" in texts and "run" in texts:
        inner.append(InnerCommand(words[texts.index("run") + 1 :]))
    if "config" in texts:
        inner += [
            InnerCommand(script=ShellWord(word.text.lstrip("!"), False))
            for word in words
            if word.guess.startswith("!")
        ]
    return inner


def _parallel(words: tuple[ShellWord, ...]) -> list[InnerCommand]:
    rest = list(words[1:])
    while rest and rest[0].guess.startswith("-"):
        rest = rest[2:] if rest[0].guess in ("-j", "-n", "-N", "--jobs", "-S") else rest[1:]
    texts = [word.guess for word in rest]
    cut = next((at for at, text in enumerate(texts) if text.startswith(":::")), len(rest))
    operands = [word for word in rest[cut + 1 :] if not word.guess.startswith(":::")]
    if not cut:
        return [InnerCommand(script=word) for word in operands]
    line = " ".join(word.text for word in rest[:cut])
    values = operands or [ShellWord(UNKNOWN, False)]
    return [
        InnerCommand(script=ShellWord(line.replace("{}", " ".join(value.text for value in values)), False))
    ] + ([] if "{}" in line else [InnerCommand((*rest[:cut], *values))])
