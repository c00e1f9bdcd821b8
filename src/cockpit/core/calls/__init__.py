"""A tool call in order: guards, arguments, preview, permission, checkpoint, run, result; and rewinding
what calls changed. Start with `tool_calls.py`. Must not import turn or anything above it.
"""
