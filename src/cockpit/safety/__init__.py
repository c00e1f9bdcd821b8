"""Verdicts on command lines and paths, redaction, the audit log. Runs nothing."""
