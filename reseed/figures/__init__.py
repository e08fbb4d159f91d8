"""Figures: each function returns one and never saves."""
