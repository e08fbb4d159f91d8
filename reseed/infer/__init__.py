"""From a folder of frames to decisions on a map: what runs on the boat."""
