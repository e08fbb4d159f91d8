"""The reef that the project renders itself."""
