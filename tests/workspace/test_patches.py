"""Both forms of patches: the exact result, and refusals that leave every file unchanged."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.workspace.trees import grow, tree

from cockpit.errors import CockpitError
from cockpit.protocol.content import Diff
from cockpit.workspace.files.changes import diff_hunks, format_unified_diff
from cockpit.workspace.local import LocalWorkspace
from cockpit.workspace.patches import planner

HERE = Path(__file__).parent
CASES: list[dict[str, Any]] = tomllib.loads((HERE / "recordings" / "patches.toml").read_text())["case"]
SHARED = HERE.parents[2] / "shared" / "corpora"


async def patch(root: Path, text: str) -> tuple[str, ...]:
    """Put the patch on the tree; its notes."""
    workspace = LocalWorkspace(str(root))
    files = planner.parse_patch(text)
    present: dict[str, bytes | None] = {}
    for path in {file.path for file in files}:
        try:
            present[path] = await workspace.files.read(path)
        except FileNotFoundError:
            present[path] = None
    planned = planner.plan_patch(files, present)
    await workspace.apply(await workspace.plan(planned.edits))
    return planned.notes


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
async def test_recorded_patches(case: dict[str, Any], tmp_path: Path) -> None:
    grow(tmp_path, case["before"])
    before = tree(tmp_path)
    if "refused" in case:
        with pytest.raises(CockpitError) as raised:
            await patch(tmp_path, case["patch"])
        assert re.search(case["refused"], str(raised.value)), str(raised.value)
        assert tree(tmp_path) == before
        return
    notes = await patch(tmp_path, case["patch"])
    assert case.get("note", "") in " ".join(notes)
    now = {name: content for name, content in tree(tmp_path).items() if content[0] is not None}
    assert {name: content for name, (content, _) in now.items()} == {
        name: text.encode() for name, text in case["after"].items()
    }
    for name, mode in case.get("modes", {}).items():
        assert now[name][1] == mode


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"\xff\xfe\n", "not UTF-8"), (b"a\0b\n", "binary"), (b"x" * (5 * 1024 * 1024 + 1), "5 MiB")],
)
def test_files_that_are_not_text_are_refused_by_name(content: bytes, reason: str) -> None:
    files = planner.parse_patch("*** Begin Patch\n*** Update File: a.dat\n@@\n-x\n+y\n*** End Patch")
    with pytest.raises(CockpitError, match=rf"a\.dat.*{reason}"):
        planner.plan_patch(files, {"a.dat": content})


LINES = st.lists(st.sampled_from(["a", "b", "c\r", "", "-- x", "++ y", "\u2028", "\x0c", "é"]), max_size=25)
TEXT = st.builds(lambda lines, end: "\n".join(lines) + end, LINES, st.sampled_from(["", "\n"]))


@given(TEXT, TEXT)
@settings(max_examples=400)
def test_a_diff_of_two_texts_makes_one_of_the_other(before: str, after: str) -> None:
    made = diff_hunks(before.encode(), after.encode(), "f")
    if not made:
        assert before == after
        return
    text = format_unified_diff(Diff("f", made, 0, 0))
    (edit,) = planner.plan_patch(planner.parse_patch(text), {"f": before.encode()}).edits
    assert getattr(edit, "content", None) == after.encode()


@given(st.text(alphabet="ab+- @*\n\\/.", max_size=200))
@settings(max_examples=300)
def test_any_text_is_parsed_or_refused_with_a_message(text: str) -> None:
    for form in (
        text,
        f"*** Begin Patch\n*** Update File: a\n{text}\n*** End Patch",
        f"--- a/a\n+++ b/a\n{text}",
    ):
        try:
            planner.plan_patch(planner.parse_patch(form), {"a": b"a\nb\n"})
        except CockpitError as error:
            assert error.message


def shared_cases() -> list[Path]:
    """The team's own cases where their folder is beside this one; none elsewhere."""
    return [
        path.parent / json.loads(line)["id"]
        for name in ("patches", "apply_patch_peer")
        for path in SHARED.glob(f"{name}/index.jsonl")
        for line in path.read_text().splitlines()
    ]


async def test_recorded_cases(tmp_path: Path) -> None:
    for case in shared_cases():
        facts = json.loads((case / "meta.json").read_text())
        root = tmp_path / case.name
        grow(root, contents(case / "before"))
        before = tree(root) if root.exists() else {}
        root.mkdir(exist_ok=True)
        try:
            await patch(root, (case / "patch.txt").read_bytes().decode())
        except (CockpitError, OSError):
            assert facts["expect"] == "reject" or facts["accept_reject"], case.name
            assert tree(root) == before, case.name
            continue
        accepted = [
            contents(case / name) for name in ("after", *(one["tree"] for one in facts["alternatives"]))
        ]
        assert facts["expect"] == "apply" and contents(root) in accepted, case.name


def contents(root: Path) -> dict[str, bytes | str]:
    return {name: content for name, (content, _) in tree(root).items() if content is not None}
