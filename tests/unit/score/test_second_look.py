from reseed.score.baselines import second_looks

KEY = ("frame", "row", "col")


def test_deploy_first_then_the_frame_seen_most_differently_then_by_key() -> None:
    keys = [("a", "0", "0"), ("a", "0", "1"), ("b", "0", "0"), ("b", "0", "2"), ("b", "0", "10"), ("c", "0", "0")]
    first = ["Coral", "Deploy", "Deploy", "Deploy", "Deploy", "Coral"]
    second = ["No-Deploy", "Deploy", "Coral", "No-Deploy", "Deploy", "Coral"]
    looks = second_looks(KEY, keys, first, second)
    # b: 2 of 3 differ, and both touch Deploy; a: 1 of 2 differs, No-Deploy against Coral
    assert [look.key for look in looks] == [("b", "0", "0"), ("b", "0", "2"), ("a", "0", "0")]
    assert (looks[0].frame, looks[0].frame_disagreements, looks[0].frame_items) == ("b", 2, 3)
    assert (looks[2].first, looks[2].second) == ("Coral", "No-Deploy")


def test_a_worse_frame_comes_first() -> None:
    keys = [("a", "0", "0"), ("a", "0", "1"), ("b", "0", "0")]
    looks = second_looks(KEY, keys, ["Deploy"] * 3, ["Coral", "Deploy", "Coral"])
    assert [look.key[0] for look in looks] == ["b", "a"]


def test_whole_frames() -> None:
    looks = second_looks(("frame",), [("a",), ("b",)], ["Deploy", "Deploy"], ["Deploy", "No-Deploy"])
    assert [(look.key, look.frame, look.frame_items) for look in looks] == [(("b",), "", 1)]
