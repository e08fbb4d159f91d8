"""What all tests share."""

import os

from hypothesis import settings

# Stages compute portably, and torch reads these at its first operation, in whichever test that is.
os.environ.update({"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_CBWR": "COMPATIBLE"})

# A time limit on each example fails on a busy machine, and says nothing about the code; pytest-timeout limits tests.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
