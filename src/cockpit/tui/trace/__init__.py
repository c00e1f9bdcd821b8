"""The Trace: what was said and done, in order, drawn as strips by one widget."""
