"""The frontend API: ops go in, events come out, queries are answered.

Start with `channel`, then `ops`, `events` and `queries`. Standard library only; must not import any other
part of cockpit but `errors`.
"""
