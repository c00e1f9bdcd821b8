"""The command line: a table from names to modules, imported late. Joins everything, does nothing."""
