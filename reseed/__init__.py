"""Deployment decisions from reef survey frames, and the proof of what they rest on."""
