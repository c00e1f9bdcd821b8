"""Turns failed requests into `ModelFailed` with a message and a hint. Sends nothing; never repeats a key.

Covers the error replies of servers and the failures below HTTP: refused, no such host, TLS, timeout, broken
off.
"""

import contextlib
import re
import socket
import ssl
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from cockpit.builtin.models.openai_chat.presets import PASTED_KEY, Endpoint, environment_name
from cockpit.plugin.models import Fault, ModelFailed
from cockpit.protocol.messages import Json

# Compiled on the first error: compiling takes 2 ms, and most sessions see none.
NO_CREDIT = (
    r"(?i)insufficient[_ ](user[_ ])?(quota|balance|credit|fund)|exceeded[_ ](your[_ ])?current[_ ]quota|"
    r"credit[_ ]balance|(spend|usage)_limit_exceeded|billing (details|hard limit)|billing_|arrear|"
    r"payment required|out of credits|余额不足|欠费"
)
# OpenAI, Groq, xAI, Google, Bedrock, MiniMax, Moonshot, Mistral, vLLM, llama.cpp, LM Studio, DashScope.
CONTEXT_OVERFLOW = (
    r"(?i)context[_ ]length|context[_ ]window|context size|exceed_context|maximum context|"
    r"(prompt|input|request)( is| has)? too (long|large)|reduce the length|maximum prompt length|"
    r"input token count|too many (input )?tokens|(exceed\w*|over).{0,40}token limit|"
    r"token limit exceeded|max_context_length|range of input length|string_above_max_length|"
    r"too large for model|prompt exceeds|(maximum|max) (model|input|sequence) length|request_too_large"
)
CONTENT_FILTERED = (
    r"(?i)content[_ ](filter|policy)|content management policy|data_?inspection_?failed|flagged|"
    r"moderation|inappropriate content|sensitive (content|word)"
)
BAD_KEY = r"(?i)invalid[_ ]api[_ ]?key|incorrect api key|authentication|api key not valid"
UNKNOWN_MODEL = (
    r"(?is)model_not_found|model_not_exist|no such model|unknown model|invalid model|not a valid model|"
    r"model\b.{0,120}?\b(not match|does not exist|not exist)|model\b.{0,40}?\bis not (supported|available)"
)
RATE_LIMITED = r"(?i)rate_?limit|too many requests|tokens per minute|requests per minute"
SERVER_BUSY = r"(?i)overloaded|server_error|capacity|temporarily unavailable|try again later"
KEY_LIKE = r"\b(?:sk|gsk|xai|pplx|fw|tgp|rk|key)[-_][\w*.…-]{4,}"
RETRY_DELAY = r"(?i)(?:try again|retry)[^.\d]{0,20}(\d+(?:\.\d+)?)\s*(ms|s|m)"


@dataclass(frozen=True, slots=True)
class ErrorReply:
    """An error from a server; `status` is 0 if it came within a stream."""

    status: int
    text: str
    code: str = ""
    is_json: bool = False


def parse_error(status: int, body: Json) -> ErrorReply:
    """Parse an error in any vendor's form: `{"error": {...}}`, `{"error": "..."}`, `{"message": ...}`,
    `{"detail": ...}`, a list, or text."""
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, Mapping):
        return ErrorReply(status, _first_line(str(body or "")))
    inner = body.get("error", body)
    if not isinstance(inner, Mapping):
        return ErrorReply(status, _first_line(str(inner)), is_json=True)
    text = inner.get("message") or inner.get("msg") or inner.get("detail") or ""
    metadata = inner.get("metadata")
    if isinstance(metadata, Mapping) and metadata.get("raw"):
        # OpenRouter wraps the message of the provider behind it.
        text = f"{text}: {metadata['raw']}"
    codes = [inner.get("code"), inner.get("type")]
    number = next((code for code in codes if isinstance(code, int) and 400 <= code < 600), 0)
    named = " ".join(str(code) for code in codes if code)
    return ErrorReply(status or number, _first_line(str(text or inner)), named, "error" in body)


