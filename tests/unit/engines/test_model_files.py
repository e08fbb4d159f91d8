"""Model files of others: each that does not do what it promises is refused in one line, before anything is decided."""

import os
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from reseed.base.classes import CLASSES
from reseed.base.errors import ModelError
from reseed.base.probabilities import logits_in_batches
from reseed.engines.engine import classify_some, open_engine, require_working
from reseed.engines.facts import RENDERED

EDGE = 32
FACTS = {
    "classes": ", ".join(CLASSES),
    "patch_size_px": "200",
    "input_size_px": str(EDGE),
    "resize": "a rule",
    "decode": "another rule",
    "model_sha256": "a" * 64,
    "backbone": "mean",
}
MEAN = [
    helper.make_node("Cast", ["images"], ["float"], to=TensorProto.FLOAT),
    helper.make_node("ReduceMean", ["float"], ["mean"], axes=[1, 2], keepdims=0),
]


def a_model(
    *nodes: onnx.NodeProto,
    weights: tuple[onnx.TensorProto, ...] = (),
    kind: int = TensorProto.UINT8,
    name: str = "images",
    more: tuple[str, ...] = (),
    output: str = "logits",
    **facts: str,
) -> onnx.ModelProto:
    """A network of three colours: the logits are the means of the channels, unless told otherwise."""
    inputs = [helper.make_tensor_value_info(each, kind, ["n", EDGE, EDGE, 3]) for each in (name, *more)]
    outputs = [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)]
    graph = helper.make_graph(
        list(nodes or (*MEAN, helper.make_node("Identity", ["mean"], ["logits"]))), "g", inputs, outputs, list(weights)
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    for key, value in (FACTS | facts).items():
        model.metadata_props.add(key=key, value=value)
    return model


def outside(place: str) -> onnx.ModelProto:
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[3], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", place), ("offset", "0"), ("length", "12")):
        tensor.external_data.add(key=key, value=value)
    return a_model(*MEAN, helper.make_node("Add", ["mean", "w"], ["logits"]), weights=(tensor,))


def added(value: float) -> onnx.ModelProto:
    tensor = numpy_helper.from_array(np.array([0, value, 0], np.float32), "w")
    return a_model(*MEAN, helper.make_node("Add", ["mean", "w"], ["logits"]), weights=(tensor,))


def one_row() -> onnx.ModelProto:
    nodes = [MEAN[0], helper.make_node("ReduceMean", ["float"], ["m"], axes=[0, 1, 2], keepdims=0)]
    axis = numpy_helper.from_array(np.array([0], np.int64), "axis")
    return a_model(*nodes, helper.make_node("Unsqueeze", ["m", "axis"], ["logits"]), weights=(axis,))


def huge() -> onnx.ModelProto:
    shape = numpy_helper.from_array(np.array([1 << 19, 1 << 19], np.int64), "shape")
    nodes = [helper.make_node("ConstantOfShape", ["shape"], ["big"]), helper.make_node("ReduceSum", ["big"], ["sum"])]
    return a_model(*MEAN, *nodes, helper.make_node("Add", ["mean", "sum"], ["logits"]), weights=(shape,))


def endless() -> onnx.ModelProto:
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["go_on"]), helper.make_node("Identity", ["x"], ["y"])],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("x", TensorProto.FLOAT, None),
        ],
        [
            helper.make_tensor_value_info("go_on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("y", TensorProto.FLOAT, None),
        ],
    )
    yes = numpy_helper.from_array(np.array(True), "yes")
    return a_model(*MEAN, helper.make_node("Loop", ["", "yes", "mean"], ["logits"], body=body), weights=(yes,))


def newer(version: int) -> onnx.ModelProto:
    model = a_model()
    model.opset_import[0].version = version
    return model


def written_by_the_future() -> onnx.ModelProto:
    model = a_model()
    model.ir_version = 99
    return model


