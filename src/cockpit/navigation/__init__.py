"""Code by symbol: warm language servers, a tree-sitter index and plain text behind one navigator. Writes no
file."""
