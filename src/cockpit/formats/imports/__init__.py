"""The settings of other agents, read to what cockpit could take over. Writes nothing and copies no secret."""
