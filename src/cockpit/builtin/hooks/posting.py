"""Hooks that are requests: what a command would read is posted as JSON, and the body is the answer."""

import asyncio
import ipaddress
import json
import re
import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from cockpit.formats.hook_answers import Answer, failed, late, of_text
from cockpit.formats.hook_events import Event
from cockpit.formats.hooks import Hook
from cockpit.protocol.messages import Json

if TYPE_CHECKING:
    from types import ModuleType

MOST = 1_000_000
VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


async def post(hook: Hook, told: Mapping[str, Json], environment: Mapping[str, str]) -> Answer:
    """The answer to a POST. Redirects are not followed; a status above 299 is a failure and no answer."""
    url = hook.action_text("url")
    httpx2 = await asyncio.to_thread(_client)
    headers = headers_of(hook, environment)
    body = json.dumps(told, ensure_ascii=False).encode("utf-8", "replace")
    try:
        async with asyncio.timeout(hook.seconds):
            if said := await refused(url):
                return failed(said)
            return await _posted(httpx2, hook.event, url, headers, body)
    except TimeoutError:
        return late(f"{url} did not answer within {hook.seconds:g} s")
    except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError, ValueError) as error:
        return failed(f"{url} cannot be reached: {error or type(error).__name__}")


async def _posted(
    httpx2: "ModuleType", event: Event, url: str, headers: Mapping[str, str], body: bytes
) -> Answer:
    own = _is_here(urlsplit(url).hostname or "")
    # A proxy of the environment is for the world outside, not for this machine.
    async with (
        httpx2.AsyncClient(follow_redirects=False, timeout=None, trust_env=not own) as client,
        client.stream("POST", url, content=body, headers=headers) as response,
    ):
        if not 200 <= response.status_code < 300:
            return failed(f"{url} answered {response.status_code}")
        content = b""
        async for piece in response.aiter_bytes():
            content += piece
            if len(content) > MOST:
                return failed(f"{url} answered with more than {MOST:,} bytes")
    return of_text(event, content.decode("utf-8", "replace"))


def headers_of(hook: Hook, environment: Mapping[str, str]) -> dict[str, str]:
    """The hook's headers, `$NAME` and `${NAME}` filled in where the hook names the variable; else empty."""
    allowed = hook.action.get("allowedEnvVars")
    names = {str(one) for one in allowed} if isinstance(allowed, list) else set()

    def value(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        return environment.get(name, "") if name in names else ""

    given = hook.action.get("headers")
    rows = given if isinstance(given, dict) else {}
    headers = {name: VARIABLE.sub(value, str(text)) for name, text in rows.items()}
    return {"Content-Type": "application/json", **{name: one.strip() for name, one in headers.items()}}


async def refused(url: str) -> str:
    """Why an address is never asked, empty for others: it is where machines in a cloud are given their keys.
    A name, or a number that means one, counts as what it stands for."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        # Whoever asks will say that there is no such host.
        return ""
    if any(_is_link_local(str(one[4][0])) for one in found):
        return f"{host} is an address of the machine's surroundings, which no hook may ask"
    return ""


def _is_link_local(text: str) -> bool:
    address = ipaddress.ip_address(text)
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_link_local


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _client() -> "ModuleType":
    import httpx2

    return httpx2
