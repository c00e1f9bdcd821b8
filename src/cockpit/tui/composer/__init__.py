"""The Composer: where a person writes. It edits, completes and remembers; it decides nothing."""
