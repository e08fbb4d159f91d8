"""What all tests share."""

from hypothesis import settings

# A time limit on each example fails on a busy machine, and says nothing about the code; pytest-timeout limits tests.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
