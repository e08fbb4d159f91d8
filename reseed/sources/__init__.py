"""What arrives: folders, archives, downloads, as the parameters name them."""
