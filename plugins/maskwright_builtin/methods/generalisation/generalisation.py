"""Full-domain generalisation: the best level of each key's hierarchy, the same for all records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import BaseModel, Field, model_validator

from maskwright import Block, Claims, InputError, Masked, Method, NamesFile, NamesVariables, plural
from maskwright_builtin.key_counts.frequencies import positive_weights
from maskwright_builtin.methods.class_criteria import (
    Criteria,
    Importance,
    KeyNames,
    LargestDistance,
    LeastDiversity,
    SmallestClass,
    bounds_of,
    emptied_cells,
    key_positions,
)
from maskwright_builtin.methods.generalisation.hierarchy_levels import Key, LossName, Rows, keys_and_rows, loss_of
from maskwright_builtin.methods.generalisation.lattice_search import MOST_NODES, Evaluator, Found, Lattice, best_node
from maskwright_builtin.methods.generalisation.population import LargestRisk, LeastPeople, RiskBound, read_population
from maskwright_builtin.methods.recoding_parameters import on_level

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from maskwright import Variable
    from maskwright_builtin.numerics.arrays import Integers


BY_CHANCE = 1000
"""One in so many files has such a key by chance alone."""

RECORDS_CHECKED_FIRST = 10_000
"""Records among which most keys are seen to determine nothing."""


def determined_by_other_keys(block: Block, levels: Mapping[int, int]) -> Iterator[str]:
    """Doubts on keys that another determines below the level on which they are published."""
    for j, level in levels.items():
        variable = block.variables[j]
        for i, its_level in levels.items():
            if i == j:
                continue
            lower = range(_raised(variable), level)
            lower_level = next((low for low in lower if _determines(block, i, its_level, j, low, level)), None)
            if lower_level is not None:
                yield (
                    f"{variable.name} is published on level {level}, and {block.names[i]} on level {its_level}, which "
                    f"tells its level {lower_level}: say with `levels` which fit"
                )


def _raised(variable: Variable) -> int:
    return 0 if variable.hierarchy is None else variable.hierarchy.raised


def _determines(block: Block, i: int, its_level: int, j: int, low: int, level: int) -> bool:
    """Whether key i determines key j on a lower level than it is published on: among few records, then among all."""
    present = np.flatnonzero(~block.missing[:, i] & ~block.missing[:, j])
    for records in (present[:RECORDS_CHECKED_FIRST], present):
        given = _nodes(block, i, records, its_level)
        finer = _nodes(block, j, records, low)
        pairs = _distinct(given * (int(finer.max(initial=0)) + 1) + finer)
        if pairs > _distinct(given):
            return False
    return not _by_chance(given, finer, _nodes(block, j, present, level))


def _nodes(block: Block, j: int, records: Integers, level: int) -> Integers:
    """Node of a key in some records."""
    variable, values = block.variables[j], block.values[records, j]
    if variable.hierarchy is None or level == variable.hierarchy.raised:
        return np.asarray(np.unique(values, return_inverse=True)[1], dtype=np.int64)
    return variable.hierarchy.codes(variable, values, level - variable.hierarchy.raised)


def _by_chance(given: Integers, finer: Integers, published: Integers) -> bool:
    """Whether one key may determine finer categories than are published of another by chance, or determines none.

    Two records of one published category have the same finer one with the probability s. Of n records with g different
    values of the other key, n - g repeat one: they all agree with the probability s ** (n - g).
    """
    n = len(given)
    same_finer, same_published = (float(np.sum(np.bincount(codes).astype(float) ** 2)) for codes in (finer, published))
    if not n or same_finer == same_published:
        return True
    return bool((n - _distinct(given)) * np.log(same_finer / same_published) > -np.log(BY_CHANCE))


def _distinct(codes: Integers) -> int:
    return len(np.unique(codes))


LevelRange = Annotated[tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)]], Field()]


class GeneralisationParams(BaseModel, extra="forbid", frozen=True):
    """Parameters of full-domain generalisation."""

    k: SmallestClass = 5
    l: LeastDiversity = Field(default_factory=dict)  # noqa: E741 - the name of the field
    t: LargestDistance = Field(default_factory=dict)
    k_map: Annotated[float, Field(gt=0)] | None = Field(
        default=None,
        description="Least number of people of the population who are equal on the keys: counted in `population` or, "
        "without one, estimated by the sum of the sampling weights of a class.",
    )
    population: Annotated[Path | None, NamesFile()] = Field(
        default=None,
        description="File of the population, or of a register of it, for `k_map`, with the keys as this step gets "
        "them; its ending tells the format. Those count who show what a record shows, whatever its missing keys are.",
    )
    individual_risk: Annotated[float, Field(gt=0, lt=1)] | RiskBound | None = Field(
        default=None,
        description="Largest individual risk of a record, as the measure individual_risk has it with its defaults: "
        "0.05, or {bound: 0.05, share_above: 0.01} where a share of the records may be above it. Without weights the "
        "file is taken to be the population.",
    )
    keys: KeyNames = ()
    levels: Annotated[dict[str, Annotated[int, Field(ge=0)] | LevelRange], NamesVariables()] = Field(
        default_factory=dict,
        description="Levels that may be published of some keys: the lowest and the highest, {age: [1, 3]}, or one, "
        "{region: 1}. 0 are the values.",
    )
    suppression_limit: float = Field(
        default=0.05,
        ge=0,
        le=1,
        description="Share of the records whose keys may all be emptied, because they are in classes that "
        "fail. 0: none.",
    )
    loss: LossName = Field(
        default="entropy",
        description="What the best levels have least of: 'entropy' (bits that are lost of each cell), 'lm' (share "
        "of the domain that a cell leaves open), 'discernibility' (squares of class sizes), 'height' (mean level).",
    )
    importance: Importance = Field(
        default_factory=dict,
        description="How much the loss of a key counts, {key: worth}, 1 by default. Discernibility does not know it.",
    )

    @model_validator(mode="after")
    def _rises(self) -> GeneralisationParams:
        for name, asked in self.levels.items():
            if isinstance(asked, tuple) and asked[1] < asked[0]:
                raise ValueError(f"levels of {name}: the highest is below the lowest")
        if self.population is not None and self.k_map is None:
            raise ValueError("population is the file that k_map counts in: say how many people, k_map: 5")
        return self


def protect(block: Block, params: GeneralisationParams, rng: np.random.Generator) -> Masked:  # noqa: ARG001 - the contract
    """Publish each key on one level of its hierarchy, so that every class of equal keys fulfils what is requested.

    A node is one level for each key. Its classes are the records that are equal on the keys then, a missing key being
    a value of its own. Records in classes that fail a criterion are outliers: all their keys are emptied. A node may be
    published if outliers are at most `suppression_limit` of the records, and if they, as a class of their own, fulfil
    the criteria too, or there are none. Of those nodes the one with the least loss is taken, of equal ones the lowest
    in the order of the keys. Sensitive values stay, so that their shares in the file are those of the original.

    Where a share of the records may be above `individual_risk`, those of the largest risk are emptied until no more are
    left, beside the outliers of the other criteria; those of one risk together.

    With n records and q keys, n_b of n in band b and n_v with value v: `entropy` is the sum over cells of
    ``log2(n_b / n_v)``, of an emptied one ``log2(n / n_v)``; `lm` the mean of (values of the band - 1) / (values of the
    domain - 1), by width for continuous numbers, 1 for an emptied cell; `discernibility` the sum of the squares of the
    classes that are left, and n for each outlier; `height` the mean of level / highest level. A cell that was missing
    has lost nothing.

    Lattices of up to 100,000 nodes are searched until no better node can be left; larger ones by a beam from the top
    down, and the note says "best found".

    Parameters
    ----------
    block : Block
        Keys without a hierarchy stay on level 0, as they are.

    Returns
    -------
    Masked
        With `variables`; a key on level 0 is as it was.

    Raises
    ------
    InputError
        Fewer than k records, a diversity that all records together do not have, levels that a hierarchy has not, a
        population file that is not one of these records, or no node that fulfils the criteria.

    References
    ----------
    Samarati, P. (2001): Protecting respondents' identities in microdata release. IEEE Transactions on Knowledge and
    Data Engineering 13(6), 1010-1027. Kohlmayer, F. et al. (2012): Flash: efficient, stable and optimal k-anonymity.
    IEEE International Conference on Social Computing, 708-717. Iyengar, V. S. (2002), KDD, 279-288 (LM). Gionis, A. and
    Tassa, T. (2009), IEEE TKDE 21(2), 206-219 (entropy). Bayardo, R. J. and Agrawal, R. (2005), ICDE, 217-228.
    Machanavajjhala, A. et al. (2007), ACM TKDD 1(1), article 3. Li, N. et al. (2007), ICDE, 106-115.
    """
    positions = key_positions(block, params.keys)
    names = [block.names[j] for j in positions]
    _refuse(block, params, names)
    asked = {name: each if isinstance(each, tuple) else (each, each) for name, each in params.levels.items()}
    population = None
    if params.population is not None:
        population = read_population(params.population, [block.variables[j] for j in positions])
    estimated = (params.k_map is not None and population is None) or params.individual_risk is not None
    weights, _ = positive_weights(block.weights if estimated else None)
    keys, rows = keys_and_rows(block, positions, asked, weights, population)
    criteria = _criteria(block, params, rows, weighted=weights is not None)
    loss = loss_of(params.loss, keys, block.n, [params.importance.get(name, 1.0) for name in names])
    evaluator = Evaluator(keys, rows, criteria, loss, _records(params.suppression_limit, block.n))
    lattice = Lattice([len(key.levels) for key in keys])
    found = best_node(evaluator, lattice, block.progress)
    if found is None:
        raise InputError(_no_node(lattice, evaluator, params, block.n))
    return _published(block, positions, keys, rows, evaluator, found, params)


def _refuse(block: Block, params: GeneralisationParams, names: Sequence[str]) -> None:
    """Stop for names that are no keys, and for files that are too small."""
    for parameter in ("levels", "importance"):
        strangers = [name for name in getattr(params, parameter) if name not in names]
        if strangers:
            raise InputError(
                f"{parameter}: {', '.join(strangers)}: no key of this step; the keys are {', '.join(names)}"
            )
    count = block.n if block.households is None else len(np.unique(block.households))
    if count < params.k:
        what = "records" if block.households is None else "households"
        raise InputError(f"k = {params.k} is larger than the number of {what}, {count}: no class of {params.k} exists")
    if params.k_map is not None and params.population is None and block.weights is None:
        raise InputError(
            "k_map is counted in a file, `population`, or estimated by sampling weights, and no variable has the role "
            "weight"
        )


def _criteria(block: Block, params: GeneralisationParams, rows: Rows, *, weighted: bool) -> Criteria:
    """The bounds on every class, as far as they can be held at all."""
    bounds = tuple(bounds_of(block, params.l, params.t, rows.of_leaf))
    for each in bounds:
        each.refuse_impossible()
    k_map, risk = None, None
    if params.k_map is not None:
        k_map = LeastPeople(params.k_map, -1 if params.population is not None else 0, params.population is not None)
        _refuse_population(k_map, rows)
    if params.individual_risk is not None:
        asked = params.individual_risk
        asked = asked if isinstance(asked, RiskBound) else RiskBound(bound=asked)
        risk = LargestRisk(asked.bound, _records(asked.share_above, block.n), 0 if weighted else None)
    return Criteria(params.k, k_map, bounds, block.households, rows.of_leaf, risk)


def _refuse_population(k_map: LeastPeople, rows: Rows) -> None:
    """Stop for a population that records are not from, or too small a one."""
    people = float(rows.amounts[:, k_map.column].sum())
    if people < k_map.least:
        raise InputError(f"k_map: {k_map.least:g} people are more than the population has, {people:,.6g}")
    strangers = int(rows.counts[k_map.of_classes(rows) <= 0].sum())
    if strangers:
        raise InputError(
            f"k_map: {plural(strangers, 'record has', 'records have')} keys that no record of the "
            "population file has: the file is not that of the population, or its keys are coded otherwise than those "
            "of the data"
        )


def _records(share: float, n: int) -> int:
    """So many records are a share of them at most."""
    return int(np.floor(share * n + 1e-9))


def _no_node(lattice: Lattice, evaluator: Evaluator, params: GeneralisationParams, n: int) -> str:
    """Why no node may be published: what fails on the highest levels, where fewest records do."""
    keys = evaluator.keys
    ends = [key.variable.name for key in keys if len(key.counts[-1]) > 1 + key.missing]
    hint = f" (those of {', '.join(ends)} are of several categories)" if ends else ""
    what = "no levels were found that fulfil" if lattice.count > MOST_NODES else "no levels of the keys fulfil"
    failing, emptied, together = evaluator.failing_records(tuple(len(key.levels) - 1 for key in keys))
    failures = ", ".join(f"{name} fails in {count:,}" for name, count in failing.items() if count)
    needed = float(np.ceil(1e4 * emptied / n) / 1e4)
    why = f"on the highest levels{hint} {emptied:,} of {n:,} records would have to be emptied"
    why += f" ({failures})" if failures else ""
    if emptied > np.floor(params.suppression_limit * n + 1e-9):
        why += f", which takes a suppression_limit of {needed:g}"
    if not together:
        why += "; all emptied ones together are a class too, and it fails"
    return (
        f"{what} the criteria with at most {100 * params.suppression_limit:g} % of the records emptied: {why}. Give "
        "higher levels, raise suppression_limit, or ask for less"
    )


def _published(
    block: Block,
    positions: Sequence[int],
    keys: Sequence[Key],
    rows: Rows,
    evaluator: Evaluator,
    found: Found,
    params: GeneralisationParams,
) -> Masked:
    """The block on the levels of a node, outliers emptied."""
    node = found.best.node
    classes = rows.on([key.between(0, level) for key, level in zip(keys, node, strict=True)])
    outliers = evaluator.emptied(classes)
    emptied = outliers[classes.of_leaf][rows.of_leaf]
    values, variables = block.values.copy(), list(block.variables)
    levels = [key.levels[level] for key, level in zip(keys, node, strict=True)]
    for j, key, level in zip(positions, keys, levels, strict=True):
        if level > key.raised:
            present = ~block.missing[:, j]
            values[present, j], variables[j] = on_level(key.variable, block.values[present, j], level - key.raised)
    missing, uncoded = emptied_cells(block, positions, np.repeat(emptied[:, None], len(positions), axis=1))
    values[missing] = np.nan
    chosen = ", ".join(f"{key.variable.name} {level} of {key.height}" for key, level in zip(keys, levels, strict=True))
    return Masked(
        values=values,
        missing=missing,
        suppressed=uncoded,
        variables=tuple(variables),
        notes={
            "levels": chosen,
            "loss": params.loss,
            "loss_of_levels": float(found.best.loss),
            "search": "best of all" if found.is_certain else "best found",
            "nodes": int(np.prod([len(key.levels) for key in keys], dtype=object)),
            "nodes_evaluated": found.evaluated,
            "records_suppressed": int(((missing & ~block.missing) | uncoded)[:, positions].any(axis=1).sum()),
            **evaluator.criteria.reached(classes, outliers),
        },
        doubts=tuple(determined_by_other_keys(block, dict(zip(positions, levels, strict=True)))),
    )


GENERALISATION = Method(
    name="generalisation",
    protect=protect,
    params=GeneralisationParams,
    scope="all",
    claims=Claims(
        cut="none",
        within_strata=False,
        variable_types={"continuous", "integer", "date", "ordinal", "nominal"},
        handles_missing=True,
        preserves={"k"},
        removes={"detail", "cells"},
        deterministic=True,
        counts_households=True,
        changes_few=True,
    ),
    reference="Samarati (2001), IEEE TKDE 13(6), 1010-1027; Kohlmayer et al. (2012), Flash, IEEE SocialCom, 708-717; "
    "Machanavajjhala et al. (2007), ACM TKDD 1(1), article 3",
    summary="Publishes each key on the level of its hierarchy that costs least, so that every combination of keys has "
    "at least k records, and l, t or k-map where requested (full-domain generalisation).",
    example="method: generalisation\nparams: {k: 3, suppression_limit: 1}\n",
)
