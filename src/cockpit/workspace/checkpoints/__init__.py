"""Checkpoints: what each call changed in a root, kept outside of it, and the way back. Decides nothing."""
