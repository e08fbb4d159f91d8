"""The RO-Crate of a small run: what the profiles ask for, every file with its digest, and a copy that is looked at."""

import hashlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from reseed.artifacts.raw import SYNTHETIC_NOTICE
from reseed.audit import export_crate as crate_module
from reseed.audit.export_crate import METADATA, check_crate, require_crate_target, write_crate
from reseed.audit.export_entities import PROFILES, CrateRun, run_entities
from reseed.base.errors import ReseedError
from tests.unit.audit.small_run import CACHED, LOST, md5, small_crate

Graph = Mapping[str, dict[str, Any]]


@pytest.fixture
def run(tmp_path: Path) -> CrateRun:
    return small_crate(tmp_path)


@pytest.fixture
def folder(run: CrateRun, tmp_path: Path) -> Path:
    write_crate(run, tmp_path / "crate")
    return tmp_path / "crate"


def graph(folder: Path) -> Graph:
    entities = json.loads((folder / METADATA).read_bytes())["@graph"]
    assert len({entity["@id"] for entity in entities}) == len(entities)
    return {entity["@id"]: entity for entity in entities}


def many(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def named(entity: Mapping[str, Any], key: str) -> list[str]:
    return [reference["@id"] for reference in many(entity.get(key))]


def of_type(found: Graph, kind: str) -> list[dict[str, Any]]:
    return [entity for entity in found.values() if kind in many(entity["@type"])]


def test_what_the_profiles_require_is_there(folder: Path) -> None:
    """The MUSTs of RO-Crate 1.1, Workflow RO-Crate 1.0 and Process, Workflow and Provenance Run Crate 0.5."""
    found = graph(folder)
    root, descriptor = found["./"], found[METADATA]
    assert named(descriptor, "about") == ["./"]
    assert "https://w3id.org/ro/crate/1.1" in named(descriptor, "conformsTo")
    assert {"name", "description", "datePublished", "license"} <= root.keys()
    assert named(root, "conformsTo") == list(PROFILES)
    assert all(found[profile]["@type"] == "CreativeWork" for profile in PROFILES)
    (main,) = named(root, "mainEntity")
    workflow = found[main]
    assert set(workflow["@type"]) == {"File", "SoftwareSourceCode", "ComputationalWorkflow", "HowTo"}
    assert found[named(workflow, "programmingLanguage")[0]]["@type"] == "ComputerLanguage"
    tools, steps = named(workflow, "hasPart"), named(workflow, "step")
    assert tools == ["stages/pull.py", "stages/train.py"]
    assert [found[step]["position"] for step in steps] == ["1", "2"], "train reads what pull made"
    assert [named(found[step], "workExample") for step in steps] == [[tool] for tool in tools]
    runs = {action["@id"]: action for action in of_type(found, "CreateAction")}
    assert {named(action, "instrument")[0] for action in runs.values()} == {main, *tools}
    assert set(runs) <= set(named(root, "mentions"))
    for control in of_type(found, "ControlAction"):
        assert named(control, "instrument")[0] in steps
        assert named(control, "object")[0] in runs
    (engine,) = of_type(found, "OrganizeAction")
    assert "SoftwareApplication" in found[named(engine, "instrument")[0]]["@type"]
    assert named(engine, "object") == [control["@id"] for control in of_type(found, "ControlAction")]
    assert named(engine, "result") == ["#run"]
    for parameter in of_type(found, "FormalParameter"):
        assert parameter["additionalType"]
        assert named(found[named(parameter, "workExample")[0]], "exampleOfWork") == [parameter["@id"]]
    assert set(named(workflow, "input")) == {entity["@id"] for entity in of_type(found, "FormalParameter")}


def test_no_reference_leads_nowhere(folder: Path) -> None:
    found = graph(folder)
    outside = {"https://w3id.org/ro/crate/1.1"}
    for entity in found.values():
        for key in entity.keys() - {"@id", "@type"}:
            for value in many(entity[key]):
                if isinstance(value, dict):
                    assert value["@id"] in found or value["@id"] in outside, (entity["@id"], key, value)


def test_every_recorded_file_has_its_digest_and_what_is_carried_is_it(run: CrateRun, folder: Path) -> None:
    found = graph(folder)
    for stage in run.run.lock.values():
        for entry in (*stage["deps"], *stage["outs"]):
            entity = found[run.ids[entry["path"]]]
            assert (entity["md5"], entity["contentSize"]) == (entry["md5"].removesuffix(".dir"), str(entry["size"]))
    for entity in of_type(found, "File"):
        content = (folder / entity["@id"]).read_bytes()
        assert entity["sha256"] == hashlib.sha256(content).hexdigest()
        assert (entity["md5"], entity["contentSize"]) == (md5(content), str(len(content)))
    assert set(named(found["./"], "hasPart")) == {
        e["@id"] for kind in ("File", "Dataset") for e in of_type(found, kind)
    } - {"./"}
    assert found["models/model.pt"]["description"] == "state_dict"


def test_imagery_is_described_and_not_carried(folder: Path) -> None:
    found = graph(folder)
    pixels = hashlib.sha256(CACHED["data/patches/patches.npy"]).hexdigest()
    assert (found["#data/patches/patches.npy"]["@type"], found["#data/patches/patches.npy"]["sha256"]) == (
        "CreativeWork",
        pixels,
    )
    assert "sha256" not in found[f"#{LOST}"], "an object that is not here has the digest of dvc.lock alone"
    assert found[f"#{LOST}"]["md5"] == "f" * 32
    assert named(found["plots/figures/"], "hasPart") == ["plots/figures/alpha_curve.png"]
    assert named(found["plots/figures/"], "mentions") == ["#plots/figures/mistakes.png"]
    assert not [path for path in folder.rglob("*") if path.name in {"patches.npy", "mistakes.png", "raw"}]


def test_parameters_sources_scores_and_the_audit(run: CrateRun, folder: Path) -> None:
    found = graph(folder)
    assert found["#value/train.lr"]["value"] == "0.002"
    kinds = {key: found[f"#parameter/{key}"]["additionalType"] for key in ("train.lr", "train.seed", "train.augment")}
    assert kinds == {"train.lr": "Float", "train.seed": "Integer", "train.augment": "Boolean"}
    assert json.loads(found["#value/pull.sources"]["value"]) == [{"name": "reef"}]
    assert found["#value/train.flip"]["value"] == "null"
    source = found["#data/raw/reef"]
    assert (source["sha256"], source["version"], source["alternateName"]) == ("ab" * 32, "10.1000/reef", "~/reef")
    assert found[named(source, "license")[0]]["name"] == "CC-BY-4.0"
    assert "#data/raw/reef" in named(found["#run/pull"], "object")
    assert (found["#score/patch.macro_f1"]["value"], found["#score/patch.macro_f1"]["unitText"]) == ("84.2", "percent")
    assert "unitText" not in found["#score/patch.n"]
    assert found["#score/patch.macro_f1_low"]["value"] == "n/a"
    assert "#score/patch.macro_f1" in named(found["metrics/metrics.json"], "variableMeasured")
    assert [found[result]["value"] for result in named(found["#audit"], "result")] == ["PASS", "NOT CHECKED"]
    assert found["dvc.yaml"]["version"] == run.code
    assert found["https://dvc.org/"]["softwareVersion"] == "3.67.1"


def test_it_is_marked_as_synthetic_and_names_nobody(folder: Path) -> None:
    found = graph(folder)
    assert found["./"]["name"].startswith(SYNTHETIC_NOTICE)
    assert found["./"]["description"].startswith(SYNTHETIC_NOTICE)
    assert "synthetic data" in found["./"]["keywords"]
    assert not {"author", "creator", "agent", "startTime", "endTime"} & {
        key for entity in found.values() for key in entity
    }
    assert not of_type(found, "Person")


def test_two_crates_of_one_run_are_equal(run: CrateRun, folder: Path, tmp_path: Path) -> None:
    write_crate(run, tmp_path / "again")
    files = sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    assert files == sorted(p.relative_to(tmp_path / "again") for p in (tmp_path / "again").rglob("*") if p.is_file())
    assert all((folder / name).read_bytes() == (tmp_path / "again" / name).read_bytes() for name in files)


def test_what_was_changed_in_a_crate_is_seen(run: CrateRun, folder: Path) -> None:
    entities = run_entities(run)
    check_crate(folder, entities, run.carried)
    metadata = folder / METADATA
    honest = metadata.read_text()
    for old, new, said in (
        ('"value": "84.2"', '"value": "94.2"', "otherwise than meant #score/patch.macro_f1"),
        ('"@id": "#engine"', '"@id": "#motor"', "that was not meant"),
        ('"position": "2"', '"position": "3"', "otherwise than meant #step/train"),
    ):
        assert old in honest
        metadata.write_text(honest.replace(old, new))
        with pytest.raises(ReseedError, match=said):
            check_crate(folder, entities, run.carried)
    metadata.write_text(honest)
    (folder / "models/model.pt").write_bytes(b"another")
    with pytest.raises(ReseedError, match=r"models/model\.pt in the crate is not the one of the run"):
        check_crate(folder, entities, run.carried)


def test_a_folder_with_something_in_it_is_refused_and_nothing_half_written_stays(
    run: CrateRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = tmp_path / "full"
    full.mkdir()
    (full / "mine.txt").write_text("mine")
    for target in (full, full / "mine.txt"):
        with pytest.raises(ReseedError, match="exists and is not an empty folder"):
            write_crate(run, target)
    assert (full / "mine.txt").read_text() == "mine"
    (tmp_path / "empty").mkdir()
    write_crate(run, tmp_path / "empty")
    assert (tmp_path / "empty" / METADATA).is_file()
    monkeypatch.setattr(crate_module, "check_crate", fails)
    with pytest.raises(ReseedError, match="not as meant"):
        write_crate(run, tmp_path / "new")
    assert not list(tmp_path.glob("new*"))


def fails(*_: object) -> None:
    raise ReseedError("not as meant")


def test_without_the_package_it_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rocrate.rocrate", None)
    with pytest.raises(ReseedError, match=r"pip install -r requirements-extras\.txt -c requirements\.lock"):
        require_crate_target(tmp_path / "crate")
