"""Every setting as a row, with its value and where that comes from. Reads no file."""

from typing import cast

from cockpit.protocol.messages import Json
from cockpit.protocol.rows import SettingRow
from cockpit.settings.layers import Settings, value_at
from cockpit.settings.schema import KEYS


def setting_rows(settings: Settings) -> tuple[SettingRow, ...]:
    """One row a key, in the schema's order; tables are not rows of their own."""
    return tuple(
        SettingRow(
            key=key.name,
            value=cast("Json", value_at(settings.values, key.path)),
            origin=settings.origin(key.path),
            about=key.about,
            kind=key.kind,
            wanted=key.wanted,
            default=cast("Json", key.default),
            choices=key.choices,
            writable=not settings.is_managed(key.name),
            live=key.live,
        )
        for key in KEYS
        if key.kind != "table" and "*" not in key.name
    )
