"""What stands above a single run: other revisions, other people's tables, every site in turn."""
