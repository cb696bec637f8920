"""Equivalence classes of a block on its key variables, and the parameters of methods that form them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field

from maskwright import CompanionVariables, InputError, KeyVariables, PromisesK
from maskwright_builtin.key_counts.frequencies import class_sizes, classes_of
from maskwright_builtin.methods.class_criteria import Closeness, Diversity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright import Block
    from maskwright_builtin.numerics.arrays import Booleans, Integers


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
        description="Key variables, by which a person could be recognised. Left out: the step's variables with role "
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
"""What a key is worth beside the others, by name; 1 by default."""


GONE = -1
"""Code of a cell that is published as suppressed cells are."""


def key_positions(block: Block, keys: Sequence[str]) -> list[int]:
    """Positions of the keys: those named, else the quasi-identifiers, else all variables."""
    strangers = [name for name in keys if name not in block.names]
    if strangers:
        raise InputError(f"the step does not mask the key {', '.join(strangers)}: list it among its variables")
    if keys:
        return [block.names.index(name) for name in dict.fromkeys(keys)]
    quasi = [j for j, variable in enumerate(block.variables) if variable.role == "quasi_identifier"]
    return quasi or list(range(block.p))


def key_codes(block: Block, positions: Sequence[int]) -> Integers:
    """Codes 0, 1, ... of the cells of each key; shape (n, len(positions)).

    `GONE` where there is no value, unless the cell has a missing code that suppressed cells do not have: then a code
    after those of the values.
    """
    codes = np.empty((block.n, len(positions)), dtype=np.int64)
    for place, j in enumerate(positions):
        missing = block.missing[:, j]
        codes[:, place] = np.unique(np.where(missing, 0.0, block.values[:, j]), return_inverse=True)[1]
        kinds = block.kinds_of(j)[missing]
        codes[missing, place] = np.where(kinds > 0, codes[:, place].max(initial=-1) + kinds, GONE)
    return codes


def emptied_cells(block: Block, positions: Sequence[int], gone: Booleans) -> tuple[Booleans, Booleans]:
    """Missing cells of a block, and those among them that lose their missing code, when keys are emptied.

    `gone`: keys that are to be published as suppressed cells are; shape (n, len(positions). Returns shape (n, p).
    """
    missing = block.missing.copy()
    missing[:, positions] |= gone
    suppressed = np.zeros_like(missing)
    if block.missing_kinds is not None:
        suppressed[:, positions] = gone & (block.missing_kinds[:, positions] > 0)
    return missing, suppressed


def class_size(codes: Integers, households: Integers | None) -> Integers:
    """Size of the class of each record: records, or households, with the same codes; shape (n,).

    A cell without a value is a value of its own: whoever reads the file sees that it is empty.
    """
    classes = classes_of(list(codes.T))
    return np.asarray(class_sizes(classes, households)[classes], dtype=np.int64)


def kept_in_households(reached: Integers, codes: Integers, households: Integers) -> Integers:
    """Empty a key that is the same in every household in all members, where it is emptied in one: the others show it.

    `reached`, `codes`: after keys were emptied, and before; shape (n, q). `households`: shape (n,).
    """
    closed = reached.copy()
    _, first, homes = np.unique(households, return_index=True, return_inverse=True)
    for key in range(codes.shape[1]):
        if np.array_equal(codes[first[homes], key], codes[:, key]):
            gone = np.zeros(len(first), dtype=np.bool_)
            gone[homes[reached[:, key] == GONE]] = True
            closed[gone[homes], key] = GONE
    return closed
