"""The `oauth` table of a server's entry in `.mcp.json`, and the failures of a login."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar, get_args
from urllib.parse import urlsplit

from cockpit.errors import CockpitError
from cockpit.protocol.messages import Json

Grant = Literal["code", "client_credentials", "jwt_bearer", "enterprise"]
# An empty string: not configured.
AuthMethod = Literal["", "none", "client_secret_basic", "client_secret_post", "private_key_jwt"]
GRANTS: tuple[Grant, ...] = get_args(Grant)
METHODS: tuple[AuthMethod, ...] = get_args(AuthMethod)
LOOPBACK = ("localhost", "127.0.0.1", "::1")
T = TypeVar("T", bound=str)
HINT = "docs/use/mcp-login.md explains the keys"
CONFIG_KEYS = {
    "grant": "grant",
    "clientId": "client_id",
    "clientSecret": "client_secret",
    "clientMetadataUrl": "metadata_url",
    "tokenEndpointAuthMethod": "method",
    "issuer": "issuer",
    "privateKey": "private_key",
    "algorithm": "algorithm",
    "assertion": "assertion",
    "assertionFile": "assertion_file",
    "idpTokenEndpoint": "idp_endpoint",
    "idpClientId": "idp_client_id",
    "idpClientSecret": "idp_client_secret",
}


class LoginFailed(CockpitError):
    """A login failed. The message contains no token."""


class OAuthLoginNeeded(CockpitError):
    """A server requires a login, and no user can be asked to log in."""


@dataclass(frozen=True, slots=True)
class OAuthConfig:
    """How to log in to one server.

    With the `grant` `code` the user logs in with a browser; the other grants need no user and name the
    `issuer` that may receive their secret. `port` 0 takes any free port for the browser's return.
    `metadata_url` is a client ID metadata document. `assertion` is a token made by others (a workload or
    identity provider), `assertion_file` a file with a current one.
    """

    grant: Grant = "code"
    client_id: str = ""
    client_secret: str = ""
    method: AuthMethod = ""
    port: int = 0
    scopes: tuple[str, ...] = ()
    metadata_url: str = ""
    issuer: str = ""
    private_key: str = ""
    algorithm: str = "ES256"
    assertion: str = ""
    assertion_file: str = ""
    idp_endpoint: str = ""
    idp_client_id: str = ""
    idp_client_secret: str = ""

    def secrets(self) -> tuple[str, ...]:
        """The values that must be redacted."""
        return (self.client_secret, self.private_key, self.assertion, self.idp_client_secret)


def is_secure_url(url: str) -> bool:
    """Whether a secret may be sent to `url`: over https, or to this machine."""
    parts = urlsplit(url)
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)


def parse_config(name: str, table: Mapping[str, Json]) -> OAuthConfig:
    """Parse the `oauth` table of the server `name`. Raises `LoginFailed` naming the wrong key."""

    def invalid(key: str, expected: str) -> LoginFailed:
        return LoginFailed(f"MCP server {name}: `oauth.{key}` must be {expected}", HINT)

    texts: dict[str, str] = {}
    for key, field in CONFIG_KEYS.items():
        value = table.get(key, table.get(field, ""))
        if not isinstance(value, str):
            raise invalid(key, "a string")
        texts[field] = value
    grant = _choose(name, "grant", texts.pop("grant") or "code", GRANTS)
    method = _choose(name, "tokenEndpointAuthMethod", texts.pop("method"), METHODS)
    port = table.get("callbackPort", table.get("callback_port", 0))
    if not isinstance(port, int) or isinstance(port, bool) or not 0 <= port < 65536:
        raise invalid("callbackPort", f"a port number from 1 to 65535, not {port!r}")
    scopes = table.get("scopes", table.get("scope", []))
    scopes = [*scopes.split()] if isinstance(scopes, str) else scopes
    if not isinstance(scopes, list) or not all(isinstance(scope, str) for scope in scopes):
        raise invalid("scopes", "a list of strings")
    if texts["metadata_url"] and not texts["metadata_url"].startswith("https://"):
        raise invalid("clientMetadataUrl", f"an https address, not {texts['metadata_url']}")
    endpoint = texts["idp_endpoint"]
    if grant == "enterprise" and endpoint and not is_secure_url(endpoint):
        raise invalid("idpTokenEndpoint", f"an https address, not {endpoint}")
    texts["algorithm"] = texts["algorithm"] or "ES256"
    config = OAuthConfig(grant, method=method, port=port, scopes=tuple(map(str, scopes)), **texts)
    for key, required in _required_values(config).items():
        if not required:
            raise LoginFailed(f"MCP server {name}: `oauth.{key}` is missing; grant '{grant}' needs it", HINT)
    return config


def _choose(name: str, key: str, value: str, known: Sequence[T]) -> T:
    for choice in known:
        if choice == value:
            return choice
    names = ", ".join(filter(None, known))
    raise LoginFailed(f"MCP server {name}: unknown `oauth.{key}` '{value}'; choose {names}")


def _required_values(config: OAuthConfig) -> dict[str, str]:
    """The values that the grant needs, by key. Without `issuer` the server itself would choose who gets the
    secret."""
    required = {"clientId": config.client_id, "issuer": config.issuer}
    assertion = {"assertion` or `oauth.assertionFile": config.assertion or config.assertion_file}
    match config.grant:
        case "code":
            return {}
        case "client_credentials":
            secret = config.client_secret or config.private_key
            return {**required, "clientSecret` or `oauth.privateKey": secret}
        case "jwt_bearer":
            return required | assertion
        case "enterprise":
            idp = {"idpTokenEndpoint": config.idp_endpoint, "idpClientId": config.idp_client_id}
            return required | assertion | idp
