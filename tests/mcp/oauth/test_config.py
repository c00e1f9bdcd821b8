"""The `oauth` table of an entry, and its errors."""

import pytest

from cockpit.mcp.oauth.config import LoginFailed, is_secure_url, parse_config
from cockpit.protocol.messages import Json


def test_an_entry_of_claude_is_read_as_it_stands() -> None:
    table: dict[str, Json] = {"clientId": "abc", "callbackPort": 8080, "scopes": "read write"}
    wanted = parse_config("github", table)
    assert (wanted.client_id, wanted.port, wanted.scopes) == ("abc", 8080, ("read", "write"))
    assert wanted.grant == "code"


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"clientId": 3}, "oauth.clientId` must be a string"),
        ({"callbackPort": "8080"}, "oauth.callbackPort` must be a port"),
        ({"callbackPort": 70000}, "oauth.callbackPort` must be a port"),
        ({"scopes": [1]}, "oauth.scopes` must be a list of strings"),
        ({"grant": "password"}, "unknown `oauth.grant` 'password'; choose code, client_credentials"),
        (
            {"tokenEndpointAuthMethod": "magic"},
            "unknown `oauth.tokenEndpointAuthMethod` 'magic'; choose none, client_secret_basic",
        ),
        ({"clientMetadataUrl": "http://a.example/c.json"}, "an https address"),
        ({"grant": "client_credentials", "clientId": "a", "clientSecret": "b"}, "oauth.issuer` is missing"),
        (
            {"grant": "client_credentials", "clientId": "a", "issuer": "i"},
            "clientSecret` or `oauth.privateKey",
        ),
        ({"grant": "jwt_bearer", "clientId": "a", "issuer": "i"}, "assertion` or `oauth.assertionFile"),
        (
            {
                "grant": "enterprise",
                "clientId": "a",
                "issuer": "i",
                "assertion": "t",
                "idpClientId": "c",
                "idpTokenEndpoint": "http://idp.example/token",
            },
            "oauth.idpTokenEndpoint` must be an https address",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_key(table: dict[str, Json], words: str) -> None:
    with pytest.raises(LoginFailed) as failed:
        parse_config("github", table)
    assert words in str(failed.value) and "MCP server github" in str(failed.value)


def test_secrets_go_over_https_or_stay_on_the_machine() -> None:
    assert is_secure_url("https://a.example/token") and is_secure_url("http://127.0.0.1:9/token")
    assert not is_secure_url("http://a.example/token") and not is_secure_url("ftp://localhost/token")
