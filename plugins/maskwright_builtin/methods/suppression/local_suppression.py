"""Local suppression of key cells, and suppression of whole records, of rare key combinations."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import BaseModel, Field, model_validator

from maskwright import Block, Claims, InputError, Method, NamesVariables, Removed
from maskwright_builtin.key_counts.frequencies import count_keys
from maskwright_builtin.methods.class_criteria import (
    GONE,
    Importance,
    KeyNames,
    LargestDistance,
    LeastDiversity,
    SmallestClass,
    class_size,
    emptied_cells,
    kept_in_households,
    key_codes,
    key_positions,
    members_emptied,
)
from maskwright_builtin.methods.suppression.class_suppression import k_anonymous, with_diverse_classes
from maskwright_builtin.methods.suppression.matching_suppression import matching_k, silent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright_builtin.numerics.arrays import Floats, Integers


BOUGHT = (
    "some published combinations of keys count k by the emptied keys of other records alone: fewer than half of the k "
    "records show all that such a combination shows, so that whoever knows who was emptied recognises the rest (note "
    "records_safe_by_emptied_keys): use count 'own' or 'subset'"
)
"""A wildcard k that was bought by emptied records."""


class LocalSuppressionParams(BaseModel, extra="forbid", frozen=True):
    """Parameters of local suppression."""

    k: SmallestClass = 3
    keys: KeyNames = ()
    count: Literal["own", "alpha0", "subset", "wildcard"] = Field(
        default="own",
        description="Whom a record with an empty key counts as equal. 'own': records with the same keys empty; only "
        "this is k-anonymity that anybody can recount in classes. 'alpha0': also all records without empty keys that "
        "are equal on what it shows. 'subset': all that show the same on every key that it shows. 'wildcard': an "
        "empty key matches any value, in either record, if the other one shows more than half of the keys that it "
        "shows: fewest cells, but whole records can stay unique, made safe by the emptied cells of others alone.",
    )
    subsets: Annotated[int, Field(ge=1)] | None = Field(
        default=None,
        description="k for every set of so many keys, and not for all keys together: what an intruder may know who "
        "knows no more than that many. All sets are verified.",
    )
    key_sets: Annotated[dict[str, Annotated[list[str], Field(min_length=1)]] | None, NamesVariables(in_values=True)] = (
        Field(
            default=None,
            min_length=1,
            description="k for each of these sets, {name: [keys]}, and not for all keys together: what different "
            "intruders know. All sets are verified.",
        )
    )
    l: LeastDiversity = Field(default_factory=dict)  # noqa: E741 - the name of the field
    t: LargestDistance = Field(default_factory=dict)
    importance: Importance = Field(
        default_factory=dict,
        description="How much a cell of a key is worth, {key: worth}, 1 by default: with {age: 3}, age is "
        "emptied where that saves three times as many records as another key would.",
    )

    @model_validator(mode="after")
    def _fits_together(self) -> LocalSuppressionParams:
        if self.subsets is not None and self.key_sets is not None:
            raise ValueError("give `subsets` or `key_sets`, not both")
        if (self.l or self.t) and (self.count != "own" or self.subsets is not None or self.key_sets is not None):
            raise ValueError(
                "l and t are of classes of records equal on all keys: they go with count 'own' and no sets"
            )
        return self


def suppress_cells(block: Block, params: LocalSuppressionParams, rng: np.random.Generator) -> Removed:  # noqa: ARG001 - the contract
    """Empty key cells until every combination of keys is that of k records or more.

    Greedy. Sets of keys are tried, those worth least first; of those worth the same, the one that brings most of the
    records at risk (in classes below k) into classes of k when it is emptied in all of them. It is emptied in the
    records it saves. Before dearer sets are tried, records of classes with some to spare lend what others lack, or a
    class joins them altogether, where that empties no more cells than one key more would in each of these. In the end
    records are moved to classes that show more, one by one or a class altogether, as long as every class has k. Where
    there are too many sets of keys, those of few are tried, then the key is emptied that brings the records left into
    the largest classes, and so on.

    That is for `own` classes. For `alpha0` and `subset`, sets of keys are tried likewise, and the own classes are taken
    where they cost less. For `wildcard`, of records that become equal without some keys only as many are emptied as the
    others need to count k, those first that save most. Then emptied cells are published again, one by one in order of
    importance, where everybody still counts k. By all counts, a record counts another only if it shows all that the
    first shows or, for `wildcard`, more than half of it, so that records emptied altogether count for no one. Where
    fewer than half of k records show all that a published record shows, `wildcard` has bought its k: that is a doubt.

    For several sets of keys this is done for one after the other until all hold. For `l` and `t`, each class that fails
    is joined with the one that costs least: the keys in which they differ are emptied in both. Households are counted
    where they are declared; a key that is the same in all members of every household is emptied in all or in none.

    `block`: cells that are empty already are a value of their own, and stay empty; so is each missing code, and a rare
    one is suppressed as a value is. Returns with `cells`. The engine suppresses further cells where edits or other
    records would give suppressed ones away, and calls again where those are keys.

    Counting an empty cell as a value of its own asks more than counting it as equal to any value: k reached here is
    reached there too. Sets of keys are tried by hashing packed keys, of the records at risk alone. The fewest cells are
    hard to find for k >= 3: Meyerson, A. and Williams, R. (2004), PODS, 223-228.

    Hundepool, A. et al. (2012): Statistical Disclosure Control. Wiley, section 3.4. Templ, M., Kowarik, A. and
    Meindl, B. (2015): Statistical disclosure control for micro-data using the R package sdcMicro. Journal of
    Statistical Software 67(4). Sweeney, L. (2002): Achieving k-anonymity privacy protection using generalization and
    suppression. International Journal on Uncertainty, Fuzziness and Knowledge-Based Systems 10(5), 571-588.
    """
    positions = key_positions(block, params.keys)
    names = [block.names[j] for j in positions]
    _refuse(block, params, names)
    codes = key_codes(block, positions)
    worth = np.array([params.importance.get(name, 1.0) for name in names]) * members_emptied(codes, block.households)
    sets = _sets(params, names)
    reached = codes
    while True:
        before, reached = reached, _emptied(reached, block, params, sets, worth)
        if block.households is not None:
            reached = kept_in_households(reached, codes, block.households)
        if np.array_equal(before, reached):
            break
        if block.households is None and len(sets) == 1:
            break
    missing, uncoded = emptied_cells(block, positions, reached == GONE)
    gone = (missing & ~block.missing) | uncoded
    counted = _counted(reached, block, params, sets)
    return Removed(
        cells=gone,
        notes={
            "cells_suppressed": int(gone.sum()),
            "records_with_suppressed_cells": int(gone.any(axis=1).sum()),
            **({"missing_codes_suppressed": int(uncoded.sum())} if uncoded.any() else {}),
            **counted,
        },
        doubts=(BOUGHT,) if counted.get("records_safe_by_emptied_keys") else (),
    )


def _refuse(block: Block, params: LocalSuppressionParams, names: Sequence[str]) -> None:
    """Stop for names that are no keys, for files that are too small, and for counts of households that are not made."""
    if strangers := [name for name in params.importance if name not in names]:
        raise InputError(f"importance is of keys; no key is called {', '.join(strangers)} (keys: {', '.join(names)})")
    for title, keys in (params.key_sets or {}).items():
        if strangers := [name for name in keys if name not in names]:
            raise InputError(f"key_sets, {title}: no key is called {', '.join(strangers)} (keys: {', '.join(names)})")
    if params.subsets is not None and params.subsets > len(names):
        raise InputError(f"subsets of {params.subsets} keys: there are {len(names)} ({', '.join(names)})")
    count = block.n if block.households is None else len(np.unique(block.households))
    if count < params.k:
        what = block.groups_said
        raise InputError(f"k = {params.k} is larger than the number of {what}, {count}: no class of {params.k} exists")
    if block.households is not None and params.count != "own":
        raise InputError(f"count '{params.count}' is of records, and {block.groups_said} are declared: use count 'own'")


def _sets(params: LocalSuppressionParams, names: Sequence[str]) -> list[list[int]]:
    """Places of the keys of each set that k is asked of."""
    if params.key_sets is not None:
        return [[names.index(name) for name in dict.fromkeys(keys)] for keys in params.key_sets.values()]
    size = len(names) if params.subsets is None else params.subsets
    return [list(each) for each in combinations(range(len(names)), size)]


def _emptied(
    codes: Integers, block: Block, params: LocalSuppressionParams, sets: Sequence[list[int]], worth: Floats
) -> Integers:
    """Empty keys of one set after the other."""
    reached = codes.copy()
    for number, keys in enumerate(sets):
        block.progress(number / len(sets))
        progress = block.progress if len(sets) == 1 else silent
        if params.count == "own":
            reached[:, keys] = k_anonymous(reached[:, keys], params.k, block.households, worth[keys], progress)
        else:
            reached[:, keys] = matching_k(reached[:, keys], params.k, params.count, worth[keys], progress)
    if params.l or params.t:
        reached = with_diverse_classes(reached, block, params.l, params.t, worth)
    return reached


def _counted(
    reached: Integers, block: Block, params: LocalSuppressionParams, sets: Sequence[list[int]]
) -> dict[str, int | list[str]]:
    """The k that is reached, counted anew in both ways, in the worst set of keys; of households where there are any."""
    own, wildcard, below = block.n, block.n, np.zeros(block.n, dtype=np.bool_)
    bought = np.zeros(block.n, dtype=np.bool_)
    for keys in sets:
        columns = list(reached[:, keys].T)
        homes = None if block.households is None else np.unique(block.households, return_inverse=True)[1]
        found = count_keys(columns, "own", households=homes).file
        own = min(own, int(found.min()))
        below |= found < params.k
        if params.count == "wildcard":
            # Who was emptied hides among all who show as much: they are no less his own than those who show no more.
            bought |= 2 * count_keys(columns, "subset").file < params.k
        wildcard = min(wildcard, int(count_keys(columns, "wildcard", households=homes).file.min()))
    notes: dict[str, int | list[str]] = {
        "smallest_count_own": own,
        "smallest_count_wildcard": wildcard,
        "records_below_k_own": int(below.sum()),
    }
    if params.count == "wildcard":
        notes["records_safe_by_emptied_keys"] = int(bought.sum())
    if below.any():
        warning = (
            f"k holds by the count '{params.count}', in which an empty key matches others; with an empty key as a "
            "value of its own, some records are in classes below k (note records_below_k_own)"
        )
        notes["warnings"] = [warning]
    return notes


def _as_counted(params: LocalSuppressionParams) -> Method:
    """Classes of k on all keys are promised only where they are made."""
    classes = params.count == "own" and params.subsets is None and params.key_sets is None
    return LOCAL_SUPPRESSION if classes else LOCAL_SUPPRESSION.claiming(preserves=frozenset())


LOCAL_SUPPRESSION = Method(
    name="local_suppression",
    remove=suppress_cells,
    params=LocalSuppressionParams,
    claims=Claims(removes={"cells"}, preserves={"k"}, deterministic=True, counts_households=True),
    variant=_as_counted,
    reference="Hundepool et al. (2012), Statistical Disclosure Control, section 3.4; Templ, Kowarik and Meindl (2015), "
    "J. Stat. Softw. 67(4); Sweeney (2002), Int. J. Uncertain. Fuzz. 10(5), 571-588",
    summary="Empties cells of the key variables until every combination of keys has at least k records.",
    example="method: local_suppression\nparams: {k: 3}\n",
)


class RecordSuppressionParams(BaseModel, extra="forbid", frozen=True):
    """Parameters of whole-record suppression."""

    k: SmallestClass = 3
    keys: KeyNames = ()


def suppress_records(block: Block, params: RecordSuppressionParams, rng: np.random.Generator) -> Removed:  # noqa: ARG001 - the contract
    """Leave out every record whose class on the keys has fewer than k records.

    With f(x) the number of records with the key x, the records with f(x) >= k stay, as they are. Classes that stay
    lose no one, so one pass reaches k. Estimates from the file are biased towards what is common, and weights are not
    changed: who is left out is not left out at random.

    `block`: an empty cell is a value of its own.

    Hundepool, A. et al. (2012): Statistical Disclosure Control. Wiley, section 3.4. Samarati, P. (2001): Protecting
    respondents' identities in microdata release. IEEE Transactions on Knowledge and Data Engineering 13(6), 1010-1027.
    """
    codes = key_codes(block, key_positions(block, params.keys))
    kept = np.flatnonzero(class_size(codes, block.households) >= params.k).astype(np.int64)
    if not len(kept):
        what = "records" if block.households is None else "households"
        raise InputError(f"no {params.k} {what} are equal on the keys, so no record would be left: use fewer keys")
    return Removed(
        kept_rows=kept,
        notes={"records_left_out": block.n - len(kept), "records_kept": len(kept)},
    )


RECORD_SUPPRESSION = Method(
    name="record_suppression",
    remove=suppress_records,
    params=RecordSuppressionParams,
    claims=Claims(removes={"records"}, preserves={"k"}, deterministic=True, counts_households=True),
    reference="Samarati (2001), IEEE Trans. Knowl. Data Eng. 13(6), 1010-1027; Hundepool et al. (2012), Statistical "
    "Disclosure Control, section 3.4",
    summary="Leaves out the records that fewer than k records are equal to on the key variables.",
    example="method: record_suppression\nparams: {k: 3}\n",
)
