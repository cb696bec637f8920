"""SUDA: how few keys single a record out, and how likely a match on them is correct."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from maskwright import (
    Comparison,
    InputError,
    Measurable,
    Measure,
    MeasureClaims,
    Measurement,
    MeasurePart,
    MeasureTable,
    Problem,
)
from maskwright_builtin.measures.key_variables.key_classes import (
    FractionParams,
    KeySetsParams,
    in_words,
    key_codes,
    key_set_mistakes,
    key_set_names,
    sampling_fraction,
    set_parts,
    worst_of_sets,
)
from maskwright_builtin.measures.key_variables.minimal_sample_uniques import (
    MOST_KEYS,
    count_sets,
    different_rows,
    minimal_sample_uniques,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from maskwright_builtin.measures.key_variables.minimal_sample_uniques import MinimalSampleUniques
    from maskwright_builtin.numerics.arrays import Floats, Integers

MOST_SETS = 25_000
"""Sets of keys that are searched: all of 14 keys, up to four of 20 or three of 50."""
FEWEST_NAMED = 10
"""A value that fewer records have is not named."""
SETS_NOTED = 5
CONTRIBUTIONS = "What each key contributes to the SUDA score"


class SudaParams(KeySetsParams, FractionParams, extra="forbid", frozen=True):
    """The key variables, how far sets of them are searched, and the bound to count by."""

    largest: int | None = Field(
        None,
        ge=1,
        description="M: sets of at most so many keys are searched. Default: all keys, up to 14 of them. Scores of "
        "different M are on different scales.",
    )
    above: float = Field(
        0.1, ge=0.0, le=1.0, description="The value is the percent of records whose DIS-SUDA is above this probability."
    )
    sets: bool = Field(
        default=False,
        description="Name every set of keys in the parts: 'unique on a + b', percent of records alone on it, and "
        "'minimal a + b', percent of those that are alone on none of its subsets.",
    )
    values: int = Field(
        0,
        ge=0,
        description="Name in the parts so many values of the keys, those that contribute most, as 'a = x'; only values "
        f"that {FEWEST_NAMED} records have. They are values of the file: the record of the run, and what is shown on "
        "the terminal, hold them.",
    )


def suda(comparison: Comparison, params: SudaParams, rng: np.random.Generator) -> Measurement:  # noqa: ARG001
    """Percent of masked records that a match on few key variables would single out with a probability above a bound.

    A *minimal sample unique* (MSU) of a record is a set of keys on which it is alone, while it is alone on no smaller
    part of the set. With q keys and sets of up to M of them searched, an MSU of k keys weighs the product of ``q - i``
    for i from k to M (for M = q: ``(q - k)!``): the smaller the set, the heavier. The score of a record is the sum over
    its MSUs, 0 if it has none.

    DIS, the probability that a match on all keys is correct, is ``U f / (U f + 2 P (1 - f))``, with U the records that
    are alone on all keys, P the pairs of equal ones, and f the sampling fraction. DIS-SUDA spreads it over the N
    records with a score: ``1 / (1 + N (1 / DIS - 1) / (score^e A))`` with ``e = 1 + (8 - q) / 20`` and ``A = sum of
    score^-e``; equal scores give each of them DIS.

    A missing cell matches nothing, and no set with it singles its record out; for U and P it is a value of its own. Of
    the weights only the sampling fraction is taken, records over the sum of the weights; without weights, and without
    `sampling_fraction`, the file counts as the whole population: then every record with a score has probability 1.
    Households are not used: single records are counted.

    There is no interval: who is alone is counted in the file that is released, and DIS is a description of it.

    Returns
    -------
    Measurement
        `parts`: ``scored``, percent of records with an MSU; ``mean_risk``, mean DIS-SUDA over all records, and
        ``largest_risk``, the largest, in percent; ``dis``, in percent; ``total_score``; ``msus_1``, ``msus_2``, ...:
        MSUs of so many keys, over all records. `per_variable`: percent of the total score from MSUs that hold the key;
        the sum is above 100, for an MSU counts for each of its keys. A value contributes the share of its records
        in what its key does. `per_record`: DIS-SUDA in percent. `tables`: what each key contributes.

    Raises
    ------
    InputError
        No key variables, variables that a file does not have, no records, or too many sets of keys.

    References
    ----------
    Skinner and Elliot (2002), A measure of disclosure risk for microdata, Journal of the Royal Statistical Society B
    64(4), 855-867, for DIS.
    """
    return worst_of_sets(comparison, params, "suda", partial(_on_keys, comparison, params))


def _on_keys(comparison: Comparison, params: SudaParams, keys: tuple[str, ...]) -> Measurement:
    codes = key_codes(comparison, keys, "suda")
    largest = min(params.largest or len(keys), len(keys))
    for text in _too_many(len(keys), params.largest):
        raise InputError(Problem(f"suda: {text}"))
    fraction, notes = sampling_fraction(comparison, params)
    rows = different_rows(codes)
    found = minimal_sample_uniques(rows, largest, comparison.progress)
    n = len(comparison.masked)
    alone = len(rows.record) * fraction
    dis = alone / (alone + 2.0 * rows.pairs * (1.0 - fraction)) if alone else 0.0
    risk = np.zeros(n)
    risk[rows.record] = dis_suda(found.score, dis, len(keys))
    total = float(found.score.sum())
    parts = {
        "scored": 100.0 * float((found.score > 0).sum()) / n,
        "mean_risk": 100.0 * float(risk.mean()),
        "largest_risk": 100.0 * float(risk.max()),
        "dis": 100.0 * dis,
        "total_score": total,
        **{f"msus_{size}": float(count) for size, count in enumerate(found.by_size(largest), 1)},
    }
    if params.sets:
        parts |= _sets(keys, found, n)
    if params.values:
        parts |= _values(comparison, keys, codes, rows.record, found.by_key, params.values)
    contributions = {
        key: 100.0 * float(part) / total if total else 0.0
        for key, part in zip(keys, found.by_key.sum(axis=1), strict=True)
    }
    return Measurement(
        100.0 * float((risk > params.above).mean()),
        parts=parts,
        per_variable=contributions,
        per_record=100.0 * risk,
        notes=(f"key variables: {', '.join(keys)}; sets of up to {largest}", *notes, *_smallest(keys, found, n)),
        sentence=_sentence(
            keys, largest, int((found.score > 0).sum()), int((risk > params.above).sum()), n, params.above
        ),
        tables=(
            MeasureTable("contributions", CONTRIBUTIONS, ("key", "share of the score"), tuple(contributions.items())),
        ),
    )


def _sentence(keys: tuple[str, ...], largest: int, scored: int, above: int, n: int, bound: float) -> str:
    some = f"at most {largest} of " if largest < len(keys) else ""
    return (
        f"{scored:,} of the {n:,} records ({100.0 * scored / n:.2g} %) are the only ones with their values of {some}"
        f"{in_words(keys)}; a match with {above:,} of them is correct with a probability above {100.0 * bound:g} %."
    )


def dis_suda(score: Floats, dis: float, keys: int) -> Floats:
    """Probability that a match with each record is correct; 0 for score 0.

    `score`: shape (u,).
    """
    scored = score > 0
    if not scored.any() or dis == 0.0:
        return np.zeros(len(score))
    power = score[scored] ** (1.0 + (8 - keys) / 20.0)
    risk = np.zeros(len(score))
    risk[scored] = 1.0 / (1.0 + len(power) * (1.0 / dis - 1.0) / (power * (1.0 / power).sum()))
    return risk


def _too_many(keys: int, largest: int | None) -> Iterator[str]:
    if keys > MOST_KEYS:
        yield f"at most {MOST_KEYS} keys, not {keys}"
    elif (sets := count_sets(keys, min(largest or keys, keys))) > MOST_SETS:
        fits = max(size for size in range(1, keys + 1) if count_sets(keys, size) <= MOST_SETS)
        yield (
            f"{keys} keys have {sets:,} sets{'' if largest is None else f' of at most {largest}'}, more than "
            f"{MOST_SETS:,}; say `largest: {fits}`, or name fewer keys"
        )


def suda_mistakes(params: SudaParams, given: Measurable) -> Iterator[tuple[str, str]]:
    """What is wrong with the parameters, given the variables: the parameter, and what it is."""
    yield from key_set_mistakes(params, given)
    sets = [key_set_names(params, given)] if params.key_sets is None else list(params.key_sets.values())
    for text in _too_many(max(map(len, sets)), params.largest):
        yield "largest", text


def _parts(params: SudaParams) -> Iterator[MeasurePart]:
    percent = (0.0, 100.0)
    for name in ("scored", "mean_risk", "largest_risk", "dis"):
        yield MeasurePart(name, "percent", range=percent)
    yield MeasurePart("total_score", "number")
    sets = [params.keys or ()] if params.key_sets is None else list(params.key_sets.values())
    most = max(map(len, sets)) or MOST_KEYS
    for size in range(1, min(params.largest or most, most) + 1):
        yield MeasurePart(f"msus_{size}", "count")
    yield from set_parts(params, "percent", "lower", percent)


def _sets(keys: Sequence[str], found: MinimalSampleUniques, n: int) -> dict[str, float]:
    parts: dict[str, float] = {}
    for positions, unique, minimal in zip(found.sets, found.unique, found.minimal, strict=True):
        text = " + ".join(keys[each] for each in positions)
        parts[f"unique on {text}"] = 100.0 * float(unique) / n
        parts[f"minimal {text}"] = 100.0 * float(minimal) / n
    return parts


def _smallest(keys: Sequence[str], found: MinimalSampleUniques, n: int) -> Iterator[str]:
    """The sets that single out most records."""
    order = sorted(np.flatnonzero(found.minimal), key=lambda each: -found.minimal[each])[:SETS_NOTED]
    text = [
        f"{' + '.join(keys[key] for key in found.sets[each])} {100.0 * found.minimal[each] / n:.3g} %" for each in order
    ]
    if text:
        yield f"smallest sets that single out most records: {', '.join(text)}"


def _values(
    comparison: Comparison, keys: Sequence[str], codes: Sequence[Integers], record: Integers, by_key: Floats, most: int
) -> dict[str, float]:
    """Share of each value in what its key contributes, largest contribution to the total score first."""
    named: list[tuple[float, float, str]] = []
    for name, code, weight in zip(keys, codes, by_key, strict=True):
        shown = code >= 0
        records = np.bincount(code[shown])
        own = np.bincount(np.maximum(code[record], 0), weights=weight, minlength=len(records))
        # A record has weight for a key only where it shows it, so code 0 gets nothing from missing cells.
        column = comparison.masked[name]
        first = np.zeros(len(records), dtype=np.int64)
        first[code[shown][::-1]] = np.flatnonzero(shown)[::-1]
        for value in np.flatnonzero((records >= FEWEST_NAMED) & (own > 0)):
            cell = column.values[first[value]]
            text = f"{cell:g}" if column.variable.is_numeric else column.variable.categories[cell]
            named.append((own[value], 100.0 * float(own[value] / weight.sum()), f"{name} = {text}"))
    named.sort(key=lambda each: (-each[0], each[2]))
    return {text: share for _, share, text in named[:most]}


SUDA = Measure(
    name="suda",
    compute=suda,
    kind="risk",
    unit="percent",
    direction="lower",
    range=(0.0, 100.0),
    params=SudaParams,
    claims=MeasureClaims(
        uses=key_set_names,
        check=suda_mistakes,
        compares_unpaired=True,
        of_one_file=True,
        invariant_to={"affine", "records", "columns"},
    ),
    parts=_parts,
    reference="Elliot, Manning, Mayes, Gurd and Bane (2005), SUDA: a program for detecting special uniques, Joint "
    "UNECE/Eurostat work session on statistical data confidentiality, Geneva",
    summary="Percent of masked records that few keys single out with a probability above a bound (SUDA2, DIS-SUDA).",
)
