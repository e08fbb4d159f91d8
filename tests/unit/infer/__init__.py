"""Tests of reseed.infer."""
