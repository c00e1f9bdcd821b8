"""The full-screen frontend: holds a `Channel` and a `Deck`, folds events into a state, draws it, submits ops.

Start with `app`, then `controller`. Keys are in `actions.table` and `action_bindings`. Imports neither the
core nor any plugin. Before the first paint only Textual and the modules that draw an empty cockpit are
imported (tests/tui/test_start.py).
"""
