"""Two runs beside each other, and cross-validation."""
