"""Sessions: `deck.py` opens them, `assembly.py` builds one from its parts, `session.py` takes its ops,
`turn_queue.py` runs one prompt at a time, `resume.py` restores a stored session. Start with `deck.py`.
Nothing in core imports this package.
"""
