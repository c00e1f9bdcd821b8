"""Code by symbol. For now by text alone: patterns of how languages define things."""
