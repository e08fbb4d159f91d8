"""One strict, frozen model per section of a parameter file."""
