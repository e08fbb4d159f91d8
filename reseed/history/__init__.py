"""The repository and the runs that its revisions recorded."""
