"""The files of other agents and our own, read to plain values: what they say, and what in them is refused."""
