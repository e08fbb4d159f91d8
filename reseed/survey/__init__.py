"""What a source holds: layouts, images, places, labels."""
