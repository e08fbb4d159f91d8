"""The audit: checks that data, code and model give a score, the data statement, exports."""
