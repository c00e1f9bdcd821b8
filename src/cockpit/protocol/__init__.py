"""The door to people: ops go in, events come out, queries are answered. Standard library only."""
