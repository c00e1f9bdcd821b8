"""Known values and text that looks like a secret are redacted; ordinary text is unchanged."""

import base64
import json
import subprocess
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.plugin.changes import ChangeSet, FileChange
from cockpit.plugin.tools import Done
from cockpit.protocol.content import Code, Diff, Hunk, Table
from cockpit.protocol.events import ToolCallFinished, Warned
from cockpit.protocol.messages import ToolResult
from cockpit.safety import secret_patterns
from cockpit.safety.redaction import RedactedStreams, Redactor, secrets_of
from cockpit.settings import api_keys

ROOT = Path(__file__).parents[2]
VALUE = 'cn-4f7Qm2+Zx9/Lw8 Kt3"Vb6'
KEY = "SHOP_API_KEY"
B = "-----BEGIN RSA "
# Put together here, so that no secret of any shape stands in this file.
LOOKS = {
    "api key": "sk-" + "proj-" + "a1B2c3D4" * 4,
    "github token": "ghp_" + "a1B2c3D4e5" * 4,
    "gitlab token": "glpat-" + "a1B2c3D4e5" * 2,
    "aws key": "AKIA" + "IOSFODNN7EXAMPLE",
    "slack token": "xoxb-" + "123456789012-abcdefABCDEF",
    "google key": "AIza" + "a1B2c3D" * 5,
    "jwt": "eyJ" + "hbGciOiJIUzI1NiJ9" + ".eyJ" + "zdWIiOiIxMjM0In0" + ".dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
    "npm token": "npm_" + "a1B2c3D4e" * 4,
    "stripe key": "sk_" + "live_" + "a1B2c3D4e5F6g7H8",
    "private key": f"{B}PRIVATE KEY-----\n"
    + ("MIIEpAIBAAKCAQEA0" * 4 + "\n") * 3
    + "-----END RSA PRIVATE KEY-----",
    "password in a url": "postgres://me:" + "s3cr3tpw" + "@db.example:5432/shop",
    "authorization": "Authorization: " + "Basic dXNlcjpodW50ZXIy",
    "bearer token": "curl -H 'bearer " + "abcDEF123456abcDEF123456'",
    "assigned secret": 'db_password = "' + "hunter22xyz9Q" + '"',
}


@pytest.fixture
def redactor() -> Redactor:
    return Redactor(
        {KEY: VALUE, "PATH": "/usr/bin:/bin:/sbin", "DEBUG_TOKEN": "disabled", "PG_PASSWORD": "postgres"}
    )


def test_a_known_value_is_redacted_in_every_form(redactor: Redactor) -> None:
    raw = VALUE.encode()
    forms = [
        VALUE,
        quote(VALUE, safe=""),
        json.dumps(VALUE),
        raw.hex(),
        raw.hex().upper(),
        *(base64.b64encode(b"x" * pad + raw + b"tail").decode() for pad in range(4)),
        *(base64.urlsafe_b64encode(b"x" * pad + raw + b"tail").decode() for pad in range(4)),
        "\n".join(VALUE[at : at + 5] for at in range(0, len(VALUE), 5)),
        base64.encodebytes(b"a longer text before it, wrapped by lines of 76: " + raw + b"!" * 40).decode(),
    ]
    for form in forms:
        clean = redactor.text(f"before {form} after")
        assert f"[redacted {KEY}]" in clean, form
        assert clean.startswith("before ") and clean.endswith(" after")


def test_short_values_and_paths_are_not_redacted(redactor: Redactor) -> None:
    text = "postgres is disabled in /usr/bin:/bin:/sbin"
    assert redactor.text(text) == text
    assert (
        Redactor({"SSH_AUTH_SOCK": "/tmp/ssh-abc/agent.12345"})
        .text("/tmp/ssh-abc/agent.12345")
        .startswith("/tmp")
    )


@pytest.mark.parametrize("kind", LOOKS)
def test_what_looks_like_a_secret_is_redacted(kind: str) -> None:
    text = LOOKS[kind]
    clean = Redactor({}).text(f"x {text} y")
    assert f"[redacted {kind}]" in clean, clean
    secret = text.split()[-1].strip("'\"")
    assert secret not in clean


def test_ordinary_text_is_unchanged() -> None:
    """This repository and its history: nothing in it is a secret, so nothing may be changed but what tests
    made to look like one."""
    listed = subprocess.run(("git", "ls-files", "-z"), cwd=ROOT, capture_output=True, check=True).stdout
    found = []
    for name in listed.decode().split("\0"):
        path = ROOT / name
        if path.is_file() and path.suffix in (".py", ".md", ".toml", ".yaml", ".json", ".txt", ".sh", ""):
            text = path.read_bytes().decode("utf-8", "replace")
            found += [
                (name, kind, text[start:end]) for start, end, kind in secret_patterns.find_secrets(text)
            ]
    strange = [item for item in found if not item[0].startswith("tests/")]
    assert strange == []
    assert len(found) < 40, found