def classify_error(answer: ErrorReply) -> Fault:
    """The fault of an error reply. The vendor's message outweighs the status code."""
    words, status = f"{answer.code} {answer.text}", answer.status
    if status == 429 and "rate_limit_exceeded" in answer.code:
        return "rate_limited"
    if status == 402 or (re.search(NO_CREDIT, words) and status in (0, 400, 403, 429)):
        return "no_credit"
    if status == 413 or (status in (0, 400, 422, 500) and re.search(CONTEXT_OVERFLOW, words)):
        return "context_overflow"
    if status in (0, 400, 403, 451) and re.search(CONTENT_FILTERED, words):
        return "content_filter"
    if status in (401, 403) or (status in (0, 400) and re.search(BAD_KEY, words)):
        return "auth"
    names_model = status in (0, 400, 404, 422) and re.search(UNKNOWN_MODEL, words)
    if names_model or (status == 404 and answer.is_json):
        return "unknown_model"
    if status == 429 or (status in (0, 400) and re.search(RATE_LIMITED, words)):
        return "rate_limited"
    if status >= 500 or status in (408, 409, 425) or (status == 0 and re.search(SERVER_BUSY, words)):
        return "overloaded"
    return "bad_request" if status else "interrupted"


def error_failure(
    endpoint: Endpoint, model: str, answer: ErrorReply, headers: Mapping[str, str] | None = None
) -> ModelFailed:
    """The failure for an error reply."""
    fault = classify_error(answer)
    message, hint = _describe_error(fault, endpoint, model, answer)
    wait = parse_retry_after(headers or {}, answer.text) if fault in ("rate_limited", "overloaded") else None
    if wait is not None:
        hint = f"the server asks to wait {wait:g} s; {hint}"
    return ModelFailed(fault, redact_key(message, endpoint), redact_key(hint, endpoint), wait)


def _describe_error(fault: Fault, endpoint: Endpoint, model: str, answer: ErrorReply) -> tuple[str, str]:
    name, label = endpoint.preset.name, endpoint.label
    status = f"{answer.status}: " if answer.status else ""
    quoted = f"({status}{answer.text})" if answer.text else f"({answer.status})"
    other = "or choose another model with /model"
    match fault:
        case "auth":
            return _describe_auth(endpoint, answer, quoted)
        case "unknown_model":
            hint = "choose another model with /model"
            if name == "ollama":
                hint = f"get it with `ollama pull {model}`, or {hint}"
            return f"{label} has no model `{model}` {quoted}", hint
        case "rate_limited":
            return f"{label} has reached its rate limit for `{model}` {quoted}", f"wait, {other}"
        case "no_credit":
            return f"the account at {label} has no credit left {quoted}", f"add credit there, {other}"
        case "overloaded":
            return f"{label} is overloaded {quoted}", f"try again later, {other}"
        case "context_overflow":
            return f"the conversation is too long for `{model}` {quoted}", "shorten it with /compact"
        case "content_filter":
            return f"the content filter of {label} refused the request {quoted}", "rephrase the prompt"
        case "interrupted" | "malformed" | "connection":
            return f"{label} broke off the reply {quoted}", f"try again, {other}"
        case "bad_request":
            return _describe_bad_request(endpoint, model, answer, quoted)


def _describe_auth(endpoint: Endpoint, answer: ErrorReply, quoted: str) -> tuple[str, str]:
    preset, origin = endpoint.preset, endpoint.key_from
    if not endpoint.key:
        return f"{preset.label} requires a key and none is set {quoted}", _key_hint(endpoint)
    key = origin if origin.startswith("the ") else f"the key of {origin}"
    if answer.status == 403:
        message = f"{preset.label} accepted {key} but denied the request {quoted}"
        return message, f"check the permissions of the key, or connect another with /connect {preset.name}"
    hint = _key_hint(endpoint)
    if preset.other_region and endpoint.base_url == preset.base_url:
        variable = f"{environment_name(preset.name)}_BASE_URL"
        hint += f"; for keys of its other region set {variable}={preset.other_region}"
    return f"{preset.label} refused {key} {quoted}", hint


def _key_hint(endpoint: Endpoint) -> str:
    preset = endpoint.preset
    where = f" (keys: {preset.keys_at})" if preset.keys_at else ""
    if endpoint.key_from == PASTED_KEY:
        return f"copy the whole key again{where} and repeat /connect {preset.name}"
    return f"set {preset.key_env} or run /connect {preset.name}{where}"


def _describe_bad_request(endpoint: Endpoint, model: str, answer: ErrorReply, quoted: str) -> tuple[str, str]:
    if answer.status in (404, 405):
        hint = f"check {environment_name(endpoint.preset.name)}_BASE_URL: it usually ends in /v1"
        return f"{endpoint.base_url} has no chat completions {quoted}", hint
    if "tool" in answer.text and "support" in answer.text:
        return f"`{model}` of {endpoint.label} cannot call tools {quoted}", "choose another with /model"
    return f"{endpoint.label} rejected the request {quoted}", "choose another model with /model"


