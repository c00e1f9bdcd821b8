"""The `oauth` table of a server's entry in `.mcp.json`, and the failures of a login."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args
from urllib.parse import urlsplit

from cockpit.errors import CockpitError
from cockpit.protocol.messages import Json

Grant = Literal["code", "client_credentials", "jwt_bearer", "enterprise"]
AuthMethod = Literal["none", "client_secret_basic", "client_secret_post", "private_key_jwt"]
GRANTS: tuple[Grant, ...] = get_args(Grant)
METHODS: tuple[AuthMethod, ...] = get_args(AuthMethod)
LOOPBACK = ("localhost", "127.0.0.1", "::1")
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
    """A server requires a login, and there is no user to log in."""


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
    method: AuthMethod | Literal[""] = ""
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
    result = urlsplit(url)
    return result.scheme == "https" or (result.scheme == "http" and result.hostname in LOOPBACK)


def parse_config(name: str, table: Mapping[str, Json]) -> OAuthConfig:
    """Parse the `oauth` table of the server `name`. Raises `LoginFailed` naming the wrong key."""
    texts: dict[str, str] = {}
    for key, own in CONFIG_KEYS.items():
        value = table.get(key, table.get(own, ""))
        if not isinstance(value, str):
            raise _invalid_value(name, key, "a text")
        texts[own] = value
    grant_name, method_name = texts.pop("grant") or "code", texts.pop("method")
    grant = next((grant for grant in GRANTS if grant == grant_name), None)
    if grant is None:
        raise _invalid_value(name, "grant", f"one of {', '.join(GRANTS)}")
    method: AuthMethod | Literal[""] = next((method for method in METHODS if method == method_name), "")
    if method_name and not method:
        raise _invalid_value(name, "tokenEndpointAuthMethod", f"one of {', '.join(METHODS)}")
    algorithm = texts.pop("algorithm") or "ES256"
    port, scopes = _parse_port(name, table), _parse_scopes(name, table)
    config = OAuthConfig(grant, method=method, port=port, scopes=scopes, algorithm=algorithm, **texts)
    return _check_config(name, config)


def _check_config(name: str, config: OAuthConfig) -> OAuthConfig:
    if config.metadata_url and not config.metadata_url.startswith("https://"):
        raise _invalid_value(name, "clientMetadataUrl", "an https address with a path")
    if config.grant == "code":
        return config
    # Otherwise the server itself would decide who gets the secret.
    needed = {"clientId": config.client_id, "issuer": config.issuer}
    match config.grant:
        case "client_credentials":
            needed["clientSecret` or `privateKey"] = config.client_secret or config.private_key
        case "jwt_bearer":
            needed["assertion` or `assertionFile"] = config.assertion or config.assertion_file
        case "enterprise":
            needed["assertion` or `assertionFile"] = config.assertion or config.assertion_file
            needed["idpTokenEndpoint"] = config.idp_endpoint
            needed["idpClientId"] = config.idp_client_id
            if config.idp_endpoint and not is_secure_url(config.idp_endpoint):
                raise _invalid_value(name, "idpTokenEndpoint", "an https address")
    for key, value in needed.items():
        if not value:
            raise LoginFailed(
                f"MCP server {name}: `oauth.{key}` is missing", f"the grant {config.grant} requires it"
            )
    return config


def _parse_port(name: str, table: Mapping[str, Json]) -> int:
    port = table.get("callbackPort", table.get("callback_port", 0))
    if not isinstance(port, int) or isinstance(port, bool) or not 0 <= port < 65536:
        raise _invalid_value(name, "callbackPort", "a port number from 1 to 65535")
    return port


def _parse_scopes(name: str, table: Mapping[str, Json]) -> tuple[str, ...]:
    scopes = table.get("scopes", table.get("scope", []))
    if isinstance(scopes, str):
        return tuple(scopes.split())
    if not isinstance(scopes, list) or not all(isinstance(scope, str) for scope in scopes):
        raise _invalid_value(name, "scopes", "a list of texts")
    return tuple(str(scope) for scope in scopes)


def _invalid_value(name: str, key: str, words: str) -> LoginFailed:
    return LoginFailed(f"MCP server {name}: `oauth.{key}` must be {words}", "docs/use/mcp-login.md")
