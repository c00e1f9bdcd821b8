"""Answers to the queries a frontend may ask, the slash commands, and the code panels.

Only reads; nothing here enters the transcript. Start with `queries.py`. Must not import session.
"""
