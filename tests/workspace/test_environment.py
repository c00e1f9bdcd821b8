"""The environment of child processes."""

import os

from cockpit.workspace.environment import sandbox_environment, scrub_environment


def test_relative_entries_of_the_search_path_are_left_out() -> None:
    given = os.pathsep.join([".", "/usr/bin", "", "bin", "/bin"])
    assert scrub_environment({"PATH": given})["PATH"] == os.pathsep.join(["/usr/bin", "/bin"])


def test_a_key_is_recognised_by_its_value() -> None:
    keys = {
        "INNOCENT": "ghp_" + "a" * 36,
        "MODEL": "sk-" + "b" * 30,
        "INDEX": "https://me:secret@host.example/simple",
        "PEM": "-----BEGIN RSA PRIVATE KEY-----",
    }
    plain = {"SKIN": "sk-dark", "URL": "https://host.example:80/a@b", "LANG": "C"}
    kept = scrub_environment({**keys, **plain})
    assert plain.items() <= kept.items() and not keys.keys() & kept.keys()


def test_a_proxy_with_a_password_is_not_passed_to_a_sandbox() -> None:
    proxy = {"HTTPS_PROXY": "http://me:secret@proxy.example:3128", "HTTP_PROXY": "http://proxy.example:3128"}
    kept = scrub_environment(proxy)
    assert proxy.items() <= kept.items()
    doors = {"SSH_AUTH_SOCK": "/x", "XDG_RUNTIME_DIR": "/run/user/0", "DISPLAY": ":0"}
    inside = sandbox_environment({**kept, **doors}, {"GIVEN": "1"}, "/home/ada")
    assert "HTTPS_PROXY" not in inside and not doors.keys() & inside.keys()
    assert (inside["HTTP_PROXY"], inside["GIVEN"]) == (proxy["HTTP_PROXY"], "1")
    assert (inside["HOME"], inside["USER"], inside["TMPDIR"]) == ("/home/ada", "ada", "/tmp")


def test_git_variables_do_not_reach_a_child() -> None:
    led = dict.fromkeys(
        ("GIT_DIR", "GIT_INDEX_FILE", "GIT_EXTERNAL_DIFF", "GIT_CONFIG_PARAMETERS", "GIT_EXEC_PATH"), "x"
    )
    kept = scrub_environment(
        {**led, "GIT_AUTHOR_NAME": "Ada", "GIT_SSH_COMMAND": "ssh -i k"}, {"GIT_CONFIG_COUNT": "1"}
    )
    assert not set(led) & set(kept)
    assert (kept["GIT_AUTHOR_NAME"], kept["GIT_SSH_COMMAND"], kept["GIT_CONFIG_COUNT"]) == (
        "Ada",
        "ssh -i k",
        "1",
    )
