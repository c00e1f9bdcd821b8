"""A Windows path judged by its letters alone, on any platform: no disk is looked at."""

import ntpath

from cockpit.workspace import names, windows
from cockpit.workspace.resolver import Access, Judged


def judge_windows(path: str, access: Access, root: str, home: str, own: tuple[str, ...] = ()) -> Judged:
    """`Resolver.judge` for a Windows path. `root` and `home` may be written either way; `own` are folders
    of cockpit's."""
    if reason := names.fault(path) or windows.fault(_beyond(path, root)):
        return Judged("deny", "", False, reason, "unreadable")
    whole = windows.absolute(path, root, home)
    inside = windows.inside(whole, root)
    in_home = windows.inside(whole, home)
    from_home = windows.parts(whole)[len(windows.parts(home)) :] if in_home else windows.parts(whole)
    if windows.is_secret(whole):
        return Judged("deny", whole, inside, "it holds the system's secrets", "secret")
    if reason := names.sensitive(from_home, in_home):
        return Judged("deny", whole, inside, reason, "secret")
    if in_home and names.own_secret_on_windows(from_home):
        return Judged("deny", whole, inside, "cockpit keeps its keys there", "secret")
    below = windows.parts(whole)[len(windows.parts(root)) :] if inside else windows.parts(whole)
    if access == "write":
        if reason := names.protected(below):
            return Judged("deny", whole, inside, reason, "protected")
        if any(windows.inside(whole, folder) for folder in own):
            return Judged("deny", whole, inside, "it is a folder of cockpit's own", "protected")
        if not inside and windows.is_system(whole):
            return Judged("deny", whole, inside, "it belongs to the system", "system")
    if not inside:
        return Judged("ask", whole, False, "outside of the root", "outside")
    if access == "write" and (reason := names.installs(below)):
        return Judged("ask", whole, True, reason, "installs")
    return Judged("allow", whole, True)


def _beyond(path: str, root: str) -> str:
    """`path` without the root in front: the person chose that one, whatever it is called."""
    flat, folder = path.replace("/", "\\"), root.replace("/", "\\").rstrip("\\")
    if folder and flat.casefold().startswith(folder.casefold() + "\\"):
        return flat[len(folder) + 1 :].lstrip("\\") or "."
    return path if ntpath.normcase(flat) != ntpath.normcase(folder) else "."
