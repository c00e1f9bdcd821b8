"""Benchmarks, each next to a baseline or peer measured in the same run. Not part of the tests."""
