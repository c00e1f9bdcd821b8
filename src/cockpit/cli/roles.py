"""`cockpit roles list|show`: who subagents can be here, and what one of them would be allowed and told."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict

from cockpit.cli.catalogs import catalog_of, folder_of, is_trusted
from cockpit.cli.lines import said
from cockpit.core.catalog import Catalog
from cockpit.core.subagents.rights import Rights, unknown
from cockpit.core.subagents.roles import find_role
from cockpit.formats.role_tools import FOREIGN
from cockpit.plugin.tools import Tool
from cockpit.plugin.values import Role
from cockpit.protocol.messages import Json


def main(argv: Sequence[str]) -> int:
    arguments = list(argv)
    if arguments[:1] == ["show"]:
        return _show(arguments[1:])
    from cockpit.cli import listing

    return listing.main("roles", arguments[1:] if arguments[:1] == ["list"] else arguments)


def _show(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="cockpit roles show", description="What a role is, may do and is told. Nothing is run."
    )
    parser.add_argument("name", help="or one of its other names")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--cwd", metavar="DIR", default="", help="the folder (default: this one)")
    parser.add_argument("--trust", action="store_true", help="read its files although nobody trusts it yet")
    given = parser.parse_args(argv)
    root = folder_of(given.cwd)
    catalog = catalog_of(root, given.trust or is_trusted(root))
    role = find_role(catalog, given.name)
    shown = _described(role, catalog)
    if given.json:
        print(json.dumps({**shown, "instructions": role.instructions}, ensure_ascii=False, indent=1))
        return 0
    for key, value in shown.items():
        if value not in ("", [], None, False, {}):
            lines = (
                [str(one) for one in value]
                if key == "refused" and isinstance(value, list)
                else [_line(value)]
            )
            for line in lines:
                print(said(f"{key:<14}{line}"))
    print()
    for line in role.instructions.strip().splitlines():
        print(said(line))
    return 0


def _described(role: Role, catalog: Catalog) -> dict[str, Json]:
    """All of a role but its instructions; `tools` are those it really gets of the main agent's."""
    rights = Rights(role)
    tools = catalog.all(Tool)
    missing = [one for one in unknown(role.tools or (), tools) if one.partition("(")[0] not in FOREIGN]
    origin = role.origin
    quota = {key: value for key, value in asdict(role.quota).items() if value is not None}
    return {
        "name": role.name,
        "description": role.description,
        "aliases": list(role.aliases),
        "layer": origin.layer if origin is not None else "",
        "file": origin.file if origin is not None else "",
        "shadows": list(origin.shadows) if origin is not None else [],
        "model": role.model or "inherit",
        "mode": role.mode or "the session's",
        "steps": role.max_steps,
        "quota": quota,
        "tools": [tool.name for tool in tools if not rights.withholds(tool)],
        "listed": list(role.tools) if role.tools is not None else "all of its opener's",
        "denied": list(role.denied_tools),
        "unknown tools": list(missing),
        "skills": list(role.skills),
        "mcp servers": list(role.mcp_servers) if role.mcp_servers is not None else "all",
        "background": role.background,
        "isolation": role.isolation,
        "effort": role.effort,
        "color": role.color,
        "memory": role.memory,
        "prompt": role.prompt,
        "runner": role.runner,
        "refused": [str(one) for one in origin.refused] if origin is not None else [],
    }


def _line(value: Json) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {one}" for key, one in value.items())
    if isinstance(value, list):
        return ", ".join(str(one) for one in value)
    return "yes" if value is True else str(value)
