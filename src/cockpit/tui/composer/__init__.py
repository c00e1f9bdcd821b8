"""The Composer: where the user writes prompts, notes and answers.

`editor` is the widget with its history, `completion` offers what can stand at the cursor. It posts messages
and decides nothing. Imports neither the Trace nor Work.
"""
