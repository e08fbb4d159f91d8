"""Scores: arrays in, frozen results out."""
