"""`python -m reseed infer` end to end, with a network that looks at colours only."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from reseed.base.appearance import Familiar, frame_appearance
from reseed.base.errors import ModelError
from reseed.cli import infer
from reseed.cli.main import main
from reseed.infer import deciding, tables
from reseed.network.checkpoint import describe_model, save_model
from reseed.network.model import Network
from reseed.patches.resize import RESIZE_RULE, frame_patches
from reseed.survey.imagery import DECODE_RULE
from tests.unit.infer.boat import PATCH, ColourEngine, Infer, decided, frame_image, frame_jpeg, rows, write_tow
from tests.unit.survey.surveys import LOG_HEADER, encoded, picture

REPOSITORY = Path(__file__).parents[3]


def test_counts_ratios_and_decisions(tmp_path: Path, boat: Infer, capsys: pytest.CaptureFixture[str]) -> None:
    # 5 of 8 is above 0.5; 4 of 8 is not above 0.5; 3 Coral of 8 is 0.375.
    write_tow(tmp_path / "frames/tow_1", ["dddddccc", "ddddnnnn", "nnnnnnnn"])
    assert boat() == 0
    found = rows(tmp_path / "out")
    assert [row["decision"] for row in found] == ["Deploy", "No-Deploy", "No-Deploy"]
    first = found[0]
    assert float(first.pop("latency_ms")) > 0
    assert first == {
        "frame": "tow_1/20230315_020600_000_0000.jpg",
        "captured_at": "2023-03-15T02:06:00Z",
        "latitude_deg": "-9.5000000",
        "longitude_deg": "143.7500000",
        "water_depth_m": "1.86",
        "altitude_m": "1.09",
        "rows": "2",
        "cols": "4",
        "n_patches": "8",
        "deploy_count": "5",
        "coral_count": "3",
        "deploy_ratio": "0.625000",
        "coral_cover": "0.375000",
        "alpha": "0.5",
        "decision": "Deploy",
        "ask_reason": "",
        "synthetic": "0",
    }
    patches = rows(tmp_path / "out", tables.PATCHES_FILE)
    assert len(patches) == 24
    assert [row["predicted"] for row in patches[:8]] == ["Deploy"] * 5 + ["Coral"] * 3
    assert [patches[5][edge] for edge in ("row", "col", "x0", "y0", "x1", "y1")] == ["1", "1", "40", "40", "80", "80"]
    features = json.loads((tmp_path / "out" / tables.TRACK_FILE).read_text())["features"]
    assert [feature["geometry"]["type"] for feature in features] == ["Point"] * 3 + ["LineString"]
    assert "1 of 3: Deploy at alpha 0.5" in capsys.readouterr().out


def test_alpha_of_the_command_line_goes_first(tmp_path: Path, boat: Infer) -> None:
    write_tow(tmp_path / "frames", ["dddddccc", "ddddnnnn", "nnnnnnnn"])
    assert boat("--alpha", "0.49") == 0
    assert decided(tmp_path / "out") == {"0000": "Deploy", "0001": "Deploy", "0002": "No-Deploy"}


def test_alpha_is_recorded_by_its_value(tmp_path: Path, boat: Infer) -> None:
    write_tow(tmp_path / "frames", ["dddddccc"])
    assert boat("--alpha", "0.50") == 0
    assert rows(tmp_path / "out")[0]["alpha"] == "0.5"
    assert boat("--alpha", "5e-1") == 0  # the same run, which goes on


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_no_frame_and_nobody_waits_for_it(tmp_path: Path, boat: Infer) -> None:
    write_tow(tmp_path / "frames", ["dddddddd"])
    os.mkfifo(tmp_path / "frames/pipe.jpg")
    assert boat() == 3
    bad = rows(tmp_path / "out", tables.BAD_FILE)
    assert [(row["frame"], row["reason"], row["detail"]) for row in bad] == [
        ("pipe.jpg", "unreadable", "not a regular file")
    ]


def test_two_names_that_are_written_alike_are_refused(
    tmp_path: Path, boat: Infer, capsys: pytest.CaptureFixture[str]
) -> None:
    write_tow(tmp_path / "frames", ["dddddddd"])
    for name in ("q\n.jpg", "q\\n.jpg"):  # a line feed, and a backslash with an n
        (tmp_path / "frames" / name).write_bytes(frame_jpeg("nnnnnnnn"))
    assert boat() == 2
    assert "would both be called q\\n.jpg in the tables; rename one of them" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_made_is_one_line(
    tmp_path: Path, boat: Infer, capsys: pytest.CaptureFixture[str]
) -> None:
    write_tow(tmp_path / "frames", ["dddddddd"])
    (tmp_path / "file").write_text("")
    assert boat("--out", str(tmp_path / "file/below")) == 2
    said = capsys.readouterr().err
    assert "cannot be made (Not a directory); give --out a folder that can be written" in said
    assert "goes on" not in said


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("half.jpg", frame_jpeg("dddddddd")[:-300], "truncated"),
        ("empty.jpg", b"", "empty_file"),
        ("nul.jpg", bytes(4000), "all_nul"),
        ("text.jpg", b"see the other disk", "not_an_image"),
        ("small.jpg", encoded(picture(1, 4 * PATCH, PATCH - 1), "JPEG"), "smaller_than_patch"),
    ],
)
def test_a_frame_that_cannot_be_used_is_listed_and_the_run_goes_on(
    tmp_path: Path, boat: Infer, name: str, data: bytes, reason: str
) -> None:
    write_tow(tmp_path / "frames", ["dddddddd", "nnnnnnnn"])
    (tmp_path / "frames" / name).write_bytes(data)
    assert boat() == 3
    assert decided(tmp_path / "out") == {"0000": "Deploy", "0001": "No-Deploy"}
    bad = rows(tmp_path / "out", tables.BAD_FILE)
    assert [(row["frame"], row["reason"]) for row in bad] == [(name, reason)]
    assert f"{reason} 1" in (tmp_path / "out" / tables.MAP_FILE).read_text()


def test_where_no_frame_can_be_used_nothing_is_counted(
    tmp_path: Path, boat: Infer, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "frames").mkdir()
    (tmp_path / "frames/1.jpg").write_bytes(b"")
    assert boat() == 3
    said = capsys.readouterr().out
    assert "no frame was decided\n1 frame unusable (empty_file 1)" in said
    assert "0 of 0" not in said


def test_every_kind_of_folder(tmp_path: Path, boat: Infer, capsys: pytest.CaptureFixture[str]) -> None:
    """The same name twice, a PNG, a text, a frame without a position, a log that has it."""
    write_tow(tmp_path / "frames/a", ["dddddddd"], latitude=None)
    write_tow(tmp_path / "frames/b", ["nnnnnnnn"], latitude=None)
    (tmp_path / "frames/b/photo_log.csv").write_text(
        f"{LOG_HEADER}\n20230315_020600_000_0000.jpg,-9.5,143.75,1095,0.77,1678845995\n"
    )
    (tmp_path / "frames/a/notes.txt").write_text("calm sea")
    (tmp_path / "frames/x.png").write_bytes(encoded(frame_image("dddddddd"), "PNG"))
    assert boat() == 0
    found = {row["frame"]: row for row in rows(tmp_path / "out")}
    names = ["a/20230315_020600_000_0000.jpg", "b/20230315_020600_000_0000.jpg", "x.png"]
    assert list(found) == names
    assert [row["decision"] for row in found.values()] == ["Deploy", "No-Deploy", "Deploy"]
    assert [row["latitude_deg"] for row in found.values()] == ["", "-9.5000000", ""]
    assert found[names[1]]["water_depth_m"] == "1.86"  # 1.095 m + 0.77 m, to the centimetre
    said = capsys.readouterr().out
    assert "2 frames without a position" in said
    assert "ignored: 1 file of other kinds\n" in said  # the notes; the log was read


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--alpha", "1.5"], "--alpha: got '1.5'; allowed: a number from 0 to 1"),
        (["--alpha", "half"], "--alpha: got 'half'"),
        (["--alpha", "0_0.5"], "--alpha: got '0_0.5'"),
        (["--alpha", " 0.5"], "--alpha: got ' 0.5'"),
        (["--alpha", "nan"], "--alpha: got 'nan'"),
        (["--patch-size", "0"], "--patch-size is 0"),
        (["--threads", "0"], "--threads is 0; allowed: 1 to"),
        (["--threads", "100000"], "--threads is 100000"),
        (["--drop-late"], "--drop-late is for a folder that is still being written: add --watch"),
        (["--watch", "--idle-end", "-1"], "--idle-end is -1.0"),
        (["--gold", "gone.csv"], "gone.csv: cannot be read"),
    ],
)
def test_bad_arguments_are_one_line_and_leave_nothing(
    tmp_path: Path, boat: Infer, capsys: pytest.CaptureFixture[str], more: list[str], message: str
) -> None:
    write_tow(tmp_path / "frames", ["dddddddd"])
    assert boat(*more) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_model_without_alpha_needs_one(
    tmp_path: Path, boat: Infer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_tow(tmp_path / "frames", ["dddddddd"])
    monkeypatch.setattr(infer, "open_engine", lambda *_, **__: ColourEngine(alpha=None))
    assert boat() == 2
    assert "no alpha is recorded with this model; give --alpha" in capsys.readouterr().err
    assert boat("--alpha", "0.5") == 0


def test_a_model_of_another_frame_path_is_refused(
    tmp_path: Path, boat: Infer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_tow(tmp_path / "frames", ["dddddddd"])
    monkeypatch.setattr(deciding, "RESIZE_RULE", "nearest")
    assert boat() == 2
    assert "was trained on frames by the resize rule" in capsys.readouterr().err


def test_a_network_trained_on_rendered_frames_is_said_on_real_ones(
    tmp_path: Path, boat: Infer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On the terminal, on the map and in run.json; a run whose model no longer knows it goes on and keeps it."""
    said = "network trained on rendered frames: its answers mean nothing in the field"
    out = tmp_path / "out"
    write_tow(tmp_path / "frames", ["dddddddd"])
    assert boat() == 0
    assert said not in capsys.readouterr().err + (out / tables.MAP_FILE).read_text()
    assert json.loads((out / "run.json").read_text())["trained_on_rendered"] is False
    for rendered, number in ((True, 2), (False, 3)):
        monkeypatch.setattr(infer, "open_engine", lambda *_, known=rendered, **__: ColourEngine(rendered=known))
        write_tow(tmp_path / "frames", ["dddddddd"] * number)
        assert boat() == 0
        assert capsys.readouterr().err.splitlines().count(f"note: {said}") == 1
        assert f'"notice":"{said}"' in (out / tables.MAP_FILE).read_text()
        assert json.loads((out / "run.json").read_text())["trained_on_rendered"] is True
        assert len(rows(out)) == number


