"""Pages for a browser: one file each, nothing in it comes from a network."""
