"""Reading what stands behind `cmd /c`: its commands, split as cmd.exe splits them, with its quotes,
carets and variables. Knows nothing of what is dangerous."""

import re

SPLIT = re.compile(r'\^.|"[^"]*"?|&&?|\|\|?|>>?|[()]|\n|[^\s^"&|<>()\n]+|\s+|.', re.DOTALL)
VARIABLE = re.compile(r"%([\w()]+)(?::[^%]*)?%")
# cmd's own words -> the cmdlets that do the same.
SAME = {
    "del": "remove-item", "erase": "remove-item", "rd": "remove-item", "rmdir": "remove-item",
    "copy": "copy-item", "xcopy": "copy-item", "robocopy": "copy-item", "move": "move-item",
    "ren": "rename-item", "rename": "rename-item", "type": "get-content", "more": "get-content",
    "dir": "get-childitem", "md": "new-item", "mkdir": "new-item", "echo": "write-output",
    "start": "start-process", "cd": "set-location", "chdir": "set-location", "pushd": "push-location",
}  # fmt: skip
LEADING = frozenset(
    {"call", "if", "not", "exist", "else", "do", "cmd", "cmd.exe", "/c", "/k", "/s", "/q", "/d", "@"}
)


def commands(text: str, home: str) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Per command its words and the files it redirects to. Raises nothing."""
    found: list[tuple[list[str], list[str]]] = [([], [])]
    word, redirecting = "", False

    def ended() -> None:
        nonlocal word, redirecting
        if word:
            found[-1][1 if redirecting else 0].append(_variables(word, home))
            redirecting = False
        word = ""

    for piece in SPLIT.findall(text):
        if piece in ("&", "&&", "|", "||", "(", ")", "\n"):
            ended()
            found.append(([], []))
        elif piece in (">", ">>"):
            ended()
            redirecting = True
        elif piece.isspace():
            ended()
        elif piece.startswith("^"):
            word += piece[1:].strip("\n")
        else:
            word += piece.replace('"', "")
    ended()
    return [(_said(tuple(words)), tuple(files)) for words, files in found if words or files]


def _said(words: tuple[str, ...]) -> tuple[str, ...]:
    """Without what stands before a command: `call`, `if exist x`, `for ... do`."""
    while words and words[0].lower().lstrip("@") in LEADING:
        skip = 2 if words[0].lower() == "exist" else 1
        words = words[skip:]
    low = [word.lower() for word in words]
    if low[:1] == ["for"] and "do" in low:
        return _said(words[low.index("do") + 1 :])
    return (words[0].lstrip("@"), *words[1:]) if words else ()


def _variables(word: str, home: str) -> str:
    known = {
        "userprofile": home, "homepath": home, "homedrive": "", "systemdrive": "C:",
        "systemroot": "C:\\Windows",
        "windir": "C:\\Windows", "appdata": f"{home}\\AppData\\Roaming",
        "localappdata": f"{home}\\AppData\\Local",
        "temp": "C:\\temp\\", "tmp": "C:\\temp\\", "programfiles": "C:\\Program Files", "comspec": "cmd",
        "programdata": "C:\\ProgramData", "public": "C:\\Users\\Public", "allusersprofile": "C:\\ProgramData",
    }  # fmt: skip
    return VARIABLE.sub(lambda found: known.get(found[1].lower(), found[0]), word)
