"""Verdicts on bash command lines, by their syntax tree and never by a pattern over the text."""
