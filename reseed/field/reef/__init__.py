"""The rendered reef of the demo: what lies where, how it looks, how it was recorded and annotated."""