REFUSED = {
    "one row for all": (one_row, "logits of shape \\(1, 3\\) for 2 patches"),
    "six logits": (
        lambda: a_model(*MEAN, helper.make_node("Concat", ["mean", "mean"], ["logits"], axis=1)),
        "logits of shape \\(1, 6\\) for 1 patches; needed: \\(1, 3\\)",
    ),
    "an image of logits": (
        lambda: a_model(MEAN[0], helper.make_node("Identity", ["float"], ["logits"])),
        "logits of shape \\(1, 32, 32, 3\\)",
    ),
    "not a number": (lambda: added(np.nan), "no finite number for 1 of 1 patches"),
    "infinite": (lambda: added(np.inf), "no finite number"),
    "huge": (huge, "cannot be run|not readable as ONNX|needs more memory|ends the process"),
    "endless": (endless, "ends the process that tries it.* 6 s of a processor|within 3 s"),
    "weights beside it": (lambda: outside("w.bin"), "not readable as ONNX .*External data"),
    "weights above it": (lambda: outside("../w.bin"), "not readable as ONNX .*External data"),
    "weights anywhere": (lambda: outside("/etc/hostname"), "not readable as ONNX .*[Ee]xternal data"),
    "weights in memory": (lambda: outside("*/_ORT_MEM_ADDR_/*"), "not readable as ONNX|ends the process"),
    "opset of the future": (lambda: newer(99), "not readable as ONNX .*[Oo]pset"),
    "another version of the format": (written_by_the_future, "not readable as ONNX .*IR version"),
    "floats": (lambda: a_model(kind=TensorProto.FLOAT), "takes .*float.*; needed: images, uint8"),
    "another name": (
        lambda: a_model(
            helper.make_node("Cast", ["x"], ["f"], to=1),
            helper.make_node("ReduceMean", ["f"], ["logits"], axes=[1, 2], keepdims=0),
            name="x",
        ),
        "takes .*'x'.*; needed: images",
    ),
    "two inputs": (lambda: a_model(more=("mask",)), "takes .*mask.*; needed: images"),
    "another output": (
        lambda: a_model(*MEAN, helper.make_node("Identity", ["mean"], ["scores"]), output="scores"),
        "gives no logits",
    ),
    "another edge": (lambda: a_model(input_size_px="64"), "needed: images, uint8, \\(patches, 64, 64, 3\\)"),
    "classes that break the line": (lambda: a_model(classes="a\nb\x1b[2J"), "classes are a\\\\nb\\\\x1b"),
    "a long name": (lambda: a_model(backbone="x" * 10**6), "backbone is x+ ... x+, which is no name"),
} | {
    f"{key} {value[:9]}": (
        lambda key=key, value=value: a_model(**{key: value}),
        f"{key} is {value}; allowed: " if value.lstrip("-").isdigit() and len(value) < 99 else "no file of",
    )
    for key in ("patch_size_px", "input_size_px")
    for value in ("0", "-5", "1000000", "31.5", "", "9" * 5000)
}


HARMFUL = ("six logits", "huge", "endless", "weights in memory")


@pytest.mark.parametrize("case", REFUSED)
def test_a_file_that_does_not_do_what_it_promises(case: str) -> None:
    make, words = REFUSED[case]
    data = make().SerializeToString()
    # The others by what the process of its own does, without the second that a process takes.
    refuse = partial(require_working, wait_s=3.0) if case in HARMFUL else classify_some
    with pytest.raises(ModelError, match=rf"reef\.onnx: .*({words})") as caught:
        refuse(data, "boat/reef.onnx")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 800


def test_a_harmful_file_is_refused_where_a_model_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "reef.onnx"
    path.write_bytes(one_row().SerializeToString())
    with pytest.raises(ModelError, match="logits of shape"):
        open_engine(path, "onnx", 1)


def test_the_network_that_the_others_are_made_from_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "reef.onnx"
    path.write_bytes(a_model(trained_on=RENDERED).SerializeToString())
    engine = open_engine(path, "onnx", 1)
    assert engine.facts.trained_on_rendered
    assert engine.facts.sha256 != FACTS["model_sha256"]
    images = np.zeros((5, EDGE, EDGE, 3), np.uint8)
    images[..., 1] = 255
    assert engine.logits(images).argmax(axis=1).tolist() == [1] * 5


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.parametrize("kind", ["pipe", "link to a device", "folder", "link to itself", "of 300 GB"])
def test_what_is_no_file_is_not_waited_for(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "reef.onnx"
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "link to a device":
            path.symlink_to("/dev/zero")
        case "folder":
            path.mkdir()
        case "link to itself":
            path.symlink_to(path.name)
        case _:
            path.write_bytes(b"")
            os.truncate(path, 300 << 30)
    with pytest.raises(ModelError, match=r"reef\.onnx: not readable \(.*\)"):
        open_engine(path, "auto", 1)


def test_a_row_too_few_is_no_row_for_all() -> None:
    images = np.zeros((5, 32, 32, 3), np.uint8)
    with pytest.raises(ModelError, match=r"shape \(1, 3\) for 4 patches"):
        logits_in_batches(lambda _: np.zeros((1, 3)), images, 4)
