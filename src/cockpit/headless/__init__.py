"""The frontends without a screen: `one_shot` runs one prompt (`-p`), `line_frontend` a session by lines
(`--plain`).

`questions` formats approvals and forms as lines for both, `signals` handles Ctrl+C. They import only
`protocol`.
"""
