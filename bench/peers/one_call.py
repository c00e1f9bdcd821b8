"""The baseline for a headless prompt: import `openai`, make the same streamed call, print."""

import sys

import openai

client = openai.OpenAI(base_url=sys.argv[1], api_key="bench")
messages = [{"role": "user", "content": "hi"}]
for chunk in client.chat.completions.create(model="m", messages=messages, stream=True):
    if chunk.choices and chunk.choices[0].delta.content:
        sys.stdout.write(chunk.choices[0].delta.content)
print()
