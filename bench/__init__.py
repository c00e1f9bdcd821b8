"""Figures of speed, each beside the floor or the peer measured in the same run. Never part of the tests."""
