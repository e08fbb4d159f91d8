"""The tables that cross a stage boundary, and the one way to write files."""
