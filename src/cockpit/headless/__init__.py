"""The frontends without a screen: `one_shot` runs a single prompt (`-p`), `line_frontend` a session line by
line (`--plain`).

`questions` formats approvals and forms as lines, `signals` handles Ctrl+C. They import only `protocol`.
"""
