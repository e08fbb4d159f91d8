"""What the project promises about speed and certainty, measured."""
