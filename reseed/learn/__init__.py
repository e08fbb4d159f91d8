"""The network: the only part that imports torch."""
