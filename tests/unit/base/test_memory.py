import sys

import pytest

from benchmarks import memory


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the unit of ru_maxrss differs between systems")
def test_peak_memory_does_not_grow_with_the_number_of_frames(capsys: pytest.CaptureFixture[str]) -> None:
    assert memory.main(["20", "200"]) == 0, capsys.readouterr().out
