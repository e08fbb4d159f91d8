"""The in-toto statement of a small run, read by the reference implementation of in-toto."""

import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict, ParseDict
from in_toto_attestation.predicates.provenance.v1 import provenance_pb2
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement

from reseed.audit.export_attestation import provenance, run_files
from reseed.audit.statement import release_of
from reseed.base.errors import ReseedError
from reseed.history.run import Run
from tests.unit.audit.small_run import CACHED, PARAMS, SOURCE, md5, small_run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return small_run(tmp_path)


@pytest.fixture
def stated(run: Run, tmp_path: Path) -> dict[str, Any]:
    return dict(json.loads(json.dumps(provenance(run, run_files(run, tmp_path / "files"), [SOURCE]))))


def test_the_reference_implementation_reads_every_field(stated: dict[str, Any]) -> None:
    # ParseDict refuses unknown fields; validate() checks what the specification requires.
    Statement.copy_from_pb(ParseDict(stated, statement_pb2.Statement())).validate()
    predicate = ParseDict(stated["predicate"], provenance_pb2.Provenance())
    assert MessageToDict(predicate)["buildDefinition"]["externalParameters"]["pipeline"] == "dvc.yaml"
    assert stated["_type"] == "https://in-toto.io/Statement/v1"
    assert stated["predicateType"] == "https://slsa.dev/provenance/v1"
    definition, details = stated["predicate"]["buildDefinition"], stated["predicate"]["runDetails"]
    assert definition["buildType"].startswith("https://")
    assert definition["externalParameters"]["params"] == PARAMS
    assert not definition["externalParameters"].keys() & definition["internalParameters"].keys()
    assert details["builder"] == {"id": "https://dvc.org/", "version": {"dvc": "3.67.1"}}
    for descriptor in (*definition["resolvedDependencies"], *details["byproducts"]):
        assert descriptor.get("uri") or descriptor.get("digest") or descriptor.get("content"), descriptor


def test_subjects_are_scores_and_model_with_the_sha256_of_the_real_objects(stated: dict[str, Any]) -> None:
    subjects = {subject["name"]: subject for subject in stated["subject"]}
    assert list(subjects) == ["metrics/metrics.json", "models/model.json", "models/model.pt"]
    content = CACHED["models/model.pt"]
    assert subjects["models/model.pt"]["digest"] == {"sha256": hashlib.sha256(content).hexdigest(), "md5": md5(content)}
    assert subjects["metrics/metrics.json"]["annotations"] == {"synthetic": True}


def test_dependencies_are_commit_sources_weights_and_code(run: Run, stated: dict[str, Any]) -> None:
    dependencies = {entry["name"]: entry for entry in stated["predicate"]["buildDefinition"]["resolvedDependencies"]}
    assert list(dependencies)[:3] == ["commit", "data/raw/reef", "pretrained weights"]
    assert set(dependencies) >= {
        "dvc.yaml",
        "params.yaml",
        "reseed/base/errors.py",
        "stages/pull.py",
        "stages/train.py",
    }
    assert dependencies["commit"]["digest"] == {"gitCommit": run.commit}
    assert dependencies["pretrained weights"]["digest"] == {"sha256": "cd" * 32}
    reef = dependencies["data/raw/reef"]
    assert (reef["digest"], "uri" in reef, reef["annotations"]["path"]) == ({"dirHash": "ab" * 32}, False, "~/reef")
    assert reef["annotations"]["licence"] == "CC-BY-4.0"
    blob = subprocess.run(
        ["git", "hash-object", str(run.repository.root / "stages/train.py")], capture_output=True, text=True, check=True
    )
    assert dependencies["stages/train.py"]["digest"]["gitBlob"] == blob.stdout.strip()


def test_a_download_is_named_by_its_uri_and_file(run: Run, tmp_path: Path) -> None:
    url = SOURCE | {"kind": "url", "uri": "https://example.org/reef.zip"}
    found = provenance(run, run_files(run, tmp_path / "files"), [url])["predicate"]["buildDefinition"][
        "resolvedDependencies"
    ][1]
    assert (found["uri"], found["digest"]) == ("https://example.org/reef.zip", {"sha256": "ab" * 32})


def test_a_subject_that_is_not_here_or_not_the_recorded_one(run: Run, tmp_path: Path) -> None:
    model = run.repository.cached(md5(CACHED["models/model.pt"]))
    model.write_bytes(b"forged")
    with pytest.raises(ReseedError, match=r"models/model\.pt of v1 .* is .*, dvc\.lock recorded"):
        run_files(run, tmp_path / "files")
    model.unlink()
    with pytest.raises(ReseedError, match="a statement needs its sha256"):
        provenance(run, run_files(run, tmp_path / "files"), [SOURCE])


@pytest.mark.parametrize(
    ("source", "release"),
    [
        ({"citation": "Doe 2024, doi:10.5281/zenodo.1234.", "uri": "x"}, "10.5281/zenodo.1234"),
        ({"citation": "unknown", "uri": "https://zenodo.org/records/77/files/a.zip"}, "records/77"),
        ({"citation": "unknown", "uri": "https://example.org/x/releases/download/2024-05/a.zip"}, "2024-05"),
        ({"citation": "Reef set v1.2", "uri": ""}, "v1.2"),
        ({"citation": "unknown", "uri": "~/surveys/torres"}, "not named"),
        ({}, "not named"),
    ],
)
def test_the_release_of_a_source_is_read_off_its_citation_or_uri(source: dict[str, str], release: str) -> None:
    assert release_of(source) == release
