"""Work: pending requests, running calls and changes; and the tabs Outline and Problems.

`view` is the widget; the other modules make its rows from the state. `approval_draft` holds the user's draft
answer to an approval. Imports neither the Trace nor the Composer.
"""
