"""Programs that run another command: which one, and where. A wrapper never makes it milder."""

import re
from dataclasses import dataclass

from cockpit.safety.bash.commands import Command
from cockpit.safety.bash.words import UNKNOWN, Word
from cockpit.safety.bash.wrappers import PREFIX, RUNNERS, SCRIPT_OPTIONS, SHELLS, SSH_VALUES


@dataclass(frozen=True, slots=True)
class Inner:
    """A command inside another: its words, or a script as one word. `cwd` is a folder it moves to."""

    words: tuple[Word, ...] = ()
    script: Word | None = None
    cwd: Word | None = None
    arguments: tuple[Word, ...] = ()
    assignments: tuple[tuple[str, Word], ...] = ()


def unwrap(command: Command) -> list[Inner]:
    """What `command` runs besides itself, as far as it can be read from its words."""
    name = command.program
    if not name or len(command.words) < 2:
        return []
    if name.startswith(("ld-linux", "ld-musl")):
        name = "ld.so"
    found = [Inner(script=word) for word in _script_options(name, command.words[1:])]
    if name in SHELLS:
        found += _shell(command.words)
    elif name == "eval":
        text = " ".join(word.text for word in command.words[1:])
        taints = frozenset().union(*(word.taints for word in command.words[1:]))
        found.append(Inner(script=Word(text, all(word.sure for word in command.words[1:]), taints)))
    elif name in ("trap", "watch", "hyperfine"):
        found += [Inner(script=word) for word in command.words[1:2] if not word.guess.startswith("-")]
    elif name == "alias":
        found += [Inner(script=Word(word.text.partition("=")[2], False)) for word in command.words[1:]]
    elif name == "ssh":
        found += _ssh(command.words)
    elif name in ("find", "gfind", "fd", "fdfind"):
        found += _find(command)
    elif name == "git":
        found += _git(command.words)
    elif name == "parallel":
        found += _parallel(command.words)
    elif name in ("tmux", "screen", "xterm", "gnome-terminal", "expect", "at", "batch"):
        line = " ".join(word.text for word in command.words[1:] if not word.guess.startswith("-"))
        found.append(Inner(script=Word(line, False)))
        found += [Inner(script=word) for word in command.words[1:] if " " in word.guess]
    if name in PREFIX and not (name == "command" and command.words[1].guess in ("-v", "-V")):
        found += _prefix(name, command)
    elif (name, command.words[1].guess) in RUNNERS:
        rest = command.words[2:]
        while rest and rest[0].guess.startswith("-"):
            rest = rest[1:]
        found.append(Inner(rest))
    return [inner for inner in found if inner.script is not None or inner.words]


def _script_options(name: str, words: tuple[Word, ...]) -> list[Word]:
    names = SCRIPT_OPTIONS.get(name, ())
    found = []
    for at, word in enumerate(words):
        text = word.guess
        # `script -qc`, `su -lc`: the last letter of a bundle takes the script.
        bundled = "-c" in names and re.fullmatch(r"-[a-zA-Z]+c", text) is not None
        if (text in names or bundled) and at + 1 < len(words):
            found.append(words[at + 1])
        elif any(one.startswith("--") and text.startswith(one + "=") for one in names):
            found.append(Word(text.partition("=")[2], word.sure, word.taints))
        elif name == "tar" and text.startswith("--checkpoint-action=exec="):
            found.append(Word(text.split("=", 2)[2], word.sure, word.taints))
        elif "ProxyCommand" in text and name in ("ssh", "scp", "sftp"):
            found.append(Word(re.split(r"ProxyCommand[= ]", text)[-1], word.sure, word.taints))
        elif name == "socat" and re.match(r"(?i)(exec|system):", text):
            found.append(Word(text.partition(":")[2].split(",")[0].strip("'\""), word.sure, word.taints))
    return found


