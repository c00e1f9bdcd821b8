"""What a key, a slash command or a click does.

`table` lists every action with its keys; the other modules carry them out. Functions here take the parts
they use and open screens; they never import the controller.
"""
