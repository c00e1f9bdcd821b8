"""cockpit: a terminal IDE companion. Start with docs/internals/index.md, the map of the packages."""

__version__ = "0.1.0"
