"""The verdicts of the policy: command lines by their grammar, paths by where they really lie. What it does
not know is asked about."""

from cockpit.builtin.judging import judged as judge
from cockpit.plugin import hookimpl
from cockpit.plugin.safety import Decider, Judged, Verdict
from cockpit.plugin.values import Register, Scope


@hookimpl
def register_deciders(register: Register, scope: Scope) -> None:
    register(Decider("commands", commands))
    register(Decider("outside", outside))


async def commands(judged: Judged) -> Verdict | None:
    """A command line as its shell will read it; a program that a tool starts by itself needs a person."""
    preview = judged.preview
    if preview is not None and preview.line is not None:
        return (await judge(preview.line, judged.context)).verdict
    if preview is not None and preview.launch is not None:
        return Verdict(
            "ask", "it runs a program", 30, judged.tool.capabilities, ("program",), sandbox="build"
        )
    return None


async def outside(judged: Judged) -> Verdict | None:
    """Paths that leave the project."""
    paths = judged.preview.paths if judged.preview is not None else ()
    strangers = [path for path in paths if not judged.context.workspace.is_inside(path)]
    if not strangers:
        return None
    changes = judged.tool.kind not in ("read", "search")
    reason = f"{strangers[0]} lies outside of the project"
    return Verdict("ask", reason, 60 if changes else 40, frozenset({"fs.outside"}), ("outside",))
