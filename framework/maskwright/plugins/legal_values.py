"""Legal values of the fields of plugin records: said once, as types that a type checker knows at the author's desk."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Literal, get_args

from maskwright.data.variable import VariableType
from maskwright.foundation.nearest_names import nearest_name

if TYPE_CHECKING:
    from collections.abc import Mapping

Scope = Literal["variable", "group", "all"]
"""What a block of a method holds: one variable at a time, one variable group of the plan, or all of the step."""

Cut = Literal["near", "any", "none"]
"""How a file may be cut into blocks: into records near each other; anywhere, since each record is masked by itself; or
not at all."""

Others = Literal["records", "moments"]
"""What a method sees of other records than it masks, where cells are missing: the records, or their moments alone."""

Preserved = Literal[
    "linear", "product", "inequality", "range", "domain", "mean", "covariance", "k", "combinations", "households",
    "equals",
]  # fmt: skip
"""What holds in the output of a method when it holds in each record of its input."""

KeptByAggregation = Literal["linear", "order", "product", "range", "domain"]
"""What holds of representatives of clusters when it holds in each record of them."""

Removal = Literal["detail", "cells", "records"]
"""What a method may take away: categories that are finer, single cells, or whole records."""

MeasureKind = Literal["loss", "risk", "score"]
"""What a measure speaks of."""

Direction = Literal["lower", "higher"]
"""Which value of a measure is better."""

Invariance = Literal["affine", "records", "columns"]
"""What may be done to both files without changing the value of a measure: columns rescaled, records or columns
permuted."""

Unheld = Literal["blanks_at_end", "blanks_at_ends", "zeros_of_times"]
"""What of texts the files of a format cannot hold."""

LEGAL_VALUES: Mapping[str, tuple[str, ...]] = {
    name: get_args(values)
    for name, values in {
        "Scope": Scope,
        "Cut": Cut,
        "Others": Others,
        "Preserved": Preserved,
        "KeptByAggregation": KeptByAggregation,
        "Removal": Removal,
        "MeasureKind": MeasureKind,
        "Direction": Direction,
        "Invariance": Invariance,
        "Unheld": Unheld,
        "VariableType": VariableType,
    }.items()
}
"""Values by the name of their type, as annotations of fields have it."""

MEANINGS: Mapping[str, Mapping[str, str]] = {
    "Scope": {
        "variable": "a block holds one variable at a time",
        "group": "one variable group of the plan: variables that edits bind together",
        "all": "all variables of the step",
    },
    "Cut": {
        "near": "into records that are near each other",
        "any": "anywhere: each record is masked by itself, and any cut gives the same values",
        "none": "not at all: a run in blocks is refused",
    },
    "Others": {
        "records": "all of them, so that work grows with records times patterns of missing cells",
        "moments": "their means and covariances, in `Block.moments`",
    },
    "Preserved": {
        "linear": "linear equalities hold in the output when they hold in each record of the input",
        "product": "products of positive factors do",
        "inequality": "linear inequalities do",
        "range": "values stay between the smallest and the largest of their variable",
        "domain": "every value is one that its variable had",
        "mean": "means are those of the input",
        "covariance": "variances and covariances are",
        "k": "equal records, or clusters, are as many as the parameter marked PromisesK says",
        "combinations": "each record comes out with the values that one record had together",
        "households": "what is the same within a household stays so",
        "equals": "records that are equal in all variables of the block stay so",
    },
    "KeptByAggregation": {
        "linear": "linear equalities and inequalities of any number of variables",
        "order": "comparisons of two variables: one is at most a positive multiple of the other, plus a number",
        "product": "products of positive factors",
        "range": "values between a smallest and a largest one",
        "domain": "every representative is a value of its cluster",
    },
    "Removal": {
        "detail": "coarser categories are published in the place of values",
        "cells": "some cells are left empty",
        "records": "records are dropped",
    },
    "MeasureKind": {
        "loss": "how much less the masked file is good for",
        "risk": "how much an intruder may learn from it",
        "score": "several measures as one number",
    },
    "Direction": {"lower": "lower values are better", "higher": "higher values are"},
    "Invariance": {
        "affine": "a column may be multiplied by a positive number and shifted, in both files",
        "records": "records may be permuted in both",
        "columns": "columns may be",
    },
    "Unheld": {
        "blanks_at_end": "blanks at the end of a text",
        "blanks_at_ends": "blanks at both ends",
        "zeros_of_times": "zeros behind the seconds of a time of day",
    },
    "VariableType": {
        "continuous": "numbers",
        "integer": "whole numbers",
        "date": "days, as numbers of them",
        "datetime": "points in time, as numbers of days",
        "ordinal": "categories with an order, as their positions in it",
        "nominal": "categories without one, as codes",
    },
}
"""What each value means, in a few words."""

_OF_LEGAL_VALUES = re.compile(r"(?P<several>AbstractSet\[)?(?P<name>\w+)\]?")


def legal_values(annotation: str) -> tuple[tuple[str, ...], bool] | None:
    """Legal values of a field, and whether it holds a set of them; None where it may hold anything of its type.

    `annotation`: as it is written: ``Scope``, ``AbstractSet[Preserved]``.
    """
    found = _OF_LEGAL_VALUES.fullmatch(annotation)
    if found is None or found["name"] not in LEGAL_VALUES:
        return None
    return LEGAL_VALUES[found["name"]], found["several"] is not None


def frozen_sets(record: Any) -> None:
    """Make the sets in a frozen record frozen ones: authors write ``{"range", "domain"}``."""
    for each in fields(record):
        if isinstance(value := getattr(record, each.name), AbstractSet) and not isinstance(value, frozenset):
            object.__setattr__(record, each.name, frozenset(value))


def illegal_value_error(record: Any) -> str | None:
    """Say in one sentence which field of a plugin record has a value it cannot have, or return None."""
    for each in fields(record):
        known = legal_values(str(each.type))
        if known is None:
            continue
        values, several = known
        value = getattr(record, each.name)
        if several and not isinstance(value, AbstractSet):
            return f'{each.name} must be a set, such as {{"{values[0]}"}}, not {value!r}'
        for one in sorted(map(str, value)) if several else [value]:
            if one not in values:
                return _unknown(each.name, one, values)
    return None


def _unknown(field: str, value: object, values: tuple[str, ...]) -> str:
    nearest = nearest_name(value, values) if isinstance(value, str) else None
    meant = "" if nearest is None else f"did you mean {nearest!r}? "
    return f"{field}: {value!r} unknown; {meant}there are {', '.join(values)}"
