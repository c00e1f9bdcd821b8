"""The Trace: everything that happened in a session, in order.

`view` is the widget, `document` maps rows to lines, `entry_lines` draws the entries. Imports
neither Work nor the Composer.
"""
