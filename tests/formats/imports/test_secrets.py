"""Secrets of other programs' settings: found where people put them, and nothing else taken for one."""

import pytest

from cockpit.formats.imports.secrets import replace_in_arguments, replace_in_url, replace_secret

WORD = "hunter2hunter2"


@pytest.mark.parametrize(
    ("words", "out"),
    [
        (("--dsn", f"postgres://me:{WORD}@db/x"), ("--dsn", "postgres://me:${DB_KEY_PASSWORD}@db/x")),
        ((f"redis://:{WORD}@db",), ("redis://:${DB_KEY_PASSWORD}@db",)),
        (("--api-key", WORD), ("--api-key", "${DB_API_KEY}")),
        ((f"--password={WORD}",), ("--password=${DB_PASSWORD}",)),
        (("-e", f"GITHUB_TOKEN={WORD}"), ("-e", "GITHUB_TOKEN=${DB_GITHUB_TOKEN}")),
        (
            ("mcp-remote", "--header", f"Authorization: Bearer {WORD}"),
            ("mcp-remote", "--header", "Authorization: Bearer ${DB_AUTHORIZATION}"),
        ),
        (
            ("--config", f'{{"apiKey": "{WORD}", "n": 1}}'),
            ("--config", '{"apiKey": "${DB_KEY_APIKEY}", "n": 1}'),
        ),
        ((f"https://x.example/mcp?api_key={WORD}",), ("https://x.example/mcp?api_key=${DB_KEY_API_KEY}",)),
    ],
)
def test_no_secret_of_a_command_line_stays(words: tuple[str, ...], out: tuple[str, ...]) -> None:
    assert replace_in_arguments(words, "db")[0] == out
    assert replace_in_arguments(words, "db")[1]


@pytest.mark.parametrize(
    "words",
    [
        ("-y", "@scope/key-server", "--port", "8080"),
        ("--author", "me", "--url", "https://x.example/mcp?page=2"),
        ("-m", "http.server", "a: b", "user@host"),
        ("--token-file", "~/.token"),
        ("--dsn", "postgres://me:${DB_PASSWORD}@db/x"),
    ],
)
def test_values_without_secrets_are_unchanged(words: tuple[str, ...]) -> None:
    assert replace_in_arguments(words, "db") == (words, ())


@pytest.mark.parametrize(
    ("url", "out"),
    [
        (f"https://me:{WORD}@x.example/mcp", "https://me:${S_PASSWORD}@x.example/mcp"),
        ("https://x.example/s/NjM4ZWQ0YTEtOGI1Ny00/mcp", "https://x.example/s/NjM4ZWQ0YTEtOGI1Ny00/mcp"),
        ("https://x.example/s/NjM4ZWQ0YTEtOGI1Ny00ZTQ1/mcp", "https://x.example/s/${S_KEY}/mcp"),
        ("https://x.example/sk-0123456789ab/sse", "https://x.example/${S_KEY}/sse"),
        ("https://x.example/mcp?token=abc&page=2", "https://x.example/mcp?token=${S_TOKEN}&page=2"),
        ("https://api.example.com/v1/model-context-protocol-server", ""),
        ("http://localhost:8000/mcp", ""),
    ],
)
def test_an_address_keeps_no_key(url: str, out: str) -> None:
    assert replace_in_url(url, "s").text == (out or url)


def test_the_address_of_a_database_in_a_variable_keeps_no_password() -> None:
    made = replace_secret("DATABASE_URL", f"postgres://me:{WORD}@db/x", "DB_DATABASE_URL")
    assert WORD not in made.text and made.variables == ("DB_DATABASE_URL_PASSWORD",)
