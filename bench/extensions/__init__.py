"""What many extensions cost: skills, roles, commands, servers, hooks."""
