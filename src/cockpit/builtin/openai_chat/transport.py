"""What can go wrong below HTTP, told apart by its cause: refused, no such host, TLS, too slow, cut."""

import socket
import ssl
from collections.abc import Iterator

from cockpit.builtin.openai_chat.presets import Endpoint, variable
from cockpit.plugin.models import ModelFailed


def unreachable(endpoint: Endpoint, error: BaseException) -> ModelFailed:
    """No answer began."""
    url, preset = endpoint.base_url, endpoint.preset
    causes = tuple(_causes(error))
    base = f"{variable(preset.name)}_BASE_URL"
    if any(isinstance(one, ConnectionRefusedError) for one in causes) or "refused" in str(error).lower():
        hint = f"is it running? `{preset.start}`" if preset.start else f"is it running? check {base}"
        return ModelFailed("connection", f"nothing answers at {url}: connection refused", hint)
    if any(isinstance(one, socket.gaierror) for one in causes):
        message = f"no such host: {url}"
        return ModelFailed("connection", message, f"check the network and {base}")
    if any(isinstance(one, ssl.SSLError) for one in causes):
        reason = next(str(one) for one in causes if isinstance(one, ssl.SSLError))
        hint = "check the clock, the proxy and SSL_CERT_FILE; a server without TLS has an http:// address"
        return ModelFailed("connection", f"no secure connection to {url}: {reason}", hint)
    if _is_timeout(causes):
        return ModelFailed("connection", f"{url} does not answer in time", f"check the network and {base}")
    reason = _reason(causes)
    return ModelFailed("connection", f"the connection to {url} failed: {reason}", "check the network")


def broken_off(endpoint: Endpoint, error: BaseException) -> ModelFailed:
    """An answer had begun."""
    causes = tuple(_causes(error))
    if any(type(one).__name__ == "DecodingError" for one in causes):
        message = f"the answer of {endpoint.label} cannot be unpacked: {_reason(causes)}"
        return ModelFailed("malformed", message, "try again")
    if _is_timeout(causes):
        return ModelFailed("interrupted", f"{endpoint.label} fell silent within its answer", "try again")
    message = f"the connection to {endpoint.label} broke within the answer: {_reason(causes)}"
    return ModelFailed("interrupted", message, "try again")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error, what it came from, and the members of groups: anyio raises one per address tried."""
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        one = waiting.pop(0)
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        waiting += [one.__cause__, one.__context__]
        if isinstance(one, BaseExceptionGroup):
            waiting += one.exceptions


def _is_timeout(causes: tuple[BaseException, ...]) -> bool:
    return any("Timeout" in type(one).__name__ for one in causes)


def _reason(causes: tuple[BaseException, ...]) -> str:
    return next((str(one) for one in reversed(causes) if str(one)), type(causes[0]).__name__)
