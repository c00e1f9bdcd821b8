"""Any change to the audit log is detected: changed, cut, moved, inserted or replaced lines."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.plugin.safety import CommandPart, Verdict
from cockpit.protocol.messages import ToolCall, ToolResult
from cockpit.safety import audit_log
from cockpit.safety.audit_chain import ChainReader
from cockpit.safety.audit_log import AuditFailed, AuditLog
from cockpit.safety.audit_report import read_records, summarize, verify_audit

ASK = Verdict("ask", "writes a file", 30, frozenset({"fs.write"}), ("write.file",))


def filled(folder: Path, lines: int = 6, session: str = "s1") -> Path:
    audit = AuditLog(session, folder)
    for number in range(lines // 2):
        call = ToolCall(f"c{number}", "shell", {"command": "make"})
        audit.decided("main", call, ASK, "allow_once", approver="person", latency_ms=1200, seal="ab" * 32)
        audit.finished("main", ToolResult(call.id, "shell", "ok", "done", isolation="bwrap build"))
    return audit_log.current_file(folder)


def fault(folder: Path) -> tuple[str, int]:
    found = verify_audit(folder, {})
    assert not found.is_whole
    return ("", 0) if found.fault is None else (found.fault.file, found.fault.line)


def test_an_untouched_chain_is_whole(tmp_path: Path) -> None:
    filled(tmp_path)
    found = verify_audit(tmp_path, {})
    assert found.is_whole and (found.lines, found.files, found.unchained) == (6, 1, 0)


def test_every_changed_byte_is_found_and_its_line_named(tmp_path: Path) -> None:
    file = filled(tmp_path)
    raw = file.read_bytes()
    for at in range(len(raw)):
        for bit in (1, 0x20):
            reader = ChainReader()
            reader.file("audit.jsonl", raw[:at] + bytes([raw[at] ^ bit]) + raw[at + 1 :])
            line = raw[:at].count(b"\n") + 1
            # Without its end a line runs into the next: both are named by the first.
            assert reader.fault is not None and reader.fault.line == line, (at, bit)
    file.write_bytes(raw[:100] + bytes([raw[100] ^ 1]) + raw[101:])
    assert fault(tmp_path) == ("audit.jsonl", 1)
    file.write_bytes(raw)
    assert verify_audit(tmp_path, {}).is_whole


def test_every_dropped_swapped_doubled_or_inserted_line_is_found(tmp_path: Path) -> None:
    file = filled(tmp_path)
    lines = file.read_bytes().splitlines(keepends=True)
    for at in range(len(lines)):
        file.write_bytes(b"".join(lines[:at] + lines[at + 1 :]))
        if at < len(lines) - 1:
            assert fault(tmp_path) == ("audit.jsonl", at + 1)
        file.write_bytes(b"".join(lines[: at + 1] + lines[at:]))
        assert fault(tmp_path) == ("audit.jsonl", at + 2)
        file.write_bytes(b"".join([*lines[:at], b'{"what":"decided","outcome":"deny"}\n', *lines[at:]]))
        assert fault(tmp_path) == ("audit.jsonl", at + 1)
        for other in range(at):
            swapped = list(lines)
            swapped[at], swapped[other] = swapped[other], swapped[at]
            file.write_bytes(b"".join(swapped))
            assert fault(tmp_path) == ("audit.jsonl", other + 1)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_any_other_bytes_in_place_of_some_are_found(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("audit")
    file = filled(folder)
    raw = file.read_bytes()
    start = int(data.draw(st.floats(0, 0.999)) * len(raw))
    end = start + data.draw(st.integers(0, 300))
    file.write_bytes(raw[:start] + data.draw(st.binary(max_size=300)) + raw[end:])
    assert file.read_bytes() == raw or not verify_audit(folder, {}).is_whole


def test_cut_tail_is_detected_by_the_stored_head(tmp_path: Path) -> None:
    file = filled(tmp_path)
    lines = file.read_bytes().splitlines(keepends=True)
    for kept in range(len(lines)):
        file.write_bytes(b"".join(lines[:kept]))
        found = verify_audit(tmp_path, {})
        assert found.fault is None and found.missing == ("the head of session s1",)


def test_replaced_log_is_detected(tmp_path: Path) -> None:
    file = filled(tmp_path / "real")
    other = filled(tmp_path / "forged", 4)
    head = json.loads(file.read_bytes().splitlines()[-1])["hash"]
    file.write_bytes(other.read_bytes())
    assert not verify_audit(tmp_path / "real", {}).is_whole
    # Even with the heads of the state folder replaced too: the transcript holds one more.
    forged = (tmp_path / "forged" / "audit-heads" / "s1").read_bytes()
    (tmp_path / "real" / "audit-heads" / "s1").write_bytes(forged)
    assert verify_audit(tmp_path / "real", {}).is_whole
    found = verify_audit(tmp_path / "real", {"the transcript of s1": head})
    assert found.missing == ("the transcript of s1",)


def test_chain_continues_over_files_and_a_lost_file_is_detected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_log, "ROTATE_BYTES", 1500)
    filled(tmp_path, 20)
    filled(tmp_path, 6, "s2")
    files = audit_log.list_files(tmp_path)
    assert len(files) > 3 and files[-1].name == "audit.jsonl"
    found = verify_audit(tmp_path, {})
    assert found.is_whole and found.lines == 26
    second = files[1].read_bytes()
    files[1].unlink()
    assert fault(tmp_path) == (files[2].name, 1)
    files[1].write_bytes(second)
    files[0].unlink()
    assert fault(tmp_path) == (files[1].name, 1)


def test_lines_from_before_the_chain_are_counted_and_no_fault(tmp_path: Path) -> None:
    file = audit_log.current_file(tmp_path)
    file.write_bytes(b'{"what":"decided","tool":"shell"}\n{"what":"finished"}\n')
    filled(tmp_path)
    found = verify_audit(tmp_path, {})
    assert found.is_whole and (found.unchained, found.lines) == (2, 7)
    raw = file.read_bytes()
    file.write_bytes(raw.replace(b'"tool":"shell"', b'"tool":"read!"', 1))
    assert fault(tmp_path) == ("audit.jsonl", 3)
    file.write_bytes(raw.split(b"\n", 1)[1])
    assert fault(tmp_path) == ("audit.jsonl", 2)


def test_line_torn_by_a_crash_is_cut_off_and_the_repair_is_recorded(tmp_path: Path) -> None:
    file = filled(tmp_path, 4)
    torn = b'{"time":1.5,"session":"s1","what":"deci'
    with file.open("ab") as out:
        out.write(torn)
    assert fault(tmp_path) == ("audit.jsonl", 5)
    filled(tmp_path, 2, "s2")
    assert verify_audit(tmp_path, {}).is_whole
    mended = [row for row in read_records(tmp_path) if row["what"] == "mended"]
    assert [row["sha256"] for row in mended] == [hashlib.sha256(torn).hexdigest()]


def test_many_processes_write_one_chain(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from cockpit.safety.audit_log import AuditLog\n"
        "audit = AuditLog(sys.argv[2], Path(sys.argv[1]))\n"
        "for number in range(60): audit.noted('mode_changed', mode=str(number))\n"
    )
    argv = [sys.executable, "-c", program, str(tmp_path)]
    running = [subprocess.Popen([*argv, f"p{number}"]) for number in range(4)]
    assert [item.wait(60) for item in running] == [0, 0, 0, 0]
    found = verify_audit(tmp_path, {})
    assert found.is_whole and found.lines == 240
    # After one of them died in the middle the lock is free.
    subprocess.run(
        [sys.executable, "-c", program.replace("for", "import os\nos._exit(0)\nfor"), str(tmp_path), "x"]
    )
    AuditLog("after", tmp_path).noted("mode_changed")


def test_only_its_owner_may_read_it_and_no_link_is_followed(tmp_path: Path) -> None:
    file = filled(tmp_path)
    if os.name == "posix":
        assert file.stat().st_mode & 0o777 == 0o600
        assert (tmp_path / "audit-heads" / "s1").stat().st_mode & 0o777 == 0o600
        elsewhere = tmp_path / "elsewhere"
        linked = tmp_path / "linked"
        linked.mkdir()
        (linked / "audit.jsonl").symlink_to(elsewhere)
        with pytest.raises(AuditFailed):
            filled(linked)
        assert not elsewhere.exists()


def test_unwritable_log_is_an_error_with_advice(tmp_path: Path) -> None:
    (tmp_path / "audit.jsonl").mkdir()
    with pytest.raises(AuditFailed, match="nothing may run"):
        filled(tmp_path)


def test_decision_records_the_form_and_the_approver_without_secrets(tmp_path: Path) -> None:
    audit = AuditLog("s", tmp_path, lambda text: text.replace("hunter2", "[redacted]"))
    parts = (CommandPart("curl -u me:hunter2 x", ("curl",), "ask", rules=("net",)),)
    audit.decided(
        "main/review-1",
        ToolCall("c", "shell", {}),
        ASK,
        "allow_once",
        approver="person",
        latency_ms=12.34,
        seal="ab" * 32,
        argv=("bash", "-c", "curl -u me:hunter2 x"),
        cwd="/work",
        profile="net",
        isolation="bwrap net",
        parts=parts,
        hunks={"accepted": 2, "refused": 1},
    )
    raw = audit_log.current_file(tmp_path).read_text()
    assert "hunter2" not in raw
    row = json.loads(raw)
    assert (row["approver"], row["latency_ms"], row["agent"]) == ("person", 12.3, "main/review-1")
    assert row["form"]["seal"] == "ab" * 32 and row["form"]["profile"] == "net"
    assert row["hunks"] == {"accepted": 2, "refused": 1} and row["parts"][0]["rules"] == ["net"]


def test_summary_counts_what_ran_without_asking_by_rule(tmp_path: Path) -> None:
    audit = AuditLog("s", tmp_path)
    allowed = Verdict("allow", rules=("read.inside",))
    audit.decided("main", ToolCall("1", "read", {}), allowed, "allow", approver="rule")
    audit.decided("main", ToolCall("2", "shell", {}), ASK, "reject_once", approver="person")
    audit.decided("main", ToolCall("3", "shell", {}), ASK, "auto_deny", approver="nobody")
    summary = summarize(read_records(tmp_path), 0.0)
    assert summary.decisions == 3 and summary.unasked == {"read: read.inside": 1}
    assert summary.denied == {"shell": 2}
    assert summary.levels == {"allow": 1, "ask": 2} and summary.asked == 1
