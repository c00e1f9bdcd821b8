"""Verdicts on PowerShell command lines.

Start at `line_verdict.judge_powershell`: `reader` splits the text, `scope` tracks known values,
`commands` judges each command. Programs that both shells share are judged by `safety.bash`. Runs nothing.
"""
