"""Built-in plugins, written and declared exactly like third-party ones: one file or package each.

Each has an entry point in pyproject.toml, under `[project.entry-points.cockpit]`. `tools` holds the
tools of the model, `models` the providers, `files` loads what users keep in files, `commands` the other
slash commands, `context` what is added to requests, `languages` the programming languages; `policy`
judges command lines and paths. Imports go down this order: `files` and `commands`, `context`, `tools` and
`models`, `policy`. Nothing here imports `core` or a frontend.
"""
