"""Parameters of methods that make classes of records equal on key variables."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from maskwright import CompanionVariables, KeyVariables, PromisesK
from maskwright_builtin.methods.generalisation.sensitive_bounds import Closeness, Diversity

SmallestClass = Annotated[
    int,
    PromisesK(),
    Field(
        ge=2,
        strict=True,
        description="Smallest number of published records (households, where they are declared) that are equal on the "
        "keys, an empty cell being a value of its own. Usual: 3 to 10.",
    ),
]

KeyNames = Annotated[
    tuple[str, ...],
    KeyVariables(),
    Field(
        description="Key variables, by which somebody could be recognised. Left out: the step's variables with role "
        "quasi_identifier or, if it has none, all its variables.",
    ),
]

LeastDiversity = Annotated[
    dict[str, Annotated[int, Field(ge=2)] | Diversity],
    CompanionVariables(),
    Field(
        description="Least diversity of sensitive variables in every class: {occupation: 2} of different values, "
        "{disease: {entropy: 2.5}}, {disease: {recursive: 3, c: 2}}. Records without a value do not count.",
    ),
]

LargestDistance = Annotated[
    dict[str, Annotated[float, Field(ge=0, le=1)] | Closeness],
    CompanionVariables(),
    Field(
        description="Largest distance between the values of sensitive variables in a class and in the file, from 0 to "
        "1: {income: 0.3}, {income: {most: 0.3, distance: equal}}. Low bounds need a few large classes.",
    ),
]

Importance = dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]]
"""What a key is worth beside the others, by name; 1 where nothing is said."""
