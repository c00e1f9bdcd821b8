"""cockpit: a terminal IDE companion, a core between two doors (docs/index.md)."""

__version__ = "0.1.0"
