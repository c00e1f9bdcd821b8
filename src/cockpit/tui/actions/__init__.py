"""The functions behind keys, slash commands and clicks.

To add a key: a row in `table`, a function in a module here, an entry in `cockpit.tui.action_bindings`. A
function takes the values it uses and may open screens. Nothing here imports the controller.
"""
