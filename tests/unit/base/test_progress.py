import sys

import pytest

from reseed.base import parallel as module
from reseed.base.parallel import progress


class Clock:
    """Time that passes only as the test says."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.mark.parametrize(
    ("each_s", "shown"),
    [
        (0.9, []),  # 18 s in all
        (2.0, ["50", "60", "70", "80", "90", "100"]),  # 20 s have passed after 11 of 20 items
        (30.0, ["10", "20", "30", "40", "50", "60", "70", "80", "90", "100"]),
    ],
)
def test_a_line_per_tenth_of_what_takes_over_20_s(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], each_s: float, shown: list[str]
) -> None:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    done = []
    for item in progress(range(20), total=20, what="cut", unit="frame"):
        clock.now_s += each_s
        done.append(item)
    lines = capsys.readouterr().err.splitlines()
    assert done == list(range(20))
    assert [line.partition("(")[2].partition(" %")[0] for line in lines] == shown
    assert all(line.startswith("cut: ") for line in lines)


def test_a_terminal_has_a_bar_and_no_lines(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert list(progress("abc", total=3, what="cut", unit="frame")) == ["a", "b", "c"]
    assert "(100 %)" not in capsys.readouterr().err


def test_fewer_items_than_tenths_and_an_error_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    assert list(progress([1, 2], total=2, what="cut", unit="frame")) == [1, 2]
    assert list(progress([], total=0, what="cut", unit="frame")) == []
