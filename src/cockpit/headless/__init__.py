"""The frontends without a screen: one prompt (`-p`) and line by line (`--plain`)."""
