"""What may run: permission rules, role rights, verdicts, modes, approvals and the hunk ledger.

Values and functions that know no agent; `calls/call_permission.py` applies them to a call. Must not
import agent or anything above it.
"""
