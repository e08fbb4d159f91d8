"""The network: model, training, imported weights. The only package that needs torch."""
