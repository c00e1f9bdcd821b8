"""The Trace: everything said and done in a session, in order.

`view` is the widget, `document` knows which line is at which row, `entry_lines` draws the entries. Imports
neither Work nor the Composer.
"""
