"""Section `evaluate`: what the report shows, and how sure it is asked to be."""

from pydantic import Field

from reseed.params.load import Section


class EvaluateParams(Section):
    """Section `evaluate`."""

    mistakes: int = Field(ge=1, le=48, description="most confident mistakes shown with their pictures, 1 to 48")
    resamples: int = Field(ge=100, le=1_000_000, description="draws of the cluster bootstrap, 100 to 1000000")
    seed: int = Field(ge=0, lt=2**32, description="of the bootstrap, 0 to 2**32 - 1")
    cost_false_deploy: float = Field(ge=0, le=1e9, description="cost of deploying where one should not, 0 to 1e9")
    cost_missed_deploy: float = Field(ge=0, le=1e9, description="cost of not deploying where one should, 0 to 1e9")
