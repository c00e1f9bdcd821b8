"""Verdicts on command lines and paths, redaction of secrets, and the audit log.

Runs nothing. Start at `engine.judge_line` (one command line), `path_classifier` (one path) and `policy`
(rules in force). Sub-packages from top to bottom: `powershell`, `bash`, `rules`. Knows nothing of
sessions, approvals or tools.
"""
