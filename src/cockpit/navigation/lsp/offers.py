"""What we tell a server that we can, and what it told us. Values and pure functions."""

import os
from collections.abc import Mapping
from pathlib import Path

from cockpit.navigation.lsp.positions import Encoding, encoding_of
from cockpit.navigation.lsp.shapes import inner
from cockpit.navigation.lsp.uris import uri_of
from cockpit.plugin.languages import LanguageServer

KINDS = {"valueSet": list(range(1, 27))}
CLIENT: Mapping[str, object] = {
    "general": {"positionEncodings": ["utf-8", "utf-16"]},
    "window": {"workDoneProgress": True, "showMessage": {}},
    "workspace": {
        "applyEdit": True,
        "configuration": True,
        "workspaceFolders": True,
        "workspaceEdit": {"documentChanges": True, "resourceOperations": ["create", "rename", "delete"]},
        "didChangeWatchedFiles": {"dynamicRegistration": True, "relativePatternSupport": True},
        "symbol": {"symbolKind": KINDS},
        "executeCommand": {},
        "diagnostics": {"refreshSupport": True},
    },
    "textDocument": {
        "synchronization": {"didSave": True},
        "publishDiagnostics": {"versionSupport": True, "codeDescriptionSupport": False},
        "diagnostic": {"dynamicRegistration": True, "relatedDocumentSupport": True},
        "definition": {"linkSupport": True},
        "implementation": {"linkSupport": True},
        "references": {},
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True, "symbolKind": KINDS},
        "callHierarchy": {},
        "typeHierarchy": {},
        "rename": {"prepareSupport": True},
        "formatting": {},
        "codeAction": {
            "codeActionLiteralSupport": {
                "codeActionKind": {"valueSet": ["", "quickfix", "refactor", "source", "source.fixAll"]}
            },
            "isPreferredSupport": True,
            "disabledSupport": True,
            "dataSupport": True,
            "resolveSupport": {"properties": ["edit"]},
        },
    },
}


def first_words(server: LanguageServer, folder: str) -> dict[str, object]:
    """The parameters of `initialize`."""
    uri = uri_of(folder)
    return {
        "processId": os.getpid(),
        "clientInfo": {"name": "cockpit"},
        "rootPath": folder,
        "rootUri": uri,
        "workspaceFolders": [{"uri": uri, "name": Path(folder).name}],
        "initializationOptions": server.initialization,
        "capabilities": CLIENT,
        "trace": "off",
    }


def offered(capabilities: object, registered: Mapping[str, tuple[str, object]], name: str) -> object:
    """What the server said of `name` (`definitionProvider`), or registered for it later; None for nothing."""
    found = inner(capabilities, *name.split("."))
    if found is not None and found is not False:
        return found
    method = METHODS.get(name, "")
    for one, options in registered.values():
        if one == method:
            return options if options is not None else True
    return None


# Both hand the protocol's columns to jedi and jedi's back as they are, whatever encoding they agreed to: seen
# with an emoji on the line, jedi-language-server 0.47 (which says utf-8) and pylsp 1.15 (which says nothing).
COUNT_CHARACTERS = ("jedi-language-server", "pylsp")
METHODS = {
    "diagnosticProvider": "textDocument/diagnostic",
    "renameProvider": "textDocument/rename",
    "definitionProvider": "textDocument/definition",
    "implementationProvider": "textDocument/implementation",
    "referencesProvider": "textDocument/references",
    "hoverProvider": "textDocument/hover",
    "documentSymbolProvider": "textDocument/documentSymbol",
    "workspaceSymbolProvider": "workspace/symbol",
    "callHierarchyProvider": "textDocument/prepareCallHierarchy",
    "typeHierarchyProvider": "textDocument/prepareTypeHierarchy",
    "codeActionProvider": "textDocument/codeAction",
    "documentFormattingProvider": "textDocument/formatting",
    "executeCommandProvider": "workspace/executeCommand",
}


def encoding(answer: object) -> Encoding:
    """How the server that answered `initialize` so counts columns."""
    if inner(answer, "serverInfo", "name") in COUNT_CHARACTERS:
        return "utf-32"
    return encoding_of(inner(answer, "capabilities", "positionEncoding"))


def sync_kind(capabilities: object) -> int:
    """How the server takes changes: 0 not at all, 1 whole texts, 2 ranges."""
    sync = inner(capabilities, "textDocumentSync")
    kind = inner(sync, "change") if isinstance(sync, dict) else sync
    return kind if isinstance(kind, int) and not isinstance(kind, bool) and 0 <= kind <= 2 else 1


def wants_save(capabilities: object) -> tuple[bool, bool]:
    """Whether the server wants `didSave`, and with the text."""
    save = inner(capabilities, "textDocumentSync", "save")
    return bool(save) or isinstance(save, dict), inner(save, "includeText") is True
