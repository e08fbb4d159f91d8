"""The map of a run of infer."""
