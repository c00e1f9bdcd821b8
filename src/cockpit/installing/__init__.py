"""Installs other people's plugins, bundles and skills: fetch, resolve against cockpit's own packages, stage,
commit, remove.

Start reading in `environment` (staging and commit) and `installer` (uv and pip). Loads and runs no plugin,
and does not decide what is installed: the user does, in `cockpit.cli`.
"""
