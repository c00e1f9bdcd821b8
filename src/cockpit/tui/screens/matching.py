"""How well a typed text fits a label: letters in order, whole words and beginnings first. Pure."""


def score(typed: str, label: str) -> float:
    """0 when `typed` does not fit; more is better."""
    wanted, text = typed.casefold(), label.casefold()
    if (at := text.find(wanted)) != -1:
        start = at == 0 or not text[at - 1].isalnum()
        return 100 + 20 * start - at / 100
    total = 0.0
    for word in wanted.split():
        points = _letters(word, text)
        if not points:
            return 0.0
        total += points
    return total


def _letters(word: str, text: str) -> float:
    """Letters of `word` in order in `text`; letters that begin a word count more."""
    if word in text:
        return 30.0
    position, points = -1, 0.0
    for letter in word:
        begin = _next_beginning(letter, text, position + 1)
        found = begin if begin != -1 and begin - position < 24 else text.find(letter, position + 1)
        if found == -1:
            return 0.0
        points += 4 if found == begin else 2 if found == position + 1 else 0.5
        position = found
    return points


def _next_beginning(letter: str, text: str, start: int) -> int:
    at = text.find(letter, start)
    while at != -1 and at > 0 and text[at - 1].isalnum():
        at = text.find(letter, at + 1)
    return at
