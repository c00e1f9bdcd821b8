"""A server of the older protocol on stdio, in plain Python so that it starts at once: `plain.py SPEC.json`.

The spec says what it offers and how it misbehaves; it is read anew at each `tools/list`. A tool's `does` is
`echo`, `say:TEXT`, `die`, `hang`, `env`, `big:BYTES`, `progress:STEPS`, `ask`, `open:URL`, `sample`, `roots`,
`changed`, `flood:LINES`, `write:PATH`, `image`, `structured`, `give` or `fail`. `mute` names methods never
answered, `refuses` those it does not know; `later` makes it speak the later protocol, naming no `resultType`;
`completes` are the values of prompts' arguments.
"""

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

SPEC = Path(sys.argv[1])
LOCK = threading.Lock()
ANSWERS: dict[Any, Any] = {}
ANSWERED = threading.Condition()
CANCELLED: set[Any] = set()
KEPT = {"ttlMs": 0, "cacheScope": "private"}
ASKED = iter(range(1000, 9999))


def spec() -> dict[str, Any]:
    read: dict[str, Any] = json.loads(SPEC.read_text(encoding="utf-8"))
    return read


def say(message: dict[str, Any]) -> None:
    with LOCK:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def ask(method: str, params: dict[str, Any]) -> Any:
    """Ask the client, and wait for its answer."""
    id = next(ASKED)
    say({"id": id, "method": method, "params": params})
    with ANSWERED:
        ANSWERED.wait_for(lambda: id in ANSWERS)
    return ANSWERS[id]


def text(said: object) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": said if isinstance(said, str) else json.dumps(said)}]}


