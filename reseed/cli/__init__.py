"""The commands of `python -m reseed`, one module each."""
