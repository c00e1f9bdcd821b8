"""`openai_chat`: every provider that speaks OpenAI's chat completions, and local servers that do.

`[plugins.openai_chat] providers.NAME = {base_url, key_env, default, headers}` adds one.
"""

from cockpit.builtin.openai_chat.presets import known
from cockpit.builtin.openai_chat.provider import Provider
from cockpit.plugin import hookimpl
from cockpit.plugin.values import Register, Scope


@hookimpl
def register_models(register: Register, scope: Scope) -> None:
    for preset in known(scope.settings).values():
        register(Provider(preset, scope.environment).model())
