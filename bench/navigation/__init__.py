"""Code intelligence measured on Django's sources, next to a bare client of the same server."""
