"""What comes back from the sea: sources, layouts, decoding, geotags, the demo reef."""
