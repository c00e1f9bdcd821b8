"""Command rules: the `CommandRule` value, the YAML reader and the compiled built-in rules.

The YAML files here are the source; `python -m cockpit.safety.rules.compiled_rules` compiles them. Knows
no shell: `safety.policy` loads and verifies rule sets.
"""
