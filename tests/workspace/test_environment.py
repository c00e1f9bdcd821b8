"""The environment a child gets says itself which programs are found."""

import os

from cockpit.workspace.environment import scrubbed


def test_a_relative_entry_of_the_search_path_is_left_out() -> None:
    given = os.pathsep.join([".", "/usr/bin", "", "bin", "/bin"])
    assert scrubbed({"PATH": given})["PATH"] == os.pathsep.join(["/usr/bin", "/bin"])
