"""The agent between the two doors. Knows no frontend, no wire format of a model, no built-in."""
