"""The baseline: a minimal client of a language server, one request at a time.

Positions are those of the protocol: from 0, in UTF-16 units (the lines used in Django are ASCII).
"""

import json
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

CAPABILITIES = {
    "textDocument": {
        "definition": {"linkSupport": False},
        "references": {},
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
    },
    "workspace": {"configuration": True, "workspaceFolders": True},
    "window": {"workDoneProgress": True},
}


class BareClient:
    """A server on stdio. `ask` blocks until the answer arrives."""

    def __init__(self, command: Sequence[str], root: Path) -> None:
        self.root = root
        self._process = subprocess.Popen(
            command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._ids = 0
        self._open: set[Path] = set()
        self.working: set[str] = set()
        uri = root.as_uri()
        folders = [{"uri": uri, "name": root.name}]
        self.ask(
            "initialize",
            {"processId": None, "rootUri": uri, "capabilities": CAPABILITIES, "workspaceFolders": folders},
        )
        self.tell("initialized", {})

    def tell(self, method: str, params: Any) -> None:
        self._write({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method: str, params: Any) -> Any:
        """The result of a request. Raises RuntimeError for an error, EOFError if the server has ended."""
        self._ids += 1
        asked = self._ids
        self._write({"jsonrpc": "2.0", "id": asked, "method": method, "params": params})
        while True:
            message = self._read()
            if "method" in message:
                self._hear(message)
            elif message.get("id") == asked:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message.get("result")

    def at(self, path: Path, line: int, character: int) -> dict[str, Any]:
        """The parameters of a position; opens its file first."""
        if path not in self._open:
            self._open.add(path)
            text = path.read_text(encoding="utf-8")
            document = {"uri": path.as_uri(), "languageId": "python", "version": 1, "text": text}
            self.tell("textDocument/didOpen", {"textDocument": document})
        place = {"line": line, "character": character}
        return {"textDocument": {"uri": path.as_uri()}, "position": place}

    def definition(self, path: Path, line: int, character: int) -> list[tuple[str, int, int]]:
        """Where the name is defined: path (relative to the root if inside), line, character."""
        return self._places(self.ask("textDocument/definition", self.at(path, line, character)))

    def references(self, path: Path, line: int, character: int) -> list[tuple[str, int, int]]:
        params = {**self.at(path, line, character), "context": {"includeDeclaration": True}}
        return self._places(self.ask("textDocument/references", params))

    def _places(self, found: Any) -> list[tuple[str, int, int]]:
        rows = found if isinstance(found, list) else [found] if found else []
        places = []
        for row in rows:
            start = row.get("targetSelectionRange", row.get("range"))["start"]
            places.append(
                (self._relative(row.get("targetUri", row.get("uri"))), start["line"], start["character"])
            )
        return sorted(set(places))

    def _relative(self, uri: str) -> str:
        path = Path(unquote(urlsplit(uri).path))
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else str(path)

    def _hear(self, message: Mapping[str, Any]) -> None:
        """Record progress; answer the server's requests with the simplest result."""
        params = message.get("params") or {}
        if message["method"] == "$/progress":
            token, kind = str(params["token"]), params["value"].get("kind")
            (self.working.discard if kind == "end" else self.working.add)(token)
        if "id" in message:
            wanted = params.get("items", []) if message["method"] == "workspace/configuration" else None
            result = [None] * len(wanted) if wanted is not None else None
            self._write({"jsonrpc": "2.0", "id": message["id"], "result": result})

    def _write(self, message: Mapping[str, Any]) -> None:
        body = json.dumps(message).encode()
        out = self._process.stdin
        if out is None:
            raise EOFError("the server has no input")
        out.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        out.flush()

    def _read(self) -> dict[str, Any]:
        source = self._process.stdout
        if source is None:
            raise EOFError("the server has no output")
        size = -1
        while line := source.readline():
            if line == b"\r\n" and size >= 0:
                found: dict[str, Any] = json.loads(source.read(size))
                return found
            if line.lower().startswith(b"content-length:"):
                size = int(line.split(b":")[1])
        raise EOFError("the server ended")

    def close(self) -> None:
        try:
            self.ask("shutdown", None)
            self.tell("exit", None)
            self._process.wait(5)
        except (OSError, EOFError, RuntimeError, subprocess.TimeoutExpired):
            pass
        finally:
            self._process.kill()
            self._process.wait()


def parse_seconds(root: Path) -> tuple[float, int]:
    """Parse what an index of `root` parses, in one thread; returns seconds and bytes. Reading is not
    timed."""
    import tree_sitter_javascript
    import tree_sitter_python
    from tree_sitter import Language, Parser

    grammars = {".py": tree_sitter_python.language(), ".js": tree_sitter_javascript.language()}
    parsers = {suffix: Parser(Language(grammar)) for suffix, grammar in grammars.items()}
    files = sorted(path for path in root.rglob("*") if path.suffix in parsers)
    texts = [(parsers[path.suffix], path.read_bytes()) for path in files]
    # Minified files are skipped.
    texts = [(parser, text) for parser, text in texts if max(map(len, text.split(b"\n"))) < 20_000]
    began = time.perf_counter()
    for parser, text in texts:
        parser.parse(text)
    return time.perf_counter() - began, sum(len(text) for _, text in texts)
