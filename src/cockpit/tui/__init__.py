"""The full-screen frontend: it holds a `Channel` and a `Deck`, folds events into a state, draws it and
submits ops.

Start with `app`, then `controller`. Keys: `actions.table` and `action_bindings`. Imports neither the core
nor any plugin. What is imported before the first paint is limited to Textual and the modules that draw an
empty cockpit (tests/tui/test_start.py).
"""
