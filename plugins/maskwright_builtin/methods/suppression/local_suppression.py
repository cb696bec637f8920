"""Local suppression: key cells of rare records are emptied until every combination of keys has k records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import BaseModel, Field

from maskwright import Block, InputError, KeyVariables, Masked, Method, PromisesK
from maskwright_builtin.methods.suppression.keys import GONE, class_size, key_codes, key_positions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright import Progress


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

    Greedy. Records in classes below k are at risk. In each round the key j is chosen with the greatest
    s(j) / importance(j), s(j) being the records at risk that would be in classes of k or more with j emptied; j is
    emptied in these. Where no key saves anybody, records of classes with some to spare lend what is missing: they lose
    the same key. Where none can, the key is emptied that brings the records at risk into the largest classes, in all
    of them. A rest of fewer than k records without any key is filled up with records of the largest
    class or, where it cannot spare them, with all of the smallest.

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
    reached there too. A round costs one sort of the records for each key.

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


def k_anonymous(
    codes: NDArray[np.int64],
    k: int,
    households: NDArray[np.int64] | None,
    worth: NDArray[np.float64],
    progress: Progress,
) -> NDArray[np.int64]:
    """Codes with cells set to `GONE` so that every class has k records, or households.

    Parameters
    ----------
    codes : ndarray of shape (n, q), int64
        Left as they are. There are at least k records (households).
    k : int
    households : ndarray of shape (n,), int64, or None
    worth : ndarray of shape (q,), float64
        Positive.
    progress : callable

    Returns
    -------
    ndarray of shape (n, q), int64
    """
    codes = codes.copy()
    start: int | None = None
    while True:
        risky = class_size(codes, households) < k
        left = int(risky.sum())
        if not left:
            progress(1.0)
            return codes
        start = left if start is None else start
        progress(min(max(1.0 - left / start, 0.0), 0.99))
        shown = risky[:, None] & (codes != GONE)
        if not shown.any():
            _fill_up(codes, risky, k, households)
            continue
        keys = np.flatnonzero(shown.any(axis=0))
        choices = [_emptied(codes, risky, int(j), k, households) for j in keys]
        if not any(saved for saved, _, _ in choices):
            choices = [
                _with_borrowed(codes, risky, int(j), k, households, choice)
                for j, choice in zip(keys, choices, strict=True)
            ]
        scores = [(saved > 0, (saved or size) / worth[j]) for j, (saved, size, _) in zip(keys, choices, strict=True)]
        best = scores.index(max(scores))
        codes[choices[best][2], keys[best]] = GONE


Choice = tuple[int, int, "NDArray[np.bool_]"]
"""Records that emptying a key saves, the summed sizes of the classes of records at risk then, and where to empty it."""


def _emptied(
    codes: NDArray[np.int64], risky: NDArray[np.bool_], j: int, k: int, households: NDArray[np.int64] | None
) -> Choice:
    """Empty key j in the records at risk that this saves or, where it saves none, in all of them."""
    here = risky & (codes[:, j] != GONE)
    trial = codes.copy()
    trial[here, j] = GONE
    sizes = class_size(trial, households)
    saved = here & (sizes >= k)
    return int(saved.sum()), int(sizes[here].sum()), saved if saved.any() else here


def _with_borrowed(
    codes: NDArray[np.int64],
    risky: NDArray[np.bool_],
    j: int,
    k: int,
    households: NDArray[np.int64] | None,
    otherwise: Choice,
) -> Choice:
    """Empty key j also in as many records of a class with some to spare as those at risk need to be k."""
    if households is not None:
        return otherwise
    shown = codes[:, j] != GONE
    sizes = class_size(codes, None)
    rest = np.unique(np.delete(codes, j, axis=1), axis=0, return_inverse=True)[1].ravel()
    order = np.argsort(rest, kind="stable")
    starts = np.searchsorted(rest[order], np.arange(int(rest.max()) + 2))
    emptied = np.zeros(len(codes), dtype=np.bool_)
    for one in np.unique(rest[risky & shown]):
        members = order[starts[one] : starts[one + 1]]
        spare = members[~risky[members] & shown[members]]
        joining = members[risky[members] | ~shown[members]]
        needed = k - len(joining)
        if not len(spare) or needed <= 0:
            continue
        largest = spare[np.argmax(sizes[spare])]
        if sizes[largest] - needed >= k:
            emptied[joining[shown[joining]]] = True
            emptied[spare[codes[spare, j] == codes[largest, j]][:needed]] = True
    saved = int((emptied & risky).sum())
    return (saved, saved, emptied) if saved else otherwise


def _fill_up(codes: NDArray[np.int64], risky: NDArray[np.bool_], k: int, households: NDArray[np.int64] | None) -> None:
    """Bring records into the class without any key until it has k."""
    sizes = np.where(risky, 0, class_size(codes, households))
    if households is None:
        needed = k - int(risky.sum())
        largest = int(np.argmax(sizes))
        if sizes[largest] - needed >= k:
            codes[np.flatnonzero((codes == codes[largest]).all(axis=1))[:needed]] = GONE
            return
    smallest = int(np.argmin(np.where(risky, np.iinfo(np.int64).max, sizes)))
    codes[(codes == codes[smallest]).all(axis=1)] = GONE


LOCAL_SUPPRESSION = Method(
    name="local_suppression",
    protect=protect,
    params=LocalSuppressionParams,
    scope="all",
    may_be_split=False,
    variable_types=frozenset({"continuous", "integer", "date", "datetime", "ordinal", "nominal"}),
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
