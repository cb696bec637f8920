"""How representatives of clusters are made where the plan does not say."""

from __future__ import annotations

OPERATOR_OF_TYPE = {
    "continuous": "mean",
    "integer": "mean",
    "date": "mean",
    "datetime": "mean",
    "ordinal": "lower_median",
    "nominal": "mode",
}
"""By the type of the variable."""
