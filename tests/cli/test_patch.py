"""`cockpit patch`: 0 applied, 1 refused with the tree untouched, 2 a fault of usage; the corpora where they
are at hand."""

import json
import os
import shutil
from pathlib import Path

import pytest
from tests.support.in_process import cockpit
from tests.workspace.trees import grow, tree

pytestmark = pytest.mark.slow

SHARED = Path(__file__).parents[3] / "shared" / "corpora"
PATCH = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"


def patched(root: Path, text: str | bytes, *more: str) -> tuple[int, dict[str, object]]:
    ended = cockpit("patch", "-", "--root", str(root), "--json", *more, cwd=root, stdin=text)
    return ended.code, json.loads(ended.out)


@pytest.fixture
def ground(root: Path) -> Path:
    grow(root, {"a.txt": "zero\none\ntwo\n", "sub/b.txt": "b\n"})
    return root


def test_patch_from_a_file_is_applied_and_reported(ground: Path) -> None:
    (ground.parent / "p.diff").write_text(PATCH, encoding="utf-8")
    ended = cockpit("patch", str(ground.parent / "p.diff"), "--root", str(ground), cwd=ground.parent)
    assert ended.code == 0 and (ground / "a.txt").read_bytes() == b"zero\none\n2\n"
    assert ended.out.splitlines() == [
        "modified a.txt  +1 -1",
        "note: a.txt: part 1 found at line 2, not 1",
    ]


def test_dry_run_writes_nothing_and_lists_each_hunk(ground: Path) -> None:
    before = tree(ground)
    code, told = patched(ground, PATCH, "--dry-run")
    assert code == 0 and tree(ground) == before and told["applied"] is False and told["dry_run"] is True
    assert told["files"] == [
        {
            "path": "a.txt",
            "change": "modified",
            "from": "",
            "added": 1,
            "removed": 1,
            "mode": "644",
            "hunks": [{"hunk": 1, "patch_line": 3, "line": 2, "asked": 1, "matched": "exact"}],
        }
    ]


def test_a_refusal_names_file_hunk_and_the_nearest_line(ground: Path) -> None:
    before = tree(ground)
    code, told = patched(ground, PATCH.replace("-two", "-twoo"))
    assert code == 1 and tree(ground) == before and told["applied"] is False
    assert (told["path"], told["hunk"], told["patch_line"], told["nearest"]) == ("a.txt", 1, 3, 2)
    assert told["reason"] == "a.txt, part 1 (patch line 3): line 3 is 'two', not 'twoo'"


@pytest.mark.parametrize(
    "words", [(), ("p.diff",), ("nothing.diff", "--root", "."), ("-", "--root", "no-such-folder")]
)
def test_usage_errors_exit_with_2(ground: Path, words: tuple[str, ...]) -> None:
    assert cockpit("patch", *words, cwd=ground).code == 2