CODE = """
token = parse_token(line)
password: str = getpass("Password: ")
secret = os.environ["MY_SECRET_2"]
api_key=config.api_key_v2
def secret_of(token: str = "token") -> None: ...
https://user@host/path git@github.com:me/repo.git http://localhost:8080/a
max_tokens: 128000  "tokens": 4096, token_count = 123456
sk-learn task-list-0123456789-abcdefgh-ijkl npm_config_registry
password = "correct horse battery staple"
token: Literal["a1", "b2"]; credential.helper=store; secretName: my-app-tls-2
commit 4f7a9c0d1e2b3c4d5e6f7a8b9c0d1e2b3c4d5e6f
"""


def test_code_about_secrets_is_unchanged() -> None:
    assert Redactor({}).text(CODE) == CODE


@given(st.data())
@settings(max_examples=50, deadline=None)
def test_no_cut_of_a_stream_lets_a_secret_through(data: st.DataObject) -> None:
    redactor = Redactor({KEY: VALUE})
    kind = data.draw(st.sampled_from([*LOOKS, ""]))
    secret = LOOKS.get(kind, VALUE)
    text = f"so it says {secret} and goes on\nwith more words to come."
    streams = RedactedStreams(redactor)
    out, at = "", 0
    while at < len(text):
        step = data.draw(st.integers(1, 30))
        out += streams.feed(("m",), text[at : at + step])
        at += step
    out += streams.end(("m",))
    assert f"[redacted {kind or KEY}]" in out
    core = secret.split()[-1].strip("'\"").split("@")[0].rpartition(":")[2]
    core = "AAKCAQEA0" if kind == "private key" else core
    assert core not in out and core[4:] not in out
    assert out.startswith("so it says ") and out.endswith("with more words to come.")


def test_stream_without_secrets_is_unchanged() -> None:
    streams = RedactedStreams(Redactor({KEY: VALUE}))
    text = CODE * 3
    out = "".join(streams.feed(("m",), text[at : at + 3]) for at in range(0, len(text), 3))
    assert out + streams.end(("m",)) == text


def test_file_reads_lose_known_values_only(redactor: Redactor) -> None:
    look = LOOKS["github token"]
    blocks = (
        Code(f"{VALUE} {look}"),
        Diff("a", (Hunk("1", 1, 1, 1, 1, (f"+{VALUE}",)),), 1, 0),
        Table(("x",), ((VALUE,),)),
    )
    done = Done(f"{VALUE} {look}", blocks, {"out": [VALUE]})
    ran = redactor.done(done, "execute", "c1")
    assert VALUE not in repr(ran) and look not in repr(ran)
    read = redactor.done(done, "read", "c2")
    assert VALUE not in repr(read) and look in read.text
    event = ToolCallFinished(ToolResult("c2", "read", "ok", read.text))
    assert redactor.event(event) == event
    assert look not in repr(redactor.event(Warned(f"it failed: {look}")))


def test_raw_setting_leaves_file_reads_unchanged() -> None:
    redactor = Redactor({KEY: VALUE}, "raw")
    done = redactor.done(Done(VALUE), "read", "c1")
    assert done.text == VALUE
    assert VALUE in repr(redactor.event(ToolCallFinished(ToolResult("c1", "read", "ok", VALUE))))
    assert VALUE not in repr(redactor.event(ToolCallFinished(ToolResult("c2", "shell", "ok", VALUE))))


def changed(before: str, after: str) -> ChangeSet:
    return ChangeSet((FileChange("a.py", before.encode(), after.encode(), "", (), 0o644),))


def test_redaction_marker_is_never_written_into_a_file(redactor: Redactor) -> None:
    assert redactor.find_new_marker(changed("key = 1\n", f"key = '[redacted {KEY}]'\n")) == "a.py"
    assert redactor.find_new_marker(changed("key = 1\n", "see [redacted github token]\n")) == "a.py"
    there = f"docs say [redacted {KEY}]\n"
    assert redactor.find_new_marker(changed(there, f"{there}more\n")) == ""
    assert redactor.find_new_marker(changed("x\n", "docs say [redacted NAME]\n")) == ""


def test_saved_keys_are_redacted_from_then_on(redactor: Redactor) -> None:
    key = "kk-7Zq1Vb8Nm2Lp4Rt6"
    assert redactor.text(key) == key
    api_keys.save_key("shopmodel", key)
    assert redactor.text(f"401: bad key {key}") == "401: bad key [redacted shopmodel key]"


def test_env_files_count_only_in_trusted_folders(root: Path) -> None:
    (root / ".env.local").write_text("STRIPE_SECRET=abc123def456ghi\nNAME=plain-name-of-shop\n")
    assert secrets_of(str(root), False, {}) == {}
    redactor = Redactor(secrets_of(str(root), True, {}))
    assert (
        redactor.text("abc123def456ghi plain-name-of-shop") == "[redacted STRIPE_SECRET] plain-name-of-shop"
    )
