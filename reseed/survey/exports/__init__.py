"""Exports of annotation tools: one YAML file for each tool says how it writes a label, one reader interprets them."""
