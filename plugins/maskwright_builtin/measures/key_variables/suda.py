"""SUDA: how few keys single a record out, and how likely a match on them is correct."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from maskwright import (
    Classes,
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
from maskwright_builtin.measures.key_variables.class_measures import (
    About,
    ClassMeasure,
    codes_of_classes,
    exactly,
    fraction_of_file,
    total,
)
from maskwright_builtin.measures.key_variables.key_classes import (
    FractionParams,
    KeySetsParams,
    in_words,
    key_set_mistakes,
    key_set_names,
    set_parts,
)
from maskwright_builtin.measures.key_variables.minimal_sample_uniques import (
    MOST_KEYS,
    count_sets,
    different_rows,
    minimal_sample_uniques,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from maskwright_builtin.measures.partition_statistics import Facts
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
    Households are not used: single records are counted. Over parts of a file all classes are searched in one task, and
    `values` are not named.

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
    return SUDA_OF_CLASSES.compute(comparison, params)


def _largest(params: SudaParams, about: About) -> int:
    return min(params.largest or len(about.keys), len(about.keys))


def _facts(classes: Classes, params: SudaParams, about: About) -> tuple[Facts, Floats]:
    for text in _too_many(len(about.keys), params.largest):
        raise InputError(Problem(f"suda: {text}"))
    fraction, _ = fraction_of_file(about, params)
    codes = codes_of_classes(classes, about)
    rows = different_rows(codes, classes.records)
    found = minimal_sample_uniques(rows, _largest(params, about), about.progress)
    alone = len(rows.unique) * fraction
    dis = alone / (alone + 2.0 * rows.pairs * (1.0 - fraction)) if alone else 0.0
    risk = np.zeros(len(classes))
    risk[rows.unique] = dis_suda(found.score, dis, len(about.keys))
    facts = {
        "scored": int((found.score > 0).sum()),
        "above": int((risk > params.above).sum()),
        "risk": exactly(risk),
        "largest": float(risk.max()),
        "dis": dis,
        "score": float(found.score.sum()),
        "by_size": found.by_size(_largest(params, about)),
        "by_key": found.by_key.sum(axis=1).tolist(),
        "unique": found.unique.tolist(),
        "minimal": found.minimal.tolist(),
        "values": {},
    }
    if params.values and about.comparison is not None:
        named = _values(about.comparison, about.keys, classes, codes, rows.unique, found.by_key)
        facts["values"] = dict(named[: params.values])
    return facts, 100.0 * risk


def _figure(facts: Sequence[Facts], params: SudaParams, about: About) -> Measurement:
    (found,) = facts
    keys, n, largest = about.keys, about.records, _largest(params, about)
    parts = {
        "scored": 100.0 * found["scored"] / n,
        "mean_risk": 100.0 * total(facts, "risk") / n,
        "largest_risk": 100.0 * found["largest"],
        "dis": 100.0 * found["dis"],
        "total_score": found["score"],
        **{f"msus_{size}": float(count) for size, count in enumerate(found["by_size"], 1)},
    }
    if params.sets:
        for names, unique, minimal in zip(_sets(keys, largest), found["unique"], found["minimal"], strict=True):
            parts[f"unique on {names}"] = 100.0 * float(unique) / n
            parts[f"minimal {names}"] = 100.0 * float(minimal) / n
    parts |= found["values"]
    score = found["score"]
    contributions = {key: 100.0 * own / score if score else 0.0 for key, own in zip(keys, found["by_key"], strict=True)}
    _, notes = fraction_of_file(about, params)
    smallest = _smallest(_sets(keys, largest), np.array(found["minimal"]), n)
    return Measurement(
        100.0 * found["above"] / n,
        parts=parts,
        per_variable=contributions,
        notes=(f"key variables: {', '.join(keys)}; sets of up to {largest}", *notes, *smallest),
        sentence=_sentence(keys, largest, found["scored"], found["above"], n, params.above),
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
    different, of_score, records = np.unique(score[scored], return_inverse=True, return_counts=True)
    power = different ** (1.0 + (8 - keys) / 20.0)
    risk = np.zeros(len(score))
    # By different scores, so that the order of the records changes nothing.
    risk[scored] = (1.0 / (1.0 + records.sum() * (1.0 / dis - 1.0) / (power * (records / power).sum())))[of_score]
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


def _sets(keys: Sequence[str], largest: int) -> list[str]:
    """Names of the sets that are searched, smaller ones first."""
    sizes = range(1, largest + 1)
    return [" + ".join(names) for size in sizes for names in itertools.combinations(keys, size)]


def _smallest(sets: Sequence[str], minimal: Integers, n: int) -> Iterator[str]:
    """The sets that single out most records."""
    order = sorted(np.flatnonzero(minimal), key=lambda each: -minimal[each])[:SETS_NOTED]
    text = [f"{sets[each]} {100.0 * minimal[each] / n:.3g} %" for each in map(int, order)]
    if text:
        yield f"smallest sets that single out most records: {', '.join(text)}"


def _values(
    comparison: Comparison, keys: Sequence[str], classes: Classes, codes: Sequence[Integers], unique: Integers,
    by_key: Floats,
) -> list[tuple[str, float]]:  # fmt: skip
    """Share of each value in what its key contributes, largest contribution to the total score first."""
    named: list[tuple[float, float, str]] = []
    for name, code, weight in zip(keys, codes, by_key, strict=True):
        shown = np.flatnonzero(code >= 0)
        records = np.bincount(code[shown], classes.records[shown])
        own = np.bincount(np.maximum(code[unique], 0), weights=weight, minlength=len(records))
        # A record has weight for a key only where it shows it, so code 0 gets nothing from missing cells.
        column = comparison.masked[name]
        first = np.zeros(len(records), dtype=np.int64)
        first[code[shown][::-1]] = classes.first[shown][::-1]
        for value in np.flatnonzero((records >= FEWEST_NAMED) & (own > 0)):
            cell = column.values[first[value]]
            text = f"{cell:g}" if column.variable.is_numeric else column.variable.categories[cell]
            named.append((own[value], 100.0 * float(own[value] / weight.sum()), f"{name} = {text}"))
    named.sort(key=lambda each: (-each[0], each[2]))
    return [(text, share) for _, share, text in named]


def _refused(params: SudaParams) -> str | None:
    return "`values` are named of records in memory: leave it out" if params.values else None


def _all_at_once(params: SudaParams) -> bool:  # noqa: ARG001 - the contract
    return True


SUDA_OF_CLASSES = ClassMeasure(
    name="suda", facts=_facts, figure=_figure, weighted=True, at_once=_all_at_once, refused=_refused
)


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
    merging=SUDA_OF_CLASSES.merging,
    reference="Elliot, Manning, Mayes, Gurd and Bane (2005), SUDA: a program for detecting special uniques, Joint "
    "UNECE/Eurostat work session on statistical data confidentiality, Geneva",
    summary="Percent of masked records that few keys single out with a probability above a bound (SUDA2, DIS-SUDA).",
)
