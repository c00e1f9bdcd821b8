"""What a key, a slash command or a click does.

To add a key: a row in `table`, a function in a module here, and an entry in `cockpit.tui.action_bindings`. A
function takes the parts it uses, and may open screens. Nothing here imports the controller.
"""
