"""Verdicts on bash command lines, judged from their syntax tree.

Start at `line_verdict.judge_bash`: `line_walker` lists the commands of a line, `command_verdict` judges
each, and the strictest verdict wins. Which programs run without a question is listed in
`cockpit.safety.rules`. Imports nothing of `safety.powershell` or `safety.engine`, and runs nothing.
"""
