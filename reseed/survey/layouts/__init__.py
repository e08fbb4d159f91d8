"""How a source is organised: one module for each layout."""
