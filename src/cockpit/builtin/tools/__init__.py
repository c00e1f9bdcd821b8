"""Built-in tools: one plugin per module or package, named after the tool it registers.

Each needs an entry point in pyproject.toml. Start with `read` for a tool that only reads and `write` for
one that changes files. `file_changes` is the shared preview and apply step of every tool that writes. Tools
import `plugin`, `workspace` and `navigation`, never `core`.
"""
