"""The stages of dvc.yaml, one thin script each."""