def _prefix(name: str, command: Command) -> list[Inner]:
    valued, count = PREFIX[name]
    takes = frozenset(valued.split())
    words, at, cwd = command.words, 1, None
    given: list[tuple[str, Word]] = []
    while at < len(words):
        text = words[at].guess
        if text == "--":
            at += 1
            continue
        if name == "env" and (text in ("-S", "--split-string") or text.startswith(("-S", "--split-string="))):
            rest = words[at + 1 :] if text in ("-S", "--split-string") else words[at:]
            line = " ".join(word.text for word in rest)
            cut = line.removeprefix("--split-string=") if line.startswith("--") else line.removeprefix("-S")
            return [Inner(script=Word(cut, False), cwd=cwd)]
        if text.startswith("-") and len(text) > 1:
            if text in takes:
                cwd = words[at + 1] if text in ("-C", "-D", "--chdir") and at + 1 < len(words) else cwd
                at += 1
            elif text.startswith("--chdir="):
                cwd = Word(text[8:], words[at].sure)
            at += 1
            continue
        if name in ("env", "sudo", "doas") and re.match(r"[A-Za-z_]\w*=", text):
            left, _, right = words[at].text.partition("=")
            given.append((left, Word(right, words[at].sure)))
            at += 1
            continue
        break
    rest = words[at + count :]
    if name == "xargs" and any("{}" in word.text for word in rest):
        fed = (command.stdin.text or UNKNOWN).strip()
        rest = tuple(
            Word(word.text.replace("{}", fed), False, word.taints | command.stdin.taints)
            if "{}" in word.text
            else word
            for word in rest
        )
    elif name == "xargs":
        rest = (*rest, Word((command.stdin.text or UNKNOWN).strip(), False, command.stdin.taints))
    return [Inner(rest, cwd=cwd, assignments=tuple(given))] if rest else []


def _shell(words: tuple[Word, ...]) -> list[Inner]:
    for at, word in enumerate(words[1:], 1):
        text = word.guess
        if re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", text) or text == "--command":
            rest = [
                one for one in words[at + 1 :] if one.guess == "--" or not one.guess.startswith(("-", "+"))
            ]
            rest = [one for one in rest if one.guess != "--"]
            return [Inner(script=rest[0], arguments=tuple(rest[2:]))] if rest else []
        if not text.startswith(("-", "+")) and words[at - 1].guess not in (
            "-o",
            "-O",
            "--rcfile",
            "--init-file",
        ):
            return []
    return []


def _ssh(words: tuple[Word, ...]) -> list[Inner]:
    at = 1
    while at < len(words) and words[at].guess.startswith("-"):
        at += 2 if words[at].guess in SSH_VALUES else 1
    rest = words[at + 1 :]
    return [Inner(script=Word(" ".join(word.text for word in rest), False))] if rest else []


def _find(command: Command) -> list[Inner]:
    """Each -exec of find and -x of fd; `{}` stands for what the search starts from and looks for."""
    starts: list[Word] = []
    for word in command.words[1:]:
        if word.guess.startswith(("-", "(", "!")):
            break
        starts.append(word)
    named = [
        next_one
        for word, next_one in zip(command.words, command.words[1:], strict=False)
        if word.guess in ("-name", "-iname", "-path", "-wholename")
    ]
    base = (starts or [Word(".")])[0].text.rstrip("/") or "/"
    filled = [Word(f"{base.rstrip('/')}/{word.text.lstrip('*')}", False) for word in named] or [
        Word(base, False)
    ]
    found = []
    for at, word in enumerate(command.words):
        if word.guess not in ("-exec", "-execdir", "-ok", "-okdir", "-x", "--exec", "-X", "--exec-batch"):
            continue
        inner: list[Word] = []
        for one in command.words[at + 1 :]:
            if one.guess in (";", "+"):
                break
            if one.guess == "{}":
                inner += filled
            else:
                inner.append(
                    Word(
                        one.text.replace("{}", filled[0].text), one.sure and "{}" not in one.text, one.taints
                    )
                )
        found.append(Inner(tuple(inner)))
    return found


def _git(words: tuple[Word, ...]) -> list[Inner]:
    found = []
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
                found.append(Inner(script=Word(value.lstrip("!"), False)))
    if "foreach" in texts:
        rest = [word for word in words[texts.index("foreach") + 1 :] if word.guess != "--recursive"]
        found.append(Inner(script=Word(" ".join(word.text for word in rest), False)))
    if "bisect" in texts and "run" in texts:
        found.append(Inner(words[texts.index("run") + 1 :]))
    if "config" in texts:
        found += [
            Inner(script=Word(word.text.lstrip("!"), False)) for word in words if word.guess.startswith("!")
        ]
    return found


def _parallel(words: tuple[Word, ...]) -> list[Inner]:
    rest = list(words[1:])
    while rest and rest[0].guess.startswith("-"):
        rest = rest[2:] if rest[0].guess in ("-j", "-n", "-N", "--jobs", "-S") else rest[1:]
    texts = [word.guess for word in rest]
    cut = next((at for at, text in enumerate(texts) if text.startswith(":::")), len(rest))
    operands = [word for word in rest[cut + 1 :] if not word.guess.startswith(":::")]
    if not cut:
        return [Inner(script=word) for word in operands]
    line = " ".join(word.text for word in rest[:cut])
    values = operands or [Word(UNKNOWN, False)]
    return [Inner(script=Word(line.replace("{}", " ".join(one.text for one in values)), False))] + (
        [] if "{}" in line else [Inner((*rest[:cut], *values))]
    )
