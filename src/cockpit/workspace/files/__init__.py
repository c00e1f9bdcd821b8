"""Files of a root on disk: opening without following symlinks, planned changes, all-or-nothing writes.

Start with `changes` (what a set of edits would do) and `transaction` (writing it all or nothing). Nothing
here decides what may be written: paths have been resolved before. Must not import any other sub-package
of `workspace`.
"""