def test_a_run_folder_of_before_goes_on(tmp_path: Path, boat: Infer) -> None:
    write_tow(tmp_path / "frames", ["dddddddd"])
    assert boat() == 0
    path = tmp_path / "out/run.json"
    path.write_text(json.dumps({k: v for k, v in json.loads(path.read_text()).items() if k != "trained_on_rendered"}))
    assert boat() == 0


def test_another_patch_size_is_said(tmp_path: Path, boat: Infer, capsys: pytest.CaptureFixture[str]) -> None:
    write_tow(tmp_path / "frames", ["dddddddd"])
    assert boat("--patch-size", "80") == 0
    assert "patches of 80 px, but the model was trained on 40 px" in capsys.readouterr().err
    assert rows(tmp_path / "out")[0]["n_patches"] == "2"
    assert '"model":"Network none from colours, sha256 aaaaaaaaaaaa, by' in (tmp_path / "out/map.html").read_text()
    assert "trained on 40 px" in (tmp_path / "out" / tables.MAP_FILE).read_text()


def test_a_network_that_breaks_ends_the_run_and_keeps_what_was_decided(
    tmp_path: Path, boat: Infer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Breaking(ColourEngine):
        def classify(self, images: NDArray) -> NDArray:
            if images[..., 0].mean() > 200:  # the frame of Coral
                raise ModelError("the network gives no finite number")
            return super().classify(images)

    write_tow(tmp_path / "frames", ["nnnnnnnn", "cccccccc", "nnnnnnnn"])
    monkeypatch.setattr(infer, "open_engine", lambda *_, **__: Breaking())
    assert boat("--threads", "1") == 2
    assert "no finite number" in capsys.readouterr().err
    assert decided(tmp_path / "out") == {"0000": "No-Deploy"}


def test_a_broken_log_stops_before_anything_is_made(
    tmp_path: Path, boat: Infer, capsys: pytest.CaptureFixture[str]
) -> None:
    write_tow(tmp_path / "frames", ["dddddddd"])
    (tmp_path / "frames/photo_log.csv").write_text(f"{LOG_HEADER}\nx.jpg,1\n")
    assert boat() == 2
    assert "photo_log.csv line 2: 2 cells, the header has 6" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_how_often_gold_says_the_same(tmp_path: Path, boat: Infer, capsys: pytest.CaptureFixture[str]) -> None:
    """Three frames, of which two have a row and one of these agrees; one row is of another survey."""
    paths = write_tow(tmp_path / "frames", ["dddddddd", "nnnnnnnn", "cccccccc"])
    gold = tmp_path / "gold.csv"
    gold.write_text(f"frame,label\n{paths[0].name},Deploy\n{paths[1].name},Deploy\nelsewhere.jpg,Deploy\n")
    assert boat("--gold", str(gold)) == 0
    said = capsys.readouterr()
    assert "gold: 2 of 3 frames with a row; 1 row matches no decided frame\n" in said.out
    assert "gold: the same decision on 1 of 2 (no score: training frames may be among them)\n" in said.out
    assert said.err == ""
    page = (tmp_path / "out" / tables.MAP_FILE).read_text()
    assert '"gold":{"known":2,"same":1}' in page
    assert "Gold: 2 of 3 frames with a row; 1 row matches no decided frame." in page


def test_gold_of_other_frames_is_said_before_and_after(
    tmp_path: Path, boat: Infer, capsys: pytest.CaptureFixture[str]
) -> None:
    write_tow(tmp_path / "frames", ["dddddddd"])
    gold = tmp_path / "gold.csv"
    gold.write_text("frame,label\na/1.jpg,Deploy\na/2.jpg,Deploy\n")
    assert boat("--gold", str(gold)) == 0
    said = capsys.readouterr()
    assert f"note: {gold}: none of its 2 rows is of the 1 frame given" in said.err
    assert "gold: 0 of 1 frame with a row; 2 rows match no decided frame\n" in said.out
    assert "the same decision" not in said.out
    page = (tmp_path / "out" / tables.MAP_FILE).read_text()
    assert "Gold: 0 of 1 frame with a row; 2 rows match no decided frame." in page


BLOCKED = """
import sys
for name in ("torch", "torchvision", "pandas", "scipy", "sklearn", "matplotlib", "dvc"):
    sys.modules[name] = None  # importing it fails
from reseed.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow  # torch is imported and the network exported
def test_with_an_exported_file_neither_torch_nor_pandas_is_needed(tmp_path: Path) -> None:
    """The whole way, with a network itself: export, decide."""
    card = describe_model(
        "mobilenet_v3_small",
        best_epoch=1,
        seed=0,
        threads=1,
        device="cpu",
        input_px=(32, 32),
        geometry={"patch_size_px": PATCH, "input_size_px": 32, "resize": RESIZE_RULE, "decode": DECODE_RULE},
        pretrained={},
    )
    folder = tmp_path / "model"
    save_model(Network("mobilenet_v3_small"), card, folder / "model.pt", folder / "model.json")
    file = tmp_path / "reef.onnx"
    assert main(["export", "--model", str(folder), "--alpha", "0.3", "--out", str(file)]) == 0
    write_tow(tmp_path / "frames", ["dddddddd", "nnnnnnnn"])
    arguments = ["infer", str(tmp_path / "frames"), "--model", str(file), "--out", str(tmp_path / "out")]
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED, *arguments],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "by onnx" in (tmp_path / "out" / tables.MAP_FILE).read_text()


@pytest.mark.field
def test_real_frames_all_have_time_place_and_depth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """34 frames of three recorder versions; the network looks at colours, only the rest is tested here."""
    data = os.environ.get("RESEED_FIELD_DATA")
    if not data:
        pytest.skip("RESEED_FIELD_DATA is not set: no real imagery here")
    monkeypatch.setattr(infer, "open_engine", lambda *_, **__: ColourEngine())
    frames, out = Path(data) / "reefscan", tmp_path / "out"
    gold = ["--gold", str(frames / "frame_labels_A.csv")]
    assert main(["infer", str(frames), "--model", "m", "--out", str(out), "--patch-size", "800", *gold]) == 0
    found = rows(out)
    assert len(found) == 34
    assert {row["n_patches"] for row in found} == {"28"}
    assert {row["synthetic"] for row in found} == {"0"}
    # Torres Strait, shallower than 10 m, March 2023.
    assert all(-9.7 < float(row["latitude_deg"]) < -9.5 for row in found)
    assert all(143.5 < float(row["longitude_deg"]) < 143.8 for row in found)
    assert all(0.5 < float(row["water_depth_m"]) < 10 for row in found)
    assert all(row["captured_at"].startswith("2023-03-") for row in found)
    features = json.loads((out / tables.TRACK_FILE).read_text())["features"]
    assert sum(feature["properties"].get("gold") is not None for feature in features) == 34
    assert {feature["properties"]["sequence"] for feature in features[34:]} == {
        "erub_drop_5",
        "erub_manta_81",
        "ugar_manta_3",
    }


def familiar_text(frames: list[str], share: str = "0.2") -> str:
    looks = np.stack([frame_appearance(patches(frame)) for frame in frames])
    centre, scale = looks.mean(axis=0), looks.std(axis=0) + 0.1
    found = Familiar(centre, scale, np.eye(len(centre)), (), Fraction(share))
    furthest = max(found.distance(row) for row in looks) + 0.1
    return json.dumps(replace(found, distances=(np.array([furthest]),) * 9).record())


def patches(letters: str) -> NDArray[np.uint8]:
    return frame_patches(frame_jpeg(letters, None), PATCH, 16, 10**8).images


def test_a_frame_unlike_the_training_frames_is_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    usual = ["dddddccc", "ddddnnnn", "nnnndddd"]
    engine = ColourEngine(familiar=familiar_text(usual))
    monkeypatch.setattr(infer, "open_engine", lambda *_, **__: engine)
    write_tow(tmp_path / "frames/tow_1", [*usual, "cccccccc"])
    (tmp_path / "gold.csv").write_text("frame,label\n20230315_020603_000_0003.jpg,No-Deploy\n")
    command = ["infer", str(tmp_path / "frames"), "--model", "m", "--out", str(tmp_path / "out")]
    assert main([*command, "--gold", str(tmp_path / "gold.csv")]) == 0
    found = rows(tmp_path / "out")
    assert [row["decision"] for row in found] == ["Deploy", "No-Deploy", "No-Deploy", "Ask"]
    reason = found[3]["ask_reason"]
    assert reason.startswith("unlike the training frames: ")
    assert [row["ask_reason"] for row in found[:3]] == [""] * 3
    said = capsys.readouterr().out
    assert f"1 of 4: Ask, a person should look (1 {reason})" in said
    assert "1 of 4: Deploy at alpha 0.5" in said
    assert "0 of 4 frames with a row" in said  # nobody is compared on a frame that is asked about
    points = json.loads((tmp_path / "out" / tables.TRACK_FILE).read_text())["features"]
    assert points[3]["properties"]["decision"] == "Ask"
    assert points[3]["properties"]["ask_reason"] == reason
    # The same command goes on with the same run, another share is another run.
    assert main(command) == 0
    assert main([*command, "--ask", "none"]) == 2
    assert "ask 0.2, now none" in capsys.readouterr().err
    assert main([*command[:-1], str(tmp_path / "off"), "--ask", "none"]) == 0
    assert [row["decision"] for row in rows(tmp_path / "off")] == ["Deploy", "No-Deploy", "No-Deploy", "No-Deploy"]


def test_a_share_that_cannot_be_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, boat: Infer, capsys: pytest.CaptureFixture[str]
) -> None:
    write_tow(tmp_path / "frames/tow_1", ["dddddccc"])
    assert boat("--ask", "0.1") == 2
    assert "does not know what familiar frames look like" in capsys.readouterr().err
    engine = ColourEngine(familiar=familiar_text(["dddddccc"]))
    monkeypatch.setattr(infer, "open_engine", lambda *_, **__: engine)
    for share, message in (("0.05", "needs 19 groups in train and val, the model has 9"), ("0", "above 0 and below 1")):
        assert boat("--ask", share) == 2
        assert message in capsys.readouterr().err
    assert boat("--ask", "0.1") == 0
    broken = ColourEngine(familiar='{"share": "0.1"}')
    monkeypatch.setattr(infer, "open_engine", lambda *_, **__: broken)
    assert boat() == 2
    assert "export the model again, or give --ask none" in capsys.readouterr().err
    assert not (tmp_path / "out2").exists()
