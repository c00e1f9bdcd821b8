"""The Composer: where the user writes prompts, notes and answers.

`editor` is the widget with its history, `completion` lists what can be inserted at the cursor. They post
messages and decide nothing. Imports neither the Trace nor Work.
"""
