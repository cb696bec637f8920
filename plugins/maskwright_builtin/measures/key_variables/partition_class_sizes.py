"""Sizes of equivalence classes of a file in partitions, counted exactly by a shuffle of hashes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright import Comparison, Further, InputError, Measurement, Merging, PartOfFile, class_hashes, plural
from maskwright_builtin.key_counts.frequencies import individual_risk, sampling_fraction
from maskwright_builtin.measures.key_variables.key_classes import (
    KeySetsParams,
    in_words,
    sets_of_keys,
    size_table,
    worst_of,
)
from maskwright_builtin.measures.partition_statistics import distinct_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Literal

    from maskwright import MeasureTable
    from maskwright_builtin.measures.key_variables.k_anonymity import KAnonymityParams
    from maskwright_builtin.measures.partition_statistics import Columns, Facts, Request
    from maskwright_builtin.numerics.arrays import Floats, Integers


def k_anonymity_of(
    smallest: int, below: int, records: int, k: int, keys: tuple[str, ...], what: str, parts: Mapping[str, float],
    sizes: MeasureTable,
) -> Measurement:  # fmt: skip
    """The measure `k_anonymity`, however its classes were counted."""
    return Measurement(
        float(smallest),
        parts={"classes": parts["classes"], "below_k": 100.0 * below / records, "mean_risk": parts["mean_risk"]},
        notes=(f"key variables: {', '.join(keys)}",),
        sentence=f"The smallest group that shares {in_words(keys)} holds {plural(smallest, what)}; {below:,} of the "
        f"{records:,} records are in groups of fewer than {k}.",
        tables=(sizes,),
    )


def uniqueness_of(
    alone: int, records: int, keys: tuple[str, ...], parts: Mapping[str, float], notes: Sequence[str]
) -> Measurement:
    """The measure `uniqueness`, however its classes were counted."""
    return Measurement(
        100.0 * alone / records,
        parts=parts,
        notes=(f"key variables: {', '.join(keys)}", *notes),
        sentence=f"{alone:,} of the {records:,} records are the only ones with their {in_words(keys)}.",
    )


def light_records(count: int) -> str:
    """Note on records whose weight cannot be one."""
    return f"{plural(count, 'record')} with a weight missing or below 1: counted with weight 1"


def keys_of_part(comparison: Comparison, params: KeySetsParams, request: object) -> Facts:  # noqa: ARG001
    """Records of one part, which keys there are, and whether there are weights."""
    weights = comparison.masked_weights()
    for keys in sets_of_keys(comparison, params, "measure").values():
        for name in keys:
            comparison.keys(name)
    return {
        "records": len(comparison.masked),
        "keys": {name: list(keys) for name, keys in sets_of_keys(comparison, params, "measure").items()},
        "weighted": weights is not None,
        "zero": 0 if weights is None else int((weights == 0.0).sum()),
        "light": 0 if weights is None else int((~(weights >= 1.0)).sum()),
    }


def classes_of_part(
    comparison: Comparison,
    params: KeySetsParams,  # noqa: ARG001
    request: Request,
    part: PartOfFile,
) -> tuple[Columns, Integers]:
    """Classes of one part, with their records and weights of at least 1, by the task that counts them."""
    assert request is not None
    weights = comparison.masked_weights()
    usable = np.ones(len(comparison.masked)) if weights is None else np.where(weights >= 1.0, weights, 1.0)
    return weighted_classes(comparison, request, part, usable)


def weighted_classes(
    comparison: Comparison, request: Mapping[str, Any], part: PartOfFile, usable: Floats
) -> tuple[Columns, Integers]:
    """Classes of one part, with their records and the sums of their weights, by the task that counts them.

    `usable`: the weight of each record; shape (n,).
    """
    pieces = []
    for number, keys in enumerate(request["keys"].values()):
        one, other = class_hashes(comparison.masked, keys)
        rows = {"one": one, "other": other, "records": np.ones(len(one), dtype=np.int64), "weight": usable}
        found, _ = distinct_rows(rows, ("one", "other"))
        pieces.append({"set": np.full(len(found["one"]), number, dtype=np.int64), **found})
    columns = {name: np.concatenate([each[name] for each in pieces]) for name in pieces[0]}
    return columns, (columns["one"].astype(np.uint64) % np.uint64(part.tasks)).astype(np.int64)


def classes_by_set(columns: Columns, request: Request) -> Iterator[tuple[str, Integers, Floats]]:
    """Of each set of keys the records of its classes in one task, and the sums of their weights."""
    assert request is not None
    found, _ = distinct_rows(columns, ("set", "one", "other"))
    for number, name in enumerate(request["keys"]):
        own = found["set"] == number
        yield name, found["records"][own].astype(np.int64), found["weight"][own].astype(np.float64)


def counted_classes(columns: Columns, params: KeySetsParams, request: Request) -> Facts:  # noqa: ARG001
    """How many classes of one task have each size, and the risks by their weights."""
    assert request is not None
    facts: dict[str, Any] = {}
    for name, records, weight in classes_by_set(columns, request):
        sizes, classes = np.unique(records, return_counts=True)
        facts[name] = {"sizes": sizes.tolist(), "classes": classes.tolist()}
        if request["weighted"]:
            fraction, _ = sampling_fraction(records, weight)
            facts[name]["population_uniques"] = float(fraction[records == 1].sum())
            facts[name]["risk"] = float((records * individual_risk(records, fraction)).sum())
    return facts


def classes_wanted(facts: Sequence[Facts]) -> Further:
    """Request of the second round: the classes of each part."""
    if len({each["weighted"] for each in facts}) > 1:
        raise InputError("the weights are missing, negative or infinite in some of the parts: mend them, or give them "
                         "another role")  # fmt: skip
    first = facts[0]
    sums = {name: sum(each[name] for each in facts) for name in ("light", "zero", "records")}
    return Further({"keys": first["keys"], "weighted": first["weighted"], **sums}, rows_to="tasks")


def _of_sets(
    facts: Sequence[Facts], params: KeySetsParams, request: Mapping[str, Any],
    of_set: Callable[[tuple[str, ...], Integers, Integers, Sequence[Facts]], Measurement],
    direction: Literal["lower", "higher"],
) -> Measurement:  # fmt: skip
    found = {}
    for name, keys in request["keys"].items():
        own = [each[name] for each in facts]
        counts: dict[int, int] = {}
        for each in own:
            for size, classes in zip(each["sizes"], each["classes"], strict=True):
                counts[size] = counts.get(size, 0) + classes
        sizes = np.array(sorted(counts), dtype=np.int64)
        found[name] = of_set(tuple(keys), sizes, np.array([counts[size] for size in sizes.tolist()]), own)
    return found[""] if params.key_sets is None else worst_of(found, direction)


def k_anonymity_of_parts(facts: Sequence[Facts], params: KAnonymityParams, request: Request) -> Measurement | Further:
    """The measure `k_anonymity` of a file in parts."""
    if request is None:
        return classes_wanted(facts)
    records = request["records"]

    def of_set(keys: tuple[str, ...], sizes: Integers, classes: Integers, _: Sequence[Facts]) -> Measurement:
        below = int((sizes * classes)[sizes < params.k].sum())
        count = int(classes.sum())
        parts = {"classes": float(count), "mean_risk": 100.0 * count / records}
        table = size_table(sizes, "records", sizes * classes)
        return k_anonymity_of(int(sizes[0]), below, records, params.k, keys, "record", parts, table)

    return _of_sets(facts, params, request, of_set, "higher")


def uniqueness_of_parts(facts: Sequence[Facts], params: KeySetsParams, request: Request) -> Measurement | Further:
    """The measure `uniqueness` of a file in parts."""
    if request is None:
        return classes_wanted(facts)
    records = request["records"]

    def of_set(keys: tuple[str, ...], sizes: Integers, classes: Integers, own: Sequence[Facts]) -> Measurement:
        parts, notes = dict[str, float](), list[str]()
        if request["weighted"]:
            parts = {
                "population_uniques": 100.0 * math.fsum(each["population_uniques"] for each in own) / records,
                "mean_risk": 100.0 * math.fsum(each["risk"] for each in own) / records,
            }
            notes = [light_records(request["light"])] if request["light"] else []
        return uniqueness_of(int(classes[sizes == 1].sum()), records, keys, parts, notes)

    return _of_sets(facts, params, request, of_set, "lower")


K_ANONYMITY_OVER_PARTS = Merging(
    partial=keys_of_part, merged=k_anonymity_of_parts, rows=classes_of_part, counted=counted_classes
)
UNIQUENESS_OVER_PARTS = Merging(
    partial=keys_of_part, merged=uniqueness_of_parts, rows=classes_of_part, counted=counted_classes
)
