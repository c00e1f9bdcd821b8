"""What an operand of a cmdlet means: which path is read, written or removed, and what lies there."""

from cockpit.plugin.tools import Capability
from cockpit.safety.powershell import native
from cockpit.safety.powershell.cmdlets import Operand
from cockpit.safety.powershell.findings import Finding, ask, deny
from cockpit.safety.powershell.places import TREES, Place, place
from cockpit.safety.powershell.scope import Scope, fold_word
from cockpit.safety.powershell.values import Redirect

OUT = "write inside of the workspace"


def judge_redirect(redirect: Redirect, scope: Scope) -> list[Finding]:
    """`> file`."""
    if redirect.target is None:
        return (
            [] if "&" in redirect.operator else [ask("ps-syntax", "a redirection has no target", "fs.write")]
        )
    values = fold_word(redirect.target, scope)
    if redirect.target.text.lower() == "$null" and redirect.operator != "<":
        return []
    if values is None:
        return [ask("ps-dynamic", "where it writes is known only when it runs", "fs.write", risk=50)]
    found = [ask("ps-redirect", "it writes a file", "fs.write", risk=40, alternative="use the write tool")]
    return found + [one for value in values for one in written(value, scope)]


def judge_operand(name: str, operand: Operand, recursive: bool, scope: Scope) -> list[Finding]:
    """The findings on one operand of the cmdlet `name`."""
    if operand.kind not in "lrwdx" or operand.values is None:
        return []
    found: list[Finding] = []
    for value in operand.values:
        match operand.kind:
            case "l":
                found += looked_at(value, scope)
            case "r":
                found += read(value, scope)
            case "w" if name == "rename-item" and not any(sign in value for sign in "/\\"):
                found += written(value, scope)
            case "w":
                found += written(value, scope)
            case "d":
                found += removed(value, recursive, scope)
            case _:
                found.append(
                    ask("ps-parameter", f"{value!r} makes it more than a reader", "shell.opaque", risk=30)
                )
    if name.endswith("itemproperty") and operand.kind == "v":
        found += native.registry(tuple(operand.values), writes=name != "get-itemproperty", removes=False)
    return found


def looked_at(value: str, scope: Scope) -> list[Finding]:
    """A path that is listed or tested: its content is not shown."""
    seen = place(value, "read", scope)
    if seen.sort in ("secret", "env-file"):
        return [ask("ps-secret", seen.reason, "secret.read", risk=50, forgets=True)]
    if seen.sort == "registry":
        return [*native.registry((value,), writes=False, removes=False), _asked(seen)]
    return _others(seen, scope)


def read(value: str, scope: Scope) -> list[Finding]:
    """A path whose content is read."""
    seen = place(value, "read", scope)
    if seen.sort in ("secret", "env-file"):
        scope.seen.reads_secret = True
    if seen.sort == "secret":
        return [deny("ps-secret", seen.reason, "secret.read", alternative="ask the person for the value")]
    return _others(seen, scope)


def written(value: str, scope: Scope) -> list[Finding]:
    """A path that is written."""
    seen = place(value, "write", scope)
    if seen.sort == "registry":
        return native.registry((value,), writes=True, removes=False) or [_asked(seen)]
    if seen.sort in ("secret", "protected", "system", "device", "odd") and seen.level == "deny":
        capability: Capability = "persist" if seen.sort == "protected" else "fs.outside"
        return [deny(f"ps-{seen.sort}", seen.reason or "it is not written", capability)]
    if seen.sort == "outside":
        return [deny("ps-outside", f"{seen.reason}; {OUT}", "fs.outside")]
    return _others(seen, scope)


def removed(value: str, recursive: bool, scope: Scope) -> list[Finding]:
    """A path that is removed or moved away."""
    seen = place(value, "write", scope)
    if seen.tree in TREES:
        return [deny("ps-delete-tree", f"it removes {seen.real or value}", "fs.delete")]
    if seen.sort == "registry":
        found = native.registry((value,), writes=True, removes=True)
        return found or [ask("ps-registry", "it removes a part of the registry", "host.mutate", risk=65)]
    if seen.level == "deny":
        return [deny(f"ps-{seen.sort}", seen.reason, "fs.delete")]
    if seen.sort == "outside":
        return [deny("ps-outside", f"{seen.reason}; {OUT}", "fs.delete", "fs.outside")]
    risk = 70 if seen.tree == "workspace" else 55 if recursive else 45
    return [ask("ps-delete", "it removes files", "fs.delete", risk=risk, alternative="use the delete tool")]


def _others(seen: Place, scope: Scope) -> list[Finding]:
    match seen.sort:
        case "plain" if seen.level == "allow":
            return []
        case "network" | "device" | "odd":
            return [
                deny(f"ps-{seen.sort}", seen.reason, "net.egress" if seen.sort == "network" else "fs.outside")
            ]
        case "env-file" | "environment":
            scope.seen.reads_secret = True
            return [ask("ps-secret", seen.reason, "secret.read", risk=55, forgets=True)]
        case "url":
            scope.seen.has_network = True
            return [ask("ps-net", seen.reason, "net.egress", risk=55, forgets=True)]
        case _:
            return [_asked(seen)]


def _asked(seen: Place) -> Finding:
    return ask(
        f"ps-{seen.sort}", seen.reason or f"{seen.real} is not in the workspace", "fs.outside", risk=45
    )
