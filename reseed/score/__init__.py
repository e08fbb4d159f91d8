"""Decisions and scores: arrays in, frozen results out."""
