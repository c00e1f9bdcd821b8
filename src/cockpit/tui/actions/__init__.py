"""What a key, a slash command or a click does.

`table` lists every action with its keys; the other modules carry them out. A function here takes the parts it
uses, and may open screens. Nothing here imports the controller, which binds the actions.
"""
