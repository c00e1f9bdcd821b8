"""The full-screen frontend: it holds a `Channel` and a `Deck`, draws events and submits ops.

Refuses the core, the workspace and every plugin. What is imported before the first paint is kept
to Textual itself and the small modules that draw an empty cockpit (tests/tui/test_start.py).
"""
