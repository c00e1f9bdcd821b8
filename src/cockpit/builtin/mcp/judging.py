"""The verdict on other people's tools: a person is asked, and what no tool of ours may touch they may not be
told to touch either. A tool's hints about itself loosen nothing."""

import asyncio

from cockpit.plugin.safety import Decider, Judged, Verdict
from cockpit.plugin.tools import Capability
from cockpit.workspace.resolver import Judged as Place

PREFIX = "mcp__"
READING = "read_mcp_resource"
LISTING = "list_mcp_resources"
RISKS = {"fetch": 20, "other": 40, "delete": 60}
REFUSED = frozenset({"protected", "secret", "system", "device", "link"})
INSTEAD = "use the tools of cockpit for files, which a person can follow"


def decider() -> Decider:
    return Decider("mcp", decide)


async def decide(judged: Judged) -> Verdict | None:
    """An ask for what calls a server, a deny for what would touch a protected path there."""
    name = judged.tool.name
    if name == LISTING:
        return Verdict("allow", capabilities=judged.tool.capabilities)
    if not name.startswith(PREFIX) and name != READING:
        return None
    paths = judged.preview.paths if judged.preview is not None else ()
    root = judged.context.workspace.root
    # Most calls name no path: a thread is not bothered with them.
    worst = await asyncio.to_thread(_refused, paths, judged.tool.kind == "fetch", root) if paths else None
    if worst is not None:
        reason = f"an argument names {worst.real}: {worst.reason}"
        return Verdict("deny", reason, 80, _touches(worst), (f"mcp.{worst.sort}",), INSTEAD)
    where = judged.preview.destination if judged.preview is not None else ""
    server = judged.preview.title.partition(":")[0] if judged.preview is not None else "a server"
    return Verdict(
        "ask",
        f"it calls the MCP server {server}",
        RISKS.get(judged.tool.kind, 40),
        judged.tool.capabilities,
        ("mcp",),
        destination=where,
    )


def _touches(place: Place) -> frozenset[Capability]:
    return frozenset({"secret.read"}) if place.sort == "secret" else frozenset({"fs.write"})


def _refused(paths: tuple[str, ...], reads: bool, root: str) -> Place | None:
    """The first path that nothing may be told to touch. One that says it only reads may be told of what may
    be read, but never of what is protected: its word is all there is."""
    from cockpit.safety.ground import ground_of
    from cockpit.safety.paths import classify

    ground = ground_of(root, reads_git=False)
    for path in paths:
        read, write = classify(path, "read", ground), classify(path, "write", ground)
        if read.level == "deny" and read.sort in REFUSED:
            return read
        if write.level == "deny" and (write.sort == "protected" or (not reads and write.sort in REFUSED)):
            return write
    return None
