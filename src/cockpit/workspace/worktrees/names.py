"""What worktrees and their branches are called, and which path of the origin's a path in one stands for.
Pure: knows letters, no disk."""

import re

FOLDER = (".cockpit", "worktrees")
BRANCHES = "cockpit/"
SCRATCH = "merging-"
LONGEST = 40
STRANGE = re.compile(r"[^a-z0-9]+")


def slug(name: str) -> str:
    """`name` as the name of a folder on every platform and of a branch: letters, digits, single dashes."""
    plain = STRANGE.sub("-", name.lower()).strip("-")[:LONGEST].strip("-")
    if not plain:
        return "work"
    # Windows reserves such names, whatever comes after them; the other is ours.
    reserved = re.fullmatch(r"con|prn|aux|nul|com\d|lpt\d", plain) or plain.startswith(SCRATCH)
    return f"work-{plain}" if reserved else plain


def folder_name(slug: str, number: int) -> str:
    return slug if number == 1 else f"{slug}-{number}"


def branch_name(slug: str, number: int) -> str:
    return f"{BRANCHES}{slug}-{number}"


def folder_of(top: str) -> str:
    """Where the worktrees of the work tree `top` lie."""
    return "/".join((top.replace("\\", "/").rstrip("/"), *FOLDER))


def tree_of(root: str) -> str:
    """The top of the tree that the worktree `root` (or the folder in one) was made from; "" for no worktree
    of ours."""
    parts = root.replace("\\", "/").split("/")
    for at in range(len(parts) - len(FOLDER)):
        if tuple(part.casefold() for part in parts[at : at + len(FOLDER)]) == FOLDER:
            return "/".join(parts[:at]) or "/"
    return ""


def origin_of(path: str) -> str:
    """The path that an absolute `path` in one of our worktrees stands for in the tree it was made from;
    any other path as it is. `/r/.cockpit/worktrees/x/src/a` is `/r/src/a`."""
    parts = path.replace("\\", "/").split("/")
    folded = [part.casefold() for part in parts]
    at = 0
    while at + 2 < len(parts):
        if folded[at] == FOLDER[0] and folded[at + 1] == FOLDER[1]:
            del parts[at : at + 3], folded[at : at + 3]
        else:
            at += 1
    return "/".join(parts) or "/"