def call(id: Any, params: dict[str, Any]) -> dict[str, Any] | None:
    tool = next(one for one in spec()["tools"] if one["name"] == params["name"])
    does, _, more = str(tool.get("does", "echo")).partition(":")
    match does:
        case "echo":
            return text(params.get("arguments", {}))
        case "say":
            return text(more)
        case "die":
            os._exit(3)
        case "hang":
            Path(f"{more}.began").write_text("began", encoding="utf-8") if more else None
            while id not in CANCELLED:
                time.sleep(0.01)
            Path(more).write_text("cancelled", encoding="utf-8") if more else None
            return None
        case "env":
            return text(dict(os.environ))
        case "big":
            return text("x" * int(more))
        case "progress":
            token = params.get("_meta", {}).get("progressToken")
            for step in range(int(more)):
                time.sleep(0.15)
                done = {
                    "progressToken": token,
                    "progress": step + 1,
                    "total": int(more),
                    "message": f"step {step}",
                }
                say({"method": "notifications/progress", "params": done})
            return text("done")
        case "ask":
            schema = {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "title": "Your name"},
                    "size": {"type": "string", "enum": ["s", "l"], "default": "l"},
                },
                "required": ["name"],
            }
            return text(ask("elicitation/create", {"message": "Who are you?", "requestedSchema": schema}))
        case "open":
            page = {"mode": "url", "message": "Open this.", "url": more, "elicitationId": "e1"}
            return text(ask("elicitation/create", page))
        case "sample":
            message = {"role": "user", "content": {"type": "text", "text": "What is two and two?"}}
            return text(ask("sampling/createMessage", {"messages": [message], "maxTokens": 50}))
        case "roots":
            return text(ask("roots/list", {}))
        case "changed":
            say({"method": "notifications/tools/list_changed"})
            return text("said")
        case "flood":
            for number in range(int(more)):
                say({"method": "notifications/message", "params": {"level": "info", "data": f"n{number}"}})
            return text("flooded")
        case "give":
            given: dict[str, Any] = tool["result"]
            return given
        case "write":
            Path(params["arguments"]["path"]).write_text("written by a server", encoding="utf-8")
            return text("written")
        case "image":
            return {"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]}
        case "structured":
            return {**text("see there"), "structuredContent": {"answer": 42}}
        case _:
            return {**text(more or "it failed"), "isError": True}


def answer(method: str, id: Any, params: dict[str, Any]) -> dict[str, Any] | None:
    said = spec()
    if method in said.get("mute", ()):
        return None
    if method in said.get("refuses", ()):
        raise KeyError(method)
    match method:
        case "server/discover" if said.get("later"):
            about = {"name": said.get("name", "plain"), "version": "1"}
            return {
                "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}},
                "_meta": {"io.modelcontextprotocol/serverInfo": about},
            } | KEPT
        case "initialize":
            if said.get("hangs"):
                time.sleep(3600)
            can = {"tools": {"listChanged": True}, "resources": {}, "prompts": {}, "logging": {}}
            can |= {"completions": {}} if "completes" in said else {}
            about = {"name": said.get("name", "plain"), "version": "1"}
            version = params["protocolVersion"]
            return {
                "protocolVersion": version,
                "capabilities": can,
                "serverInfo": about,
                "instructions": said.get("instructions", ""),
            }
        case "tools/list":
            time.sleep(float(said.get("slow", 0)))
            keep = ("name", "description", "inputSchema", "annotations", "outputSchema", "title")
            tools = [{"inputSchema": {"type": "object"}} | one for one in said.get("tools", [])]
            rows = [{key: one[key] for key in keep if key in one} for one in tools]
            return {"tools": rows} | (KEPT if said.get("later") else {})
        case "resources/list":
            return {
                "resources": [{key: one[key] for key in ("uri", "name")} for one in said.get("resources", [])]
            }
        case "resources/templates/list":
            return {"resourceTemplates": said.get("templates", [])}
        case "resources/read":
            found = [one for one in said.get("resources", []) if one["uri"] == params["uri"]]
            return {"contents": [{"uri": one["uri"], "text": one["text"]} for one in found]}
        case "prompts/list":
            return {"prompts": said.get("prompts", [])}
        case "completion/complete" if "completes" in said:
            argument = params["argument"]
            rows = [one for one in said["completes"][argument["name"]] if one.startswith(argument["value"])]
            return {"completion": {"values": rows}}
        case "prompts/get":
            given = json.dumps(params.get("arguments", {}), sort_keys=True)
            content = {"type": "text", "text": f"{params['name']} of {given}"}
            return {"messages": [{"role": "user", "content": content}]}
        case "tools/call":
            return call(id, params)
        case "ping":
            return {}
        case _:
            raise KeyError(method)


def serve(method: str, id: Any, params: dict[str, Any]) -> None:
    try:
        result = answer(method, id, params)
    except KeyError:
        say({"id": id, "error": {"code": -32601, "message": "Method not found"}})
        return
    if result is not None:
        say({"id": id, "result": result})


def main() -> None:
    said = spec()
    if said.get("starts"):
        with Path(said["starts"]).open("a", encoding="utf-8") as out:
            out.write(f"{os.getpid()}\n")
    print(said.get("stderr", "hello from stderr"), file=sys.stderr, flush=True)
    for line in said.get("stdout", []):
        sys.stdout.write(line + "\n")
    sys.stdout.flush()
    if said.get("exits"):
        os._exit(int(said["exits"]))
    if said.get("endless"):
        while True:
            sys.stdout.write("x" * 65536)
    for line in sys.stdin:
        message = json.loads(line)
        if "method" not in message:
            with ANSWERED:
                ANSWERS[message["id"]] = message.get("result", message.get("error"))
                ANSWERED.notify_all()
        elif message["method"] == "notifications/cancelled":
            CANCELLED.add(message["params"]["requestId"])
        elif "id" in message:
            if said.get("strict") and message["method"] == "server/discover":
                os._exit(4)
            given = (message["method"], message["id"], message.get("params", {}))
            threading.Thread(target=serve, args=given, daemon=True).start()


if __name__ == "__main__":
    main()
