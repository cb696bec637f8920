"""Local suppression: key cells of rare records are emptied until every combination of keys has k records."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import BaseModel, Field

from maskwright import Block, InputError, KeyVariables, Masked, Method, PromisesK
from maskwright_builtin.methods.suppression.keys import GONE, key_codes, key_positions
from maskwright_builtin.methods.suppression.own_classes import k_anonymous


class LocalSuppressionParams(BaseModel, extra="forbid", frozen=True):
    """Parameters of local suppression."""

    k: Annotated[int, PromisesK()] = Field(
        default=3,
        ge=2,
        strict=True,
        description="Smallest number of published records (households, where they are declared) that "
        "are equal on the keys, an empty cell being a value of its own. Usual: 3 to 10.",
    )
    keys: Annotated[tuple[str, ...], KeyVariables()] = Field(
        default=(),
        description="Key variables, by which somebody could be recognised. Left out: the step's variables with role "
        "quasi_identifier or, if it has none, all its variables.",
    )
    importance: dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]] = Field(
        default_factory=dict,
        description="How much a cell of a key is worth, {key: worth}, 1 where nothing is said: with {age: 3}, age is "
        "emptied where that saves three times as many records as another key would.",
    )


def protect(block: Block, params: LocalSuppressionParams, rng: np.random.Generator) -> Masked:  # noqa: ARG001 - the contract
    """Empty key cells until every combination of keys is that of k records or more.

    Greedy. Sets of keys are tried, those worth least first; of those worth the same, the one that brings most of the
    records at risk (in classes below k) into classes of k when it is emptied in all of them. It is emptied in the
    records it saves. Before dearer sets are tried, records of classes with some to spare lend what others lack, where
    that empties no more cells than one key more would in each of these. In the end records are moved to classes that
    show more, one by one or a class altogether, as long as every class has k. Where there are too many sets of keys,
    those of few are tried, then the key is emptied that brings the records left into the largest classes, and so on.

    Parameters
    ----------
    block : Block
        Cells that are empty already are a value of their own, and stay empty.
    params : LocalSuppressionParams
    rng : numpy.random.Generator
        Left alone.

    Returns
    -------
    Masked
        Values that are left are as they were. The engine suppresses further cells where edits or other records would
        give suppressed ones away, and calls again where those are keys.

    Raises
    ------
    InputError
        When there are fewer than k records (or households), or a name is not that of a key.

    Notes
    -----
    Counting an empty cell as a value of its own asks more than counting it as equal to any value: k reached here is
    reached there too. Sets of keys are tried by hashing packed keys, of the records at risk alone.

    References
    ----------
    Hundepool, A. et al. (2012): Statistical Disclosure Control. Wiley, section 3.4. Templ, M., Kowarik, A. and
    Meindl, B. (2015): Statistical disclosure control for micro-data using the R package sdcMicro. Journal of
    Statistical Software 67(4). Sweeney, L. (2002): Achieving k-anonymity privacy protection using generalization and
    suppression. International Journal on Uncertainty, Fuzziness and Knowledge-Based Systems 10(5), 571-588.
    """
    positions = key_positions(block, params.keys)
    names = [block.names[j] for j in positions]
    strangers = [name for name in params.importance if name not in names]
    if strangers:
        raise InputError(f"importance is of keys; no key is called {', '.join(strangers)} (keys: {', '.join(names)})")
    count = block.n if block.households is None else len(np.unique(block.households))
    if count < params.k:
        what = "records" if block.households is None else "households"
        raise InputError(f"k = {params.k} is larger than the number of {what}, {count}: no class of {params.k} exists")
    codes = key_codes(block, positions)
    worth = np.array([params.importance.get(name, 1.0) for name in names])
    reached = k_anonymous(codes, params.k, block.households, worth, block.progress)
    missing = block.missing.copy()
    missing[:, positions] |= reached == GONE
    values = block.values.copy()
    values[missing] = np.nan
    gone = missing & ~block.missing
    return Masked(
        values=values,
        missing=missing,
        notes={"cells_suppressed": int(gone.sum()), "records_with_suppressed_cells": int(gone.any(axis=1).sum())},
    )


LOCAL_SUPPRESSION = Method(
    name="local_suppression",
    protect=protect,
    params=LocalSuppressionParams,
    scope="all",
    may_be_split=False,
    variable_types=frozenset({"continuous", "integer", "date", "ordinal", "nominal"}),
    handles_missing=True,
    preserves=frozenset({"k"}),
    removes=frozenset({"cells"}),
    deterministic=True,
    counts_households=True,
    reference="Hundepool et al. (2012), Statistical Disclosure Control, section 3.4; Templ, Kowarik and Meindl (2015), "
    "J. Stat. Softw. 67(4); Sweeney (2002), Int. J. Uncertain. Fuzz. 10(5), 571-588",
    summary="Empties cells of the key variables until every combination of keys has at least k records.",
    example="method: local_suppression\nparams: {k: 3}\n",
)
