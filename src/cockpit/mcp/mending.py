"""Results that do not fit the protocol, made to: one row that is broken, or a kind of content that is newer
than this program, is no reason to lose all the others. Imports the SDK. Pure."""

import json
from typing import Any

from mcp import types
from pydantic import BaseModel, ValidationError

from cockpit.protocol.clean import one_line

ROWS: dict[str, tuple[str, str, type[BaseModel]]] = {
    "tools/list": ("tools", "tool", types.Tool),
    "prompts/list": ("prompts", "prompt", types.Prompt),
    "resources/list": ("resources", "resource", types.Resource),
    "resources/templates/list": ("resourceTemplates", "template", types.ResourceTemplate),
}
CALL = "tools/call"
MENDED = frozenset({*ROWS, CALL})
KINDS = frozenset({"text", "image", "audio", "resource_link", "resource"})
# The SDK matches results with a tool's own schema: one of these in it can take for ever.
ENDLESS = frozenset({"pattern", "patternProperties", "$ref", "$dynamicRef", "$recursiveRef"})
DEEPEST = 60


def mended(method: str, result: dict[str, Any], left_out: list[str]) -> dict[str, Any]:
    """The result of `method`, itself where nothing is wrong with it. What is left out of a list is said."""
    return _call(result) if method == CALL else _listed(method, result, left_out)


def _listed(method: str, result: dict[str, Any], left_out: list[str]) -> dict[str, Any]:
    key, what, kind = ROWS[method]
    rows = result.get(key)
    if not isinstance(rows, list):
        return result
    kept = []
    for row in rows:
        if problem := _problem(row, kind):
            name = row.get("name") if isinstance(row, dict) else None
            left_out.append(f"{what} {one_line(str(name or '?'), 80)} is left out: {problem}")
        else:
            kept.append(_without_endless(row) if what == "tool" else row)
    return {**result, key: kept}


def _problem(row: Any, kind: type[BaseModel]) -> str:
    if _is_deep(row, 0):
        return "it is nested too deeply"
    try:
        kind.model_validate(row, by_name=False)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        return one_line(f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}", 200)
    return ""


def _is_deep(value: Any, depth: int) -> bool:
    if depth > DEEPEST:
        return True
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(_is_deep(one, depth + 1) for one in inner)


def _without_endless(row: dict[str, Any]) -> dict[str, Any]:
    if not row.get("outputSchema") or not _holds_endless(row["outputSchema"]):
        return row
    return {key: value for key, value in row.items() if key != "outputSchema"}


def _holds_endless(value: Any) -> bool:
    if isinstance(value, dict):
        return not ENDLESS.isdisjoint(value) or any(_holds_endless(one) for one in value.values())
    return isinstance(value, list) and any(_holds_endless(one) for one in value)


def _call(result: dict[str, Any]) -> dict[str, Any]:
    """A call's result: content of kinds that nobody knows as their JSON; none where there is only structured
    content."""
    if result.get("resultType", "complete") != "complete":
        return result
    out = dict(result)
    content = result.get("content")
    if isinstance(content, str):
        out["content"] = [_text(content)]
    elif not isinstance(content, list):
        out["content"] = []
    else:
        out["content"] = [one if _is_known(one) else _text(json.dumps(one)) for one in content]
    structured = result.get("structuredContent")
    if structured is not None and not isinstance(structured, dict):
        out["content"] = [*out["content"], _text(json.dumps(structured))]
        del out["structuredContent"]
    return out


def _is_known(one: Any) -> bool:
    return isinstance(one, dict) and one.get("type") in KINDS


def _text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}
