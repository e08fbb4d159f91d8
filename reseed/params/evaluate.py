"""Section `evaluate`: what the report shows."""

from pydantic import Field

from reseed.params.load import Section


class EvaluateParams(Section):
    """Section `evaluate`."""

    mistakes: int = Field(ge=1, le=48, description="most confident mistakes shown with their pictures, 1 to 48")
