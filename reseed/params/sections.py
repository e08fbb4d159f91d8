"""Every section of a parameter file, for checking the whole file at once; a stage reads its own section only."""

from pathlib import Path
from typing import Any, Final

from reseed.base.errors import ParamsError
from reseed.params.aggregate import AggregateParams
from reseed.params.baselines import BaselinesParams
from reseed.params.catalog import CatalogParams
from reseed.params.demo import DemoParams
from reseed.params.evaluate import EvaluateParams
from reseed.params.extract import ExtractParams
from reseed.params.load import Section, join_problems, read_yaml, section_problems
from reseed.params.predict import PredictParams
from reseed.params.pull import PullParams
from reseed.params.split import SplitParams
from reseed.params.train import RepeatedTrainParams

SECTIONS: Final[dict[str, type[Section]]] = {
    "pull": PullParams,
    "demo": DemoParams,
    "catalog": CatalogParams,
    "split": SplitParams,
    "extract": ExtractParams,
    "train": RepeatedTrainParams,
    "predict": PredictParams,
    "baselines": BaselinesParams,
    "aggregate": AggregateParams,
    "evaluate": EvaluateParams,
}


def require_valid(path: Path) -> dict[str, Any]:
    """Check every section of the parameter file at `path` and return its values.

    Raises:
        ParamsError: Names every problem of every section, and every section that does not exist.
    """
    values = read_yaml(path)
    problems = [f"{name}: unknown section; allowed: {', '.join(SECTIONS)}" for name in values if name not in SECTIONS]
    for name, model in SECTIONS.items():
        problems += section_problems(values, name, model)
    if problems:
        raise ParamsError(join_problems(path, problems))
    return values
