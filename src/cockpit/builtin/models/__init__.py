"""Built-in model providers.

`openai_chat` talks to servers with the chat completions API, `offline` answers from rules without a
network, and `scripted_model` plays a JSON script for tests and demos. Nothing here imports `core` or
another built-in.
"""
