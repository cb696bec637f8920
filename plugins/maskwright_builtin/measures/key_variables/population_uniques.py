"""Population uniques: how many records, alone on their keys in the file, are alone in the population too."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from maskwright import Classes, Comparison, InputError, Measure, MeasureClaims, Measurement, MeasurePart, Problem
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
from maskwright_builtin.measures.key_variables.population_models import (
    LARGEST_SEARCHED,
    LARGEST_TABLE,
    KeyTable,
    first_risk,
    fit,
    main_effects,
    matching_risk,
    pitman,
    remaining,
    search,
    zayatz,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from maskwright import Progress
    from maskwright_builtin.measures.key_variables.population_models import Fitted
    from maskwright_builtin.numerics.arrays import Floats, Integers

Model = Literal["auto", "main_effects", "all_pairs", "zayatz", "pitman"]


class PopulationUniquesParams(KeySetsParams, FractionParams, extra="forbid", frozen=True):
    """The key variables, the sampling fraction, and the model of the population."""

    model: Model = Field(
        "auto",
        description="'auto': a log-linear model whose interactions are searched (all pairs above "
        f"{LARGEST_SEARCHED:,} cells, main effects above {LARGEST_TABLE:,}). 'main_effects': independent keys, a quick "
        "upper figure. 'all_pairs': every interaction of two keys. 'zayatz', 'pitman': from the sizes of classes "
        "alone, to compare with reports of other programs; they overstate by several times.",
    )


@dataclass(frozen=True, eq=False)
class _Estimate:
    """The estimate of a model.

    `unique`: chance that a cell's one record is alone in the population; 0 where it has more; shape (c,). `risk`:
    chance of a correct match with a record of the cell; shape (c,).
    """

    unique: Floats
    risk: Floats
    parts: dict[str, float]
    notes: tuple[str, ...] = ()


def population_uniques(
    comparison: Comparison,
    params: PopulationUniquesParams,
    rng: np.random.Generator,  # noqa: ARG001
) -> Measurement:
    """Percent of masked records expected to be alone with their key variables in the file and in the population.

    The people F of a cell, a combination of the keys, are Poisson with mean lambda, and each is in the sample with
    probability pi. A log-linear model, fitted to the weighted counts of all cells, empty ones too, gives lambda; F - f
    is Poisson with ``v = lambda (1 - pi)``. The value is 100 / n times ``tau1 = sum over sample uniques of exp(-v)``;
    ``tau2 = sum of (1 - exp(-v)) / v`` is the number of correct matches expected if each sample unique is linked to the
    population. Cells come from the keys as they are: with many keys, or finely coded ones, fewer keys give a better
    model.

    B tells how well a model of interactions fits where it counts: above 0 it overstates the risk, below 0 it has too
    many. Only its sign is to be relied on. `model: auto` adds the pair of keys that brings B, in standard errors,
    nearest 0, until none does.

    A missing cell is a value of its own. Weights give lambda and pi, the mean of 1 / weight in a cell (a weight below 1
    counts as 1); without weights, and without `sampling_fraction`, the file counts as the whole population. Households
    are not used: single records are counted.

    There is no interval: the models have none that holds in files that are not simple random samples.

    Returns
    -------
    Measurement
        `parts`: ``sample_uniques``, percent of records; ``tau1``; ``in_population``, how many the population has,
        as far as the sample uniques stand for them; of log-linear models ``tau2``, ``mean_risk`` (mean chance in
        percent of a correct match, over all records), ``interactions``, and where the whole table was looked at ``b``
        and ``b_standard_errors``. `per_record`: chance in percent of a correct match, of `zayatz` and `pitman` that of
        being alone in the population.

    Raises
    ------
    InputError
        No key variables, variables that a file does not have, no records; `all_pairs` on more cells than are held.

    Notes
    -----
    The weighted fit is the pseudo-likelihood estimate. The models of Chen and Keller-McNulty (1998) and of Skinner and
    Holmes (1998) are left out: the first starts from an estimate of the number of cells that is off by a factor of two,
    the second is for tables on which all pairs cannot be fitted.

    References
    ----------
    Elamir and Skinner (2006), Record level measures of disclosure risk for survey microdata, Journal of Official
    Statistics 22(3), 525-539.
    """
    return worst_of_sets(comparison, params, "population_uniques", partial(_on_keys, comparison, params))


def _on_keys(comparison: Comparison, params: PopulationUniquesParams, keys: tuple[str, ...]) -> Measurement:
    codes = key_codes(comparison, keys, "population_uniques")
    given = comparison.masked_weights()
    fraction, notes = sampling_fraction(params, len(codes[0]), None if given is None else float(given.sum()))
    weights = None if params.sampling_fraction is not None or fraction >= 1.0 else given
    table, of_record = _table(codes, weights, fraction)
    alone = table.count == 1
    n = len(of_record)
    parts = {"sample_uniques": 100.0 * float(alone.sum()) / n}
    if not alone.any() or fraction >= 1.0:
        estimate = _Estimate(alone.astype(np.float64), np.where(alone, 1.0, 1.0 / table.count), {})
    elif params.model in ("zayatz", "pitman"):
        estimate = _by_class_sizes(table, params.model)
    else:
        estimate = _log_linear(table, keys, params.model, comparison.progress)
    tau1 = float(estimate.unique.sum())
    return Measurement(
        100.0 * tau1 / n,
        parts={
            **parts,
            "tau1": tau1,
            "in_population": float((estimate.unique * table.weight).sum()),
            **estimate.parts,
        },
        per_record=100.0 * estimate.risk[of_record],
        notes=(f"key variables: {', '.join(keys)}; {table.cells:,} cells", *notes, *estimate.notes),
        sentence=(
            f"{int(alone.sum()):,} of the {n:,} records are the only ones with their {in_words(keys)}; about "
            f"{tau1:,.0f} of them ({100.0 * tau1 / n:.2g} % of all records) are the only ones in the whole "
            "population too."
        ),
    )


def _table(codes: Sequence[Integers], weights: Floats | None, fraction: float) -> tuple[KeyTable, Integers]:
    """Count the records of each cell; and the cell of each record."""
    classes = Classes.of(codes)
    of_record, count = classes.codes, classes.records
    # A missing cell is the code after the last.
    levels = [int(code.max()) + 1 + bool((code < 0).any()) for code in codes]
    cell_codes = np.stack([np.where(key < 0, level - 1, key) for key, level in zip(classes.keys, levels, strict=True)])
    if weights is None:
        whole, inverse = count / fraction, np.full(len(count), fraction)
    else:
        usable = np.maximum(weights, 1.0)
        whole = np.asarray(np.bincount(of_record, weights=usable), dtype=np.float64)
        inverse = np.asarray(np.bincount(of_record, weights=1.0 / usable) / count, dtype=np.float64)
    return KeyTable(tuple(levels), cell_codes, count, whole, inverse), of_record


def _log_linear(table: KeyTable, keys: Sequence[str], model: Model, progress: Progress) -> _Estimate:
    fitted, notes = _fitted(table, model, progress)
    outside = remaining(fitted.expected, table.fraction)
    alone = table.count == 1
    risk = matching_risk(table.count, outside)
    parts = {
        "tau2": float(first_risk(outside[alone]).sum()),
        "mean_risk": 100.0 * float((risk * table.count).sum() / table.count.sum()),
        "interactions": float(len(fitted.pairs)),
    }
    if fitted.b is not None and fitted.standard_error:
        parts |= {"b": fitted.b, "b_standard_errors": fitted.b / fitted.standard_error}
    text = ", ".join(f"{keys[first]} x {keys[second]}" for first, second in fitted.pairs)
    about = f"log-linear model of main effects{f' and {text}' if text else ''}"
    return _Estimate(np.where(alone, np.exp(-outside), 0.0), risk, parts, (about, *notes))


def _fitted(table: KeyTable, model: Model, progress: Progress) -> tuple[Fitted, tuple[str, ...]]:
    large = table.cells > LARGEST_TABLE
    if model == "all_pairs" and large:
        raise InputError(
            Problem(
                f"population_uniques: all_pairs is fitted on up to {LARGEST_TABLE:,} cells, and the keys have "
                f"{table.cells:,}",
                hint="Name fewer keys, merge categories, or say `model: main_effects`",
            )
        )
    if large:
        return main_effects(table), (f"over {LARGEST_TABLE:,} cells: main effects only, which overstate the risk",)
    if model == "main_effects":
        return fit(table, ())[0], ()
    if model == "auto" and table.cells <= LARGEST_SEARCHED:
        return search(table, progress), ()
    text = (f"over {LARGEST_SEARCHED:,} cells: interactions are not searched",) if model == "auto" else ()
    return fit(table, list(itertools.combinations(range(len(table.levels)), 2)))[0], text


def _by_class_sizes(table: KeyTable, model: Model) -> _Estimate:
    sizes = np.bincount(table.count)
    population = float(table.weight.sum())
    alone = table.count == 1
    parts: dict[str, float] = {}
    notes = [f"{model}: from the sizes of classes alone, for comparison; it overstates by several times"]
    if sizes[1] == len(table.count):
        chance = 1.0
        notes.append("every record is alone, which says nothing about the population: each counts as alone there too")
    elif model == "zayatz":
        chance = zayatz(sizes, population)
    else:
        theta, alpha, uniques = pitman(sizes, population)
        chance = min(uniques * table.all_fraction / float(sizes[1]), 1.0)
        parts = {"theta": theta, "alpha": alpha}
    unique = np.where(alone, chance, 0.0)
    return _Estimate(unique, unique, parts, tuple(notes))


def _parts(params: PopulationUniquesParams) -> Iterator[MeasurePart]:
    percent = (0.0, 100.0)
    yield MeasurePart("sample_uniques", "percent", range=percent)
    yield MeasurePart("tau1", "count")
    yield MeasurePart("in_population", "count")
    if params.model in ("zayatz", "pitman"):
        for name in ("theta", "alpha") if params.model == "pitman" else ():
            yield MeasurePart(name, "number", range=(None, None))
    else:
        yield MeasurePart("tau2", "count")
        yield MeasurePart("mean_risk", "percent", range=percent)
        yield MeasurePart("interactions", "count")
        yield MeasurePart("b", "number", range=(None, None))
        yield MeasurePart("b_standard_errors", "number", range=(None, None))
    yield from set_parts(params, "percent", "lower", percent)


POPULATION_UNIQUES = Measure(
    name="population_uniques",
    compute=population_uniques,
    kind="risk",
    unit="percent",
    direction="lower",
    range=(0.0, 100.0),
    params=PopulationUniquesParams,
    claims=MeasureClaims(
        uses=key_set_names,
        check=key_set_mistakes,
        compares_unpaired=True,
        of_one_file=True,
        invariant_to={"affine", "records", "columns"},
    ),
    parts=_parts,
    reference="Skinner and Shlomo (2008), Assessing identification risk in survey microdata using log-linear models, "
    "Journal of the American Statistical Association 103, 989-1001",
    summary="Percent of masked records expected to be alone on their keys in the population (log-linear models).",
)
