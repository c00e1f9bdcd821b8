"""Tools that go by symbol: one file each, a plugin each. What they share is how places are named and rows
shown."""
