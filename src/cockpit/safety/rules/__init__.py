"""Command rules: the `CommandRule` value, the YAML reader and the compiled built-in rules.

`readers.yaml` and `git.yaml` list the commands that run without a question, `asks.yaml` those that ask.
After an edit run `python -m cockpit.safety.rules.compiled_rules`. Knows no shell: `safety.policy` loads and
verifies rule sets.
"""
