"""Other people's plugins: fetched, resolved against what cockpit is made of, put beside it, taken away.

Refuses to load or to run a plugin, and to decide whether it should be there: a person says that.
"""
