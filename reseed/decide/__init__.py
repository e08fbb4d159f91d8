"""From patches to the decision of a frame."""
