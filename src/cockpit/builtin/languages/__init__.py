"""Languages, a plugin each: what files they have, how to read them, which servers know them.

The captures that the queries use are told in `cockpit.plugin.languages`.
"""
