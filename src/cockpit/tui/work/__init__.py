"""Work: what waits for the user, what runs now, what has changed; and the tabs Outline and Problems.

`view` is the widget; the other modules make its rows from the state. `approval_draft` holds the user's draft
answer to an approval. Imports neither the Trace nor the Composer.
"""