def web_page_failure(endpoint: Endpoint, status: int) -> ModelFailed:
    """The failure for a web page instead of a reply: a wrong address, a proxy or a captive portal."""
    message = f"{endpoint.base_url} answered with a web page ({status}) instead of a model's reply"
    hint = f"check {environment_name(endpoint.preset.name)}_BASE_URL (it usually ends in /v1) and the proxy"
    return ModelFailed("overloaded" if status >= 500 else "bad_request", message, hint)


def parse_retry_after(headers: Mapping[str, str], text: str = "", now: float | None = None) -> float | None:
    """Seconds to wait, or None: from `retry-after-ms`, `Retry-After` (seconds or an HTTP date, RFC 9110,
    10.2.3) or the message."""
    value = headers.get("retry-after", "")
    with contextlib.suppress(KeyError, ValueError):
        return max(0.0, float(headers["retry-after-ms"]) / 1000)
    with contextlib.suppress(ValueError):
        return max(0.0, float(value))
    with contextlib.suppress(ValueError, TypeError, IndexError):
        return max(0.0, parsedate_to_datetime(value).timestamp() - (time.time() if now is None else now))
    match = re.search(RETRY_DELAY, text)
    return float(match[1]) * {"ms": 0.001, "s": 1.0, "m": 60.0}[match[2].lower()] if match else None


def redact_key(text: str, endpoint: Endpoint) -> str:
    """`text` without the key, and without the parts of keys that servers quote."""
    if len(endpoint.key) >= 4:
        text = text.replace(endpoint.key, "(the key)")
    return re.sub(KEY_LIKE, "(the key)", text)


def _first_line(text: str) -> str:
    """A server's message as one line of at most 300 characters."""
    if re.match(r"\s*<(!doctype|html|\?xml)", text, re.IGNORECASE):
        title = re.search(r"<title>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
        text = f"web page: {title[1]}" if title else "a web page"
    line = " ".join(text.split())
    return line if len(line) <= 300 else f"{line[:299]}…"


def connect_failure(endpoint: Endpoint, error: BaseException) -> ModelFailed:
    """The failure for an error before any response."""
    url, preset = endpoint.base_url, endpoint.preset
    causes = tuple(_walk_causes(error))
    base = f"{environment_name(preset.name)}_BASE_URL"
    message, hint = f"the connection to {url} failed: {_reason(causes)}", "check the network"
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes) or "refused" in str(error).lower():
        message = f"nothing answers at {url}: connection refused"
        hint = f"is it running? `{preset.start}`" if preset.start else f"is it running? check {base}"
    elif any(isinstance(cause, socket.gaierror) for cause in causes):
        message, hint = f"no such host: {url}", f"check the network and {base}"
    elif tls := next((str(cause) for cause in causes if isinstance(cause, ssl.SSLError)), None):
        message = f"no secure connection to {url}: {tls}"
        hint = "check the clock, the proxy and SSL_CERT_FILE; a server without TLS has an http:// address"
    elif _is_timeout(causes):
        message, hint = f"{url} does not answer in time", f"check the network and {base}"
    return ModelFailed("connection", message, hint)


def stream_failure(endpoint: Endpoint, error: BaseException) -> ModelFailed:
    """The failure for an error within a response."""
    causes = tuple(_walk_causes(error))
    if any(type(cause).__name__ == "DecodingError" for cause in causes):
        message = f"the reply of {endpoint.label} cannot be decompressed: {_reason(causes)}"
        return ModelFailed("malformed", message, "try again")
    if _is_timeout(causes):
        return ModelFailed("interrupted", f"{endpoint.label} stopped sending within its reply", "try again")
    message = f"the connection to {endpoint.label} broke within the reply: {_reason(causes)}"
    return ModelFailed("interrupted", message, "try again")


def _walk_causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error, its causes, and the members of exception groups: anyio raises one error per address."""
    visited: set[int] = set()
    pending = [error]
    while pending:
        cause = pending.pop(0)
        if cause is None or id(cause) in visited:
            continue
        visited.add(id(cause))
        yield cause
        pending += [cause.__cause__, cause.__context__]
        if isinstance(cause, BaseExceptionGroup):
            pending += cause.exceptions


def _is_timeout(causes: tuple[BaseException, ...]) -> bool:
    return any("Timeout" in type(cause).__name__ for cause in causes)


def _reason(causes: tuple[BaseException, ...]) -> str:
    return next((str(cause) for cause in reversed(causes) if str(cause)), type(causes[0]).__name__)
