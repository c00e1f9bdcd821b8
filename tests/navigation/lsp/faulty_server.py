"""A small language server that does what its arguments say, and otherwise behaves.

A line that holds `bad` is a problem. A definition is the first line that begins with `def WORD`;
references are all its words. Its faults are its arguments. Standard library only: it starts in 20 ms.
"""

import json
import os
import re
import sys
import time
from pathlib import Path

FAULTS = set(sys.argv[1:])
OUT = sys.stdout.buffer
TEXTS = {}
VERSIONS = {}
NOTES = os.environ.get("FAULTY_NOTES", "")


def note(word):
    """Leave a trace for the test."""
    if NOTES:
        with Path(NOTES).open("a", encoding="utf-8") as file:
            file.write(word + "\n")


def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    if "strays" in FAULTS:
        OUT.write(b"DEBUG: about to answer\n\nwithout a newline ")
    if "length-last" in FAULTS:
        OUT.write(b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n")
    OUT.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    OUT.flush()


def notify(method, params):
    send({"method": method, "params": params})


def receive():
    length = 0
    while line := sys.stdin.buffer.readline():
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
        elif not line.strip():
            return json.loads(sys.stdin.buffer.read(length))
    note("eof")
    sys.exit(0)


def span(line, start, end):
    return {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}


def units(text):
    return len(text.encode("utf-8")) if "utf-8" in FAULTS else len(text.encode("utf-16-le")) // 2


def words(uri, name):
    for number, line in enumerate(TEXTS.get(uri, "").split("\n")):
        for found in re.finditer(rf"\b{re.escape(name)}\b", line):
            start = units(line[: found.start()])
            yield {"uri": uri, "range": span(number, start, start + units(name))}


def word_at(params):
    uri, at = params["textDocument"]["uri"], params["position"]
    line = TEXTS[uri].split("\n")[at["line"]]
    for found in re.finditer(r"\w+", line):
        if units(line[: found.start()]) <= at["character"] <= units(line[: found.end()]):
            return uri, found[0]
    return uri, ""


def problems(uri):
    rows = []
    for number, line in enumerate(TEXTS.get(uri, "").split("\n")):
        for found in re.finditer(r"\bbad\w*", line):
            start = units(line[: found.start()])
            rows.append(
                {
                    "range": span(number, start, start + units(found[0])),
                    "severity": 1,
                    "code": "bad",
                    "message": found[0] + (" is worse" if "worse" in FAULTS else " is bad"),
                }
            )
    return rows


def publish(uri):
    if "pull" in FAULTS or "silent" in FAULTS:
        return
    said = {"uri": uri, "diagnostics": problems(uri)}
    if "no-version" not in FAULTS:
        said["version"] = VERSIONS[uri]
    notify("textDocument/publishDiagnostics", said)


def definition(params):
    uri, name = word_at(params)
    lines = TEXTS[uri].split("\n")
    for place in words(uri, name):
        if lines[place["range"]["start"]["line"]].lstrip().startswith(f"def {name}"):
            return place
    return None


def initialize():
    sync = 1 if "full" in FAULTS else {"openClose": True, "change": 2, "save": {"includeText": True}}
    offers = {
        "textDocumentSync": sync,
        "definitionProvider": True,
        "referencesProvider": True,
        "hoverProvider": True,
        "documentSymbolProvider": True,
        "renameProvider": True,
        "codeActionProvider": True,
        "callHierarchyProvider": True,
        "workspaceSymbolProvider": True,
        "documentFormattingProvider": True,
        "executeCommandProvider": {"commands": ["mend"]},
    }
    if "utf-8" in FAULTS:
        offers["positionEncoding"] = "utf-8"
    if "pull" in FAULTS:
        offers["diagnosticProvider"] = {"interFileDependencies": True, "workspaceDiagnostics": False}
    return {"capabilities": offers}


def changed(change, uri):
    if "range" in change:
        # Only whole-text ranges are sent; anything else would be a fault of the client's.
        last = TEXTS[uri].split("\n")
        whole = {"line": len(last) - 1, "character": units(last[-1])}
        assert change["range"] == {"start": {"line": 0, "character": 0}, "end": whole}, change["range"]
    TEXTS[uri] = change["text"]


def answer(method, params):
    if "garbage" in FAULTS and method != "initialize":
        return {"definition": 5, "x": [1]}.get(method.rpartition("/")[2], [[{"uri": 7}], 3])
    match method:
        case "initialize":
            return initialize()
        case "textDocument/definition":
            return definition(params)
        case "textDocument/references":
            return list(words(*word_at(params)))
        case "textDocument/hover":
            return {"contents": [{"language": "x", "value": word_at(params)[1]}, "plain"]}
        case "textDocument/documentSymbol":
            uri = params["textDocument"]["uri"]
            found = re.finditer(r"def (\w+)", TEXTS[uri])
            return [
                {"name": one[1], "kind": 12, "location": next(words(uri, one[1])), "containerName": "top"}
                for one in found
            ]
        case "textDocument/rename":
            uri, name = word_at(params)
            edits = [{"range": one["range"], "newText": params["newName"]} for one in words(uri, name)]
            if "outside" in FAULTS:
                return {"changes": {"file:///etc/hosts": edits}}
            return {"changes": {uri: edits}}
        case "textDocument/diagnostic":
            uri = params["textDocument"]["uri"]
            return {"kind": "full", "items": problems(uri)}
        case "textDocument/codeAction":
            uri = params["textDocument"]["uri"]
            return [{"title": "Mend", "command": {"title": "Mend", "command": "mend", "arguments": [uri]}}]
        case "workspace/executeCommand":
            (uri,) = params["arguments"]
            edits = [{"range": one["range"], "newText": "good"} for one in words(uri, "bad")]
            send(
                {
                    "id": "edit-1",
                    "method": "workspace/applyEdit",
                    "params": {"edit": {"changes": {uri: edits}}},
                }
            )
            return None
        case "workspace/symbol":
            return []
        case "shutdown":
            return None
    raise LookupError(method)


def handle(message):
    method, params, number = message.get("method"), message.get("params"), message.get("id")
    if method is None:
        note("answered " + json.dumps(message.get("result", message.get("error")), sort_keys=True))
        return
    note(method)
    if method == "initialize" and "hang-initialize" in FAULTS:
        time.sleep(600)
    if method == "exit":
        if "never-exits" in FAULTS:
            time.sleep(600)
        sys.exit(0)
    if number is None:
        notification(method, params)
        return
    asked = method.startswith("textDocument/")
    if asked:
        fault(number)
    if asked and "lies" in FAULTS:
        send({"id": number, "error": {"code": -32601, "message": "no such method"}})
        return
    try:
        result = answer(method, params)
    except LookupError:
        send({"id": number, "error": {"code": -32601, "message": "no such method"}})
        return
    if asked and "wrong-id" in FAULTS:
        send({"id": number + 7000, "result": result})
        send({"id": ["no", "id"], "result": result})
        return
    send({"id": number, "result": result})


def fault(number):
    if "hang-request" in FAULTS:
        time.sleep(600)
    if "hang-once" in FAULTS and not Path(NOTES + ".hung").exists():
        Path(NOTES + ".hung").touch()
        time.sleep(600)
    if "die-request" in FAULTS:
        os._exit(3)
    if "die-once" in FAULTS and not Path(NOTES + ".died").exists():
        Path(NOTES + ".died").touch()
        os._exit(3)
    if "late" in FAULTS:
        # The client gives up, says so, and is answered nevertheless.
        while receive().get("method") != "$/cancelRequest":
            pass
        send({"id": number, "result": None})
        FAULTS.discard("late")
    if "modified" in FAULTS:
        FAULTS.discard("modified")
        send({"id": number, "error": {"code": -32801, "message": "content modified"}})
    if "huge" in FAULTS:
        OUT.write(b"Content-Length: 40000000\r\n\r\n" + b" " * 40_000_000)
        notify("window/logMessage", {"type": 3, "message": "x" * 5_000_000})


def notification(method, params):
    match method:
        case "initialized":
            initialized()
        case "textDocument/didOpen":
            document = params["textDocument"]
            TEXTS[document["uri"]], VERSIONS[document["uri"]] = document["text"], document["version"]
            note("language " + document["languageId"])
            publish(document["uri"])
        case "textDocument/didChange":
            document = params["textDocument"]
            VERSIONS[document["uri"]] = document["version"]
            for change in params["contentChanges"]:
                changed(change, document["uri"])
            publish(document["uri"])
        case "textDocument/didSave":
            if "refreshes" in FAULTS:
                FAULTS.add("worse")
                send({"id": "f", "method": "workspace/diagnostic/refresh"})
            note("saved " + json.dumps(params["text"]))
        case "textDocument/didClose":
            TEXTS.pop(params["textDocument"]["uri"])
        case "workspace/didChangeWatchedFiles":
            for change in params["changes"]:
                note(f"watched {change['type']} {change['uri'].rpartition('/')[2]}")


def initialized():
    if "flood" in FAULTS:
        for count in range(30_000):
            notify("window/logMessage", {"type": 3, "message": f"line {count}"})
            if not count % 10:
                notify("textDocument/publishDiagnostics", {"uri": f"file:///f{count}.x", "diagnostics": []})
    if "flood-stderr" in FAULTS:
        for _ in range(2000):
            sys.stderr.write("e" * 10_000 + "\n")
    if "asks" in FAULTS:
        items = [{"section": "one.two"}, {"section": "missing"}]
        send({"id": "a", "method": "workspace/configuration", "params": {"items": items}})
        send({"id": "b", "method": "window/workDoneProgress/create", "params": {"token": 1}})
        send({"id": "c", "method": "workspace/applyEdit", "params": {"edit": {"changes": {}}}})
        send({"id": "d", "method": "no/such/thing", "params": {}})
    if "works" in FAULTS:
        value = {"kind": "begin", "title": "Indexing", "message": "files", "percentage": 40}
        notify("$/progress", {"token": 1, "value": value})
    if "worked" in FAULTS:
        notify("$/progress", {"token": 1, "value": {"kind": "begin", "title": "Indexing"}})
        notify("$/progress", {"token": 1, "value": {"kind": "end"}})
    if "registers" in FAULTS:
        one = {"id": "r1", "method": "textDocument/diagnostic", "registerOptions": {"identifier": "x"}}
        send({"id": "e", "method": "client/registerCapability", "params": {"registrations": [one]}})
        FAULTS.add("pull")
    if "die-soon" in FAULTS:
        os._exit(4)


if "die-start" in FAULTS:
    sys.stderr.write("cannot start: no licence\n")
    sys.exit(2)
while True:
    handle(receive())
