"""Stage pretrained: find and store the weights that training starts from."""

from pathlib import Path

from reseed.base.files import write_bytes, write_json
from reseed.network.model import state_bytes
from reseed.network.pretrained import find_weights
from reseed.params.train import PretrainedParams, load_train_params
from stages.runner import parse_arguments, run_stage

PARAMS = Path("params.yaml")
WEIGHTS = Path("data/pretrained/weights.pt")
RECORD = Path("data/pretrained/weights.json")


def main(argv: list[str] | None = None) -> None:
    """Find, check and store the weights that training starts from."""
    parse_arguments(__doc__, argv)
    params = load_train_params(PARAMS, PretrainedParams)
    start = find_weights(params.backbone, params.weights)
    write_bytes(WEIGHTS, state_bytes(start.state))
    write_json(RECORD, start.record)


if __name__ == "__main__":
    run_stage(main)
