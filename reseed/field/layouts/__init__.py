"""How survey folders are organised, one module per layout."""
