"""Whether a script of sed or awk, or a filter of jq, only prints. Pure; what it does not know is a no."""

import re

ADDRESS = r"(?:\d+|\$|/(?:[^/\\\n]|\\.)*/I?|\\(.)(?:(?!\1).)*\1)"
RANGE = rf"(?:{ADDRESS}(?:\s*[,~]\s*(?:[+~]?\d+|{ADDRESS}))?\s*!?\s*)?"


def sed_prints(script: str) -> bool:
    """Every command is p, d, q, =, s without w and e, or the like. No files, no programs."""
    at, depth = 0, 0
    while at < len(script):
        if script[at] in " \t\n;":
            at += 1
            continue
        if script[at] == "#":
            at = script.find("\n", at) if "\n" in script[at:] else len(script)
            continue
        if found := re.compile(RANGE).match(script, at):
            at = found.end()
        if at >= len(script):
            return False
        letter = script[at]
        at += 1
        if letter in "pPdDgGhHnNx=z":
            pass
        elif letter in "qQl":
            at = _skip(script, at, r"\s*\d*")
        elif letter in "{}":
            depth += 1 if letter == "{" else -1
        elif letter in "aic":
            at = script.find("\n", at) if "\n" in script[at:] else len(script)
        elif letter in ":bt":
            at = _skip(script, at, r"\s*[\w-]*")
        elif letter in "sy":
            at = _substitution(script, at, letter)
            if at < 0:
                return False
        else:
            return False
    return depth == 0


def _skip(script: str, at: int, pattern: str) -> int:
    found = re.compile(pattern).match(script, at)
    return found.end() if found else at


def _substitution(script: str, at: int, letter: str) -> int:
    """The index behind `s/a/b/flags`, -1 for one that is not plain."""
    if at >= len(script) or script[at] in "\\\n":
        return -1
    sign = script[at]
    at += 1
    for _ in range(2):
        while at < len(script) and script[at] != sign:
            if script[at] == "[" and sign != "[":
                closing = script.find("]", at + 2)
                # A sign inside a class may or may not end the part: whoever is unsure asks.
                if closing > 0 and sign in script[at:closing]:
                    return -1
            at += 2 if script[at] == "\\" else 1
        if at >= len(script):
            return -1
        at += 1
    if letter == "y":
        return at
    found = re.compile(r"[gpIiMm0-9]*").match(script, at)
    end = found.end() if found else at
    return end if end >= len(script) or script[end] in " \t\n;}" else -1


def jq_reads(program: str) -> bool:
    """No environment, no modules, no input of its own."""
    return not re.search(
        r"\benv\b|\$ENV|\b(import|include|input_filename|debug|stderr|load\w*|eval|envsubst|strenv|system|"
        r"filename|get_search_list)\b",
        program,
    )


def printf_prints(form: str) -> bool:
    """No `%n`, which sets a variable."""
    return not re.search(r"%[-+ #0'*.\d]*[hlLqjzt]*n", form)
