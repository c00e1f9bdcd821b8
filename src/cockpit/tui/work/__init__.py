"""Work: what is happening now, what waits for a person, what changed."""
