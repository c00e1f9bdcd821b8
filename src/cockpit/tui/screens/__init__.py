"""Screens over the cockpit: each asks one thing and goes. Imported when first opened."""
