"""Screens over the cockpit: each asks or shows one thing and returns the answer.

Start with `dialogs`, which has the sheet that all of them use, and `picker`. Screens import no actions.
"""