REFUSED: dict[str, tuple[str, str]] = {
    "empty": ("", "empty"),
    "no patch": ("hello\n", "not a patch"),
    "absolute": ("*** Begin Patch\n*** Add File: /tmp/x\n+x\n*** End Patch\n", "relative to the root"),
    "upwards": ("--- a/../x\n+++ b/../x\n@@ -0,0 +1 @@\n+x\n", "goes up"),
    "git's folder": ("*** Begin Patch\n*** Add File: .git/hooks/x\n+x\n*** End Patch\n", "git"),
    "link": ("--- a/link\n+++ b/link\n@@ -1 +1 @@\n-b\n+c\n", "symbolic link"),
    "over a link": ("--- a/way/b.txt\n+++ b/way/b.txt\n@@ -1 +1 @@\n-b\n+c\n", "symbolic link"),
    "hard link": ("--- a/hard\n+++ b/hard\n@@ -1 +1 @@\n-x\n+c\n", "hard link"),
    "fifo": ("--- a/pipe\n+++ b/pipe\n@@ -1 +1 @@\n-b\n+c\n", "FIFO"),
    "folder": ("*** Begin Patch\n*** Delete File: sub\n*** End Patch\n", "folder"),
    "below a file": ("*** Begin Patch\n*** Add File: a.txt/x\n+x\n*** End Patch\n", "a file"),
    "not UTF-8": ("--- a/latin\n+++ b/latin\n@@ -1 +1 @@\n-b\n+c\n", "not UTF-8"),
    "too large": ("--- a/big\n+++ b/big\n@@ -1 +1 @@\n-b\n+c\n", "5 MiB"),
    "binary": ("diff --git a/x b/x\nindex 1..2 100644\nBinary files a/x and b/x differ\n", "binary"),
    "a new link": (
        "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+a\n",
        "symbolic link",
    ),
    "a submodule": (
        "diff --git a/m b/m\nindex 1234567..89abcde 160000\n--- a/m\n+++ b/m\n@@ -1 +1 @@\n-a\n+b\n",
        "submodule",
    ),
    "another case": ("*** Begin Patch\n*** Add File: A.TXT\n+x\n*** End Patch\n", "differs only in case"),
    "a folder of another case": (
        "*** Begin Patch\n*** Add File: SUB/c\n+x\n*** End Patch\n",
        "differs only in case",
    ),
    "exists": ("*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch\n", "exists already"),
    "combined": (
        "diff --cc a.txt\nindex 1,2..3\n--- a/a.txt\n+++ b/a.txt\n@@@ -1,1 -1,1 +1,1 @@@\n--a\n++b\n",
        "combined",
    ),
    "one part fails": (
        "*** Begin Patch\n*** Add File: new/x\n+x\n*** Update File: a.txt\n@@\n-no\n+yes\n*** End Patch\n",
        "no line 'no'",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_patch_changes_nothing_and_is_explained(ground: Path, name: str) -> None:
    grow(ground, {"hard1": "x\n", "latin": b"\xff\n", "big": b"b\n" * 3_000_000})
    (ground / "hard").hardlink_to(ground / "hard1")
    (ground / "link").symlink_to("sub/b.txt")
    (ground / "way").symlink_to("sub")
    os.mkfifo(ground / "pipe")
    before = sorted(str(path) for path in ground.rglob("*")), (ground / "a.txt").read_bytes()
    text, reason = REFUSED[name]
    code, told = patched(ground, text)
    assert code == 1 and reason in str(told["reason"]), told
    assert (sorted(str(path) for path in ground.rglob("*")), (ground / "a.txt").read_bytes()) == before


APPLIED: dict[str, tuple[str, dict[str, str]]] = {
    "chatter and fences": (f"Here it is:\n\n```diff\n{PATCH}```\nDone.\n", {"a.txt": "zero\none\n2\n"}),
    "a heredoc": (
        "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: n\n+n\n*** End Patch\nEOF\n",
        {"n": "n\n"},
    ),
    "without prefixes": (
        PATCH.replace("a/a.txt", "a.txt").replace("b/a.txt", "a.txt"),
        {"a.txt": "zero\none\n2\n"},
    ),
    "folders that diff -r compared": (
        PATCH.replace("a/a", "old/a").replace("b/a", "new/a"),
        {"a.txt": "zero\none\n2\n"},
    ),
    "dates": (
        PATCH.replace("a.txt\n", "a.txt\t2024-01-01 10:00:00.000 +0100\n"),
        {"a.txt": "zero\none\n2\n"},
    ),
    "a patch in CRLF": (PATCH.replace("\n", "\r\n"), {"a.txt": "zero\none\n2\n"}),
    "no context": (
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,0 +2 @@\n+half\n@@ -3 +4 @@\n-two\n+2\n",
        {"a.txt": "zero\nhalf\none\n2\n"},
    ),
    "hunks out of order": (
        "--- a/a.txt\n+++ b/a.txt\n@@ -3 +3 @@\n-two\n+2\n@@ -1 +1 @@\n-zero\n+0\n",
        {"a.txt": "0\none\n2\n"},
    ),
    "the same file twice": (
        PATCH + "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-zero\n+0\n",
        {"a.txt": "0\none\n2\n"},
    ),
    "a quoted name": ('--- /dev/null\n+++ "b/\\303\\274 x.txt"\n@@ -0,0 +1 @@\n+u\n', {"ü x.txt": "u\n"}),
    "a copy": (
        "diff --git a/a.txt b/c.txt\nsimilarity index 100%\ncopy from a.txt\ncopy to c.txt\n",
        {"a.txt": "zero\none\ntwo\n", "c.txt": "zero\none\ntwo\n"},
    ),
    "two that swap": (
        "diff --git a/a.txt b/sub/b.txt\nsimilarity index 100%\nrename from a.txt\nrename to sub/b.txt\n"
        "diff --git a/sub/b.txt b/a.txt\nsimilarity index 100%\nrename from sub/b.txt\nrename to a.txt\n",
        {"a.txt": "b\n", "sub/b.txt": "zero\none\ntwo\n"},
    ),
    "a name in another case": (
        "*** Begin Patch\n*** Update File: a.txt\n*** Move to: A.txt\n*** End Patch\n",
        {"A.txt": "zero\none\ntwo\n"},
    ),
    "words of the other form in it": (
        "--- a/sub/b.txt\n+++ b/sub/b.txt\n@@ -1 +1,2 @@\n b\n+*** Begin Patch\n",
        {"sub/b.txt": "b\n*** Begin Patch\n"},
    ),
    "a mail's foot": (PATCH + "-- \n2.39.2\n", {"a.txt": "zero\none\n2\n"}),
}


@pytest.mark.parametrize("name", APPLIED)
def test_common_patch_forms_are_applied(ground: Path, name: str) -> None:
    text, expected = APPLIED[name]
    code, told = patched(ground, text)
    assert code == 0, told
    for path, content in expected.items():
        assert (ground / path).read_bytes() == content.encode()


def test_shared_corpus_if_present(root: Path) -> None:
    cases = [
        index.parent / json.loads(line)["id"]
        for index in sorted(SHARED.glob("*patch*/index.jsonl"))
        for line in index.read_text(encoding="utf-8").splitlines()
    ]
    for case in cases:
        facts = json.loads((case / "meta.json").read_text(encoding="utf-8"))
        ground = root / case.name
        shutil.copytree(case / "before", ground) if (case / "before").exists() else ground.mkdir()
        for folder in [*ground.rglob("dot_git"), *ground.rglob("dot_cockpit")]:
            folder.rename(folder.with_name(folder.name.replace("dot_", ".")))
        before = tree(ground)
        code = cockpit("patch", str(case / "patch.txt"), "--root", str(ground), cwd=root).code
        if code == 1:
            assert (facts["expect"] == "reject" or facts["accept_reject"]) and tree(ground) == before, case
            continue
        wanted = [case / "after", *(case / one["tree"] for one in facts["alternatives"])]
        now = {path: content for path, (content, _) in tree(ground).items()}
        accepted = [{path: content for path, (content, _) in tree(one).items()} for one in wanted]
        assert code == 0 and facts["expect"] == "apply" and now in accepted, case
