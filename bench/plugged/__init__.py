"""What it costs that much is plugged in: skills, roles, commands, servers, hooks."""
