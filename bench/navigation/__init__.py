"""Code intelligence measured on Django's sources, beside a bare client of the same server."""
