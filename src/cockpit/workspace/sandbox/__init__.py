"""The sandbox for programs that a model or a project chose: bubblewrap, else Landlock, else none.

Start with `sandbox`, which turns a launch into the command to start. Decides nothing about what may run. Must
not import `processes`.
"""
