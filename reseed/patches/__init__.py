"""From frames to labelled patches, and which frame is in which split."""
