import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from reseed.base.classes import CLASS_COLOURS
from reseed.figures.frames import ShownFrame, frames_figure, pick_by_loss
from reseed.figures.precision_recall import precision_recall_figure
from reseed.figures.style import MOST_PX, png_bytes


def patches(**probabilities: list[float]) -> pd.DataFrame:
    """Two patches a frame whose reference class, Coral, has these probabilities."""
    rows = [
        {"frame_id": frame, "gold": "Coral", "predicted": "Coral" if p > 0.5 else "Deploy", "p_coral": p}
        | {"p_no_deploy": 0.0, "p_deploy": 1 - p, "row": 0, "col": place}
        for frame, values in probabilities.items()
        for place, p in enumerate(values)
    ]
    return pd.DataFrame(rows)


def test_frames_are_picked_by_their_mean_loss() -> None:
    found = pick_by_loss(patches(a=[1.0, 1.0], b=[0.5, 0.25], c=[0.9, 0.9], d=[0.1, 0.0], e=[0.8, 0.8]), 2)
    assert found["frame_id"].tolist() == ["d", "b", "e", "c"]
    assert found["kind"].tolist() == ["worst", "worst", "typical", "typical"]
    # b: (ln 2 + ln 4) / 2; d: (ln 10 + ln 1e6) / 2, a probability of 0 counts as one in a million
    assert found["loss"].tolist()[:2] == pytest.approx([(np.log(10) + np.log(1e6)) / 2, np.log(8) / 2])
    assert pick_by_loss(patches(a=[1.0]), 12)["kind"].tolist() == ["worst"]


def test_wrong_patches_are_crossed_and_wrong_decisions_stand_out() -> None:
    mine = patches(a=[0.9, 0.2])
    image = np.zeros((4, 8, 3), np.uint8)
    shown = {"worst": [ShownFrame("t/a.jpg", image, mine, "Deploy", "No-Deploy", 0.8)], "typical": []}
    figure = frames_figure(shown, synthetic=True)
    reference, predicted = figure.axes
    assert [to_hex(box.get_edgecolor()) for box in reference.patches] == [CLASS_COLOURS["Coral"]] * 2
    assert [to_hex(box.get_edgecolor()) for box in predicted.patches] == [CLASS_COLOURS[n] for n in ("Coral", "Deploy")]
    assert (len(reference.lines), len(predicted.lines)) == (0, 4)  # a cross of two strokes, drawn twice
    said = {text.get_text(): to_hex(text.get_color()) for text in figure.texts}
    assert said["Deploy, reference No-Deploy; loss 0.80"] == "#c0002f"
    assert "SYNTHETIC" in " ".join(said)
    width = int.from_bytes(png_bytes(figure)[16:20], "big")
    assert width == MOST_PX


def test_nothing_labelled_is_said() -> None:
    assert "No labelled test frame" in [text.get_text() for text in frames_figure({}, synthetic=False).texts]


def test_precision_and_recall_by_hand() -> None:
    rows = [("Coral", 0.9), ("Coral", 0.6), ("Deploy", 0.7), ("Deploy", 0.2)]
    table = pd.DataFrame([{"gold": gold, "p_coral": p, "p_deploy": 1 - p, "p_no_deploy": 0.0} for gold, p in rows])
    table["predicted"] = ["Coral", "Coral", "Coral", "Deploy"]
    ax = precision_recall_figure(table, synthetic=False).axes[0]
    # Coral by probability: right, wrong, right: precision 1/1 at recall 1/2, 2/3 at recall 1; area 1/2 + 1/2 * 2/3
    labels = [line.get_label() for line in ax.lines]
    assert labels == ["Coral, 83.3 %", "Deploy, 83.3 %"]  # No-Deploy has no patch, so no curve
    assert ax.collections[0].get_offsets().tolist() == [[100.0, pytest.approx(200 / 3)]]
    assert ax.collections[1].get_offsets().tolist() == [[50.0, 100.0]]
