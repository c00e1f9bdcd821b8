"""The clipboard program of each platform, and the report after copying."""

from cockpit.tui.terminal import clipboard


def test_each_platform_has_its_clipboard() -> None:
    def everything(name: str) -> str:
        return "/bin/" + name

    assert clipboard.find_clipboard_tool("darwin", {}, everything) == ("pbcopy",)
    assert clipboard.find_clipboard_tool("win32", {}, everything) == ("clip.exe",)
    assert clipboard.find_clipboard_tool("linux", {"WAYLAND_DISPLAY": "w"}, everything) == ("wl-copy",)
    assert clipboard.find_clipboard_tool("linux", {"DISPLAY": ":0"}, everything)[0] == "xclip"
    assert clipboard.find_clipboard_tool("linux", {"WSL_DISTRO_NAME": "d"}, everything) == ("clip.exe",)
    assert clipboard.find_clipboard_tool("linux", {}, everything) == ()


def test_over_ssh_the_terminal_copies() -> None:
    assert (
        clipboard.find_clipboard_tool("linux", {"DISPLAY": ":0", "SSH_CONNECTION": "x"}, lambda name: name)
        == ()
    )


def test_the_report_of_a_copy_claims_no_more_than_is_certain() -> None:
    assert "copied" in clipboard.describe_copy("it", 3, ("pbcopy",), True, False)
    unsure = clipboard.describe_copy("it", 3, (), False, True)
    assert "copied" not in unsure and "OSC 52" in unsure and "set-clipboard" in unsure


def test_a_missing_clipboard_program_does_not_crash() -> None:
    assert not clipboard.copy_with_tool(("cockpit-has-no-such-program",), "x")
