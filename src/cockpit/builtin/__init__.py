"""Our own plugins, in exactly the form of anybody's: one file, one entry point, one off switch."""
