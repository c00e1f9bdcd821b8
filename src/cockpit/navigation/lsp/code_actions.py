"""Code actions that servers offer, stored by id, and the edits of a chosen one. Writes nothing."""

import itertools
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

from cockpit.navigation.lsp import requests
from cockpit.navigation.lsp.protocol import (
    LspNotSupported,
    as_list,
    as_object,
    as_text,
    column_to_offset,
    get_nested,
)
from cockpit.navigation.lsp.server_process import LspServer
from cockpit.plugin.changes import Edit
from cockpit.plugin.navigation import CodeAction

MAX_OFFERS = 500


@dataclass(frozen=True, slots=True)
class OfferedAction:
    """An action as the server sent it, for a file whose text had this `digest`."""

    server: LspServer
    raw: Mapping[str, object]
    path: str
    digest: str


class CodeActionOffers:
    """The actions offered last by the servers of a root, by id."""

    def __init__(self) -> None:
        self._offers: OrderedDict[str, OfferedAction] = OrderedDict()
        self._count = itertools.count(1)

    async def request(self, server: LspServer, path: str, first: int, last: int) -> tuple[CodeAction, ...]:
        """The actions that `server` offers for lines `first` to `last` of the file at absolute `path`."""
        server.require("codeActionProvider", "offer actions")
        await requests.request_problems(server, path)
        async with server.lease.shared():
            document = await requests.open_document(server, path)
            body = document.text.line(last)
            end = {"line": last - 1, "character": column_to_offset(body, len(body) + 1, server.encoding)}
            params = {
                "textDocument": {"uri": document.uri},
                "range": {"start": {"line": first - 1, "character": 0}, "end": end},
                "context": {"diagnostics": server.problems.raw_within(path, first, last), "triggerKind": 1},
            }
            answer = await server.ask("textDocument/codeAction", params)
        actions = []
        for raw in map(as_object, as_list(answer)):
            if raw.get("disabled") is not None:
                continue
            kind = raw.get("kind")
            action = CodeAction(
                id=f"{server.spec.name}-{next(self._count)}",
                title=as_text(raw.get("title")),
                kind=kind if isinstance(kind, str) else "",
                preferred=raw.get("isPreferred") is True,
                server=server.spec.name,
            )
            actions.append(action)
            self._offers[action.id] = OfferedAction(server, raw, path, document.text.digest)
        while len(self._offers) > MAX_OFFERS:
            self._offers.popitem(last=False)
        return tuple(actions)

    def server_of(self, id: str) -> LspServer | None:
        offer = self._offers.get(id)
        return offer.server if offer is not None else None

    async def edits(self, id: str) -> tuple[Edit, ...]:
        """The edits of an offered action. Raises `LspNotSupported` if the offer is outdated."""
        offer = self._offers.get(id)
        if offer is None or offer.server.lost.is_set():
            raise LspNotSupported(f"unknown action {id}; list the actions again")
        server = offer.server
        # Exclusive: edits that the server sends while a command runs must come from that command.
        async with server.lease.exclusive():
            document = await requests.open_document(server, offer.path)
            if document.text.digest != offer.digest:
                raise LspNotSupported("the file changed since the actions were listed; list them again")
            raw = offer.raw
            can_resolve = get_nested(server.offer("codeActionProvider"), "resolveProvider") is True
            if raw.get("edit") is None and not isinstance(raw.get("command"), str) and can_resolve:
                answer = await server.ask("codeAction/resolve", raw)
                raw = answer if isinstance(answer, dict) else raw
            if raw.get("edit") is not None:
                return await requests.convert_edit(server, raw["edit"])
            return await _run_command(server, raw)


async def _run_command(server: LspServer, raw: Mapping[str, object]) -> tuple[Edit, ...]:
    """Run an action's command; the edits that it requests are the action's edits."""
    command = raw.get("command")
    details = raw if isinstance(command, str) else command
    if get_nested(details, "command") is None:
        raise LspNotSupported(f"{server.spec.name} offers the action without an edit or a command")
    commands = as_list(get_nested(server.offer("executeCommandProvider"), "commands"))
    name = as_text(get_nested(details, "command"))
    if name not in commands:
        raise LspNotSupported(
            f"{server.spec.name} expects the editor to implement {name}, which is not possible here"
        )
    captured_edits = server.incoming.capture()
    try:
        arguments = get_nested(details, "arguments")
        await server.ask("workspace/executeCommand", {"command": name, "arguments": arguments or []})
        # Edits requested by the command have arrived before its answer: one thread reads both.
        edits: tuple[Edit, ...] = ()
        for edit in tuple(captured_edits):
            edits += await requests.convert_edit(server, edit)
    finally:
        server.incoming.release()
    return edits
