"""Advice on partitions of variables: shortlisted by correlations, then masked, measured and ranked."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.commands.protect import mask_request
from maskwright.commands.requests import masking_request, measure_requests
from maskwright.experiments.advice.standardisation import Standardisation, Standardised, standardised
from maskwright.experiments.advice.variable_partitions import (
    Blocks,
    Chosen,
    block_sizes,
    choose_variables,
    coded,
    count_partitions,
    partitions,
    random_partition,
)
from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.progress import Logged, Quiet, Reporter, stage
from maskwright.foundation.randomness import generator
from maskwright.planning.model import PlanningParams
from maskwright.planning.variable_groups import Components, binds
from maskwright.release.measures.measuring import compute_measures

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from maskwright.data.dataset import Dataset
    from maskwright.edits.edit_set import EditSet
    from maskwright.pipeline.resolved import MeasureRequest


MOST_ENUMERATED = 50_000
SAMPLED = 3_000
FEWEST_FOR_CORRELATION = 8
THESIS_CHOICE = {"pi": (5, 11), "mg": (5, 11), "distance_record_linkage": (5, 8), "interval_disclosure": (19, 1)}
"""Indicator of the thesis for each measure, larger is better (Appendix B); 5-11 for any other."""
SAFE = (5, 11)
MISLEADING = (
    "Only 5-11 (spread of the larger block around its mean) points the same way for loss whether each record is "
    "compared with its own original or with the nearest one; other indicators of the thesis change sign for loss. They "
    "only shortlist: the ranking below is by what was measured."
)
VULNERABLE = (
    "a block of one variable is masked as individual ranking does, which order statistics attack: see the measure "
    "order_statistics_attack"
)


@dataclass(frozen=True)
class Advised:
    """One partition that was masked and measured.

    `shape`: sizes, as in "3+10".
    """

    blocks: tuple[tuple[str, ...], ...]
    shape: str
    why: str
    indicator: float
    measures: Mapping[str, float]


@dataclass(frozen=True)
class Advice:
    """What is advised.

    `objective`: label of the measure that ranks. `indicator`: code of the indicator that shortlisted. `counts`:
    partitions that there are; with variables that edits bind, those that keep them together. `sampled`: shapes of which
    partitions were drawn at random instead of listed. `correlation`: of indicator and objective over the partitions of
    two blocks that were measured, Pearson; None with few. `left_out`: variables that are not advised on, and why.
    """

    objective: str
    indicator: str
    ranked: tuple[Advised, ...]
    counts: Mapping[str, int]
    sampled: tuple[str, ...] = ()
    correlation: float | None = None
    notes: tuple[str, ...] = field(default=())
    left_out: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return what ``maskwright advise variables --json`` prints."""
        return {
            "objective": self.objective,
            "indicator": self.indicator,
            "partitions": [
                {"blocks": [list(block) for block in each.blocks], "shape": each.shape, "why": each.why,
                 "indicator": _number(each.indicator), "measures": {k: _number(v) for k, v in each.measures.items()}}
                for each in self.ranked
            ],
            "counts": dict(self.counts),
            "sampled": list(self.sampled),
            "correlation": self.correlation,
            "left_out": dict(self.left_out),
            "notes": list(self.notes),
        }  # fmt: skip


def advise_variables(
    data: Dataset,
    edits: EditSet,
    *,
    k: int = 5,
    method: str = "microaggregation",
    params: Mapping[str, object] | None = None,
    measures: Sequence[str | Mapping[str, Mapping[str, object]]] = ("mg",),
    shapes: Sequence[Sequence[int]] = (),
    candidates: int = 5,
    seed: int = 0,
    standardise: Standardisation = "S_T",
    exclude: Sequence[str] = (),
    only: Sequence[str] | None = None,
    reporter: Reporter | None = None,
) -> Advice:
    """Advise on the partition of the numeric confidential and quasi-identifying variables into blocks.

    `data`: two variables or more to mask. `edits`: variables that they bind stay together. `method`: of scope
    "group", with a parameter k. `params`: further parameters of the method; ``partition: mdav`` for
    microaggregation unless given. `measures`: the first ranks; the others are reported. `shapes`: sizes of blocks
    to consider. By default two blocks, every size, smaller first. `candidates`: partitions of each shape to mask
    and measure. `seed`: for drawing partitions, and for methods that draw. `standardise`: of the variables for the
    indicator. `exclude`: variables to leave out, besides those whose role says that they are not masked. `only`:
    leave out every other variable.

    Mateo-Sanz, doctoral thesis (in Catalan), chapters 7 and 8; that indicators shortlist and measures decide is ours:
    with each record compared with its own original, most of the thesis's signs for loss do not hold.
    """
    reporter = reporter or Logged()
    requests = measure_requests(measures)
    if not requests:
        raise InputError("name a measure to rank by")
    variables = choose_variables(data, exclude, only)
    names = variables.names
    atoms = _atoms(names, edits)
    wanted = [tuple(sorted(shape)) for shape in shapes] or [(s, len(names) - s) for s in range(1, len(names) // 2 + 1)]
    _check_shapes(wanted, names)
    statistic, number = THESIS_CHOICE.get(requests[0].measure.name, SAFE)
    vectors = standardised(data, names, standardise)
    chosen: dict[Blocks, tuple[str, float]] = {}
    counts: dict[str, int] = {}
    sampled: list[str] = []
    with stage(reporter, "Judging partitions by their correlations") as progress:
        for position, sizes in enumerate(wanted):
            found, counts[_shape(sizes)], drawn = _candidates_of(sizes, atoms, len(names), seed)
            sampled += [_shape(sizes)] if drawn else []
            judged = {blocks: _judged(vectors, blocks, statistic, number) for blocks in found}
            best = sorted(judged, key=lambda blocks: (-np.nan_to_num(judged[blocks], nan=-np.inf), blocks))
            chosen |= {blocks: ("indicator", judged[blocks]) for blocks in best[:candidates]}
            progress((position + 1) / len(wanted))
    for blocks in _references(wanted, names, atoms):
        chosen.setdefault(blocks, ("reference", _judged(vectors, blocks, statistic, number)))
    full = {"k": k, **({"partition": "mdav"} if method == "microaggregation" else {}), **(params or {})}
    ranked: list[Advised] = []
    with stage(reporter, f"Masking and measuring {len(chosen)} partitions") as progress:
        for position, (blocks, (why, judged_as)) in enumerate(chosen.items()):
            named = tuple(tuple(names[each] for each in block) for block in blocks)
            measured = _measured(data, edits, method, full, named, requests, seed)
            ranked.append(Advised(named, _shape([len(block) for block in blocks]), why, judged_as, measured))
            progress((position + 1) / len(chosen))
    sign = 1.0 if requests[0].measure.direction == "lower" else -1.0
    objective = requests[0].label
    ranked.sort(key=lambda each: (np.nan_to_num(sign * each.measures[objective], nan=np.inf), each.blocks))
    agreement = _agreement(ranked, objective)
    notes = tuple(_notes(ranked, objective, sign, agreement, atoms, variables))
    code = f"{statistic}-{number}" if standardise == "S_T" else f"{statistic}-{number} ({standardise})"
    return Advice(objective, code, tuple(ranked), counts, tuple(sampled), agreement, notes, variables.left_out)


def _atoms(names: Sequence[str], edits: EditSet) -> list[tuple[int, ...]]:
    joined = Components(names)
    for edit in edits:
        if binds(edit, PlanningParams().grouping):
            joined.join(edit.variables)
    position = {name: number for number, name in enumerate(names)}
    return [tuple(position[name] for name in group) for group in joined.sets()]


def _check_shapes(wanted: Sequence[Sequence[int]], names: Sequence[str]) -> None:
    for sizes in wanted:
        if sum(sizes) != len(names) or min(sizes) < 1:
            raise InputError(
                Problem(
                    f"shape {_shape(sizes)}: blocks of at least 1 that hold {len(names)} variables are expected",
                    hint=f"The variables are {', '.join(names[:20])}{', ...' if len(names) > 20 else ''}",
                )
            )


def _candidates_of(
    sizes: Sequence[int], atoms: Sequence[tuple[int, ...]], p: int, seed: int
) -> tuple[list[Blocks], int, bool]:
    """Partitions of a shape to judge, how many there are, and whether they were drawn."""
    total = count_partitions(sizes)
    free = len(atoms) == p
    if total <= MOST_ENUMERATED or not free:
        found = list(itertools.islice(partitions(sizes, None if free else atoms), MOST_ENUMERATED + 1))
        if len(found) <= MOST_ENUMERATED:
            return found, len(found), False
    rng = generator(seed, "advice", _shape(sizes))
    drawn = (random_partition(sizes, rng, None if free else atoms) for _ in range(SAMPLED))
    return list(dict.fromkeys(each for each in drawn if each is not None)), total, True


def _judged(of: Standardised, blocks: Blocks, statistic: int, number: int) -> float:
    """Indicator; with more than two blocks the mean over them, or over their pairs."""
    if len(blocks) == 2:
        return coded(of, blocks, statistic, number)
    if len(blocks) == 1:
        return coded(of, blocks, statistic, number) if statistic <= 12 else float("nan")
    if statistic <= 12:
        return coded(of, blocks, statistic, 15 + 3 * ((number - 1) % 7))
    return coded(of, blocks, statistic, 5)


def _references(
    wanted: Sequence[Sequence[int]], names: Sequence[str], atoms: Sequence[tuple[int, ...]]
) -> Iterator[Blocks]:
    """All variables in one block; and each shape, and blocks of two to four, in the order of the file."""
    p = len(names)
    yield (tuple(range(p)),)
    for sizes in [*wanted, *(block_sizes(p, size) for size in (2, 3, 4) if size < p)]:
        ends = list(itertools.accumulate(sizes))
        blocks = tuple(tuple(range(end - size, end)) for end, size in zip(ends, sizes, strict=True))
        if all(any(set(atom) <= set(block) for block in blocks) for atom in atoms):
            yield tuple(sorted(blocks, key=lambda block: (len(block), block)))


def _measured(
    data: Dataset,
    edits: EditSet,
    method: str,
    params: Mapping[str, object],
    groups: tuple[tuple[str, ...], ...],
    requests: Sequence[MeasureRequest],
    seed: int,
) -> dict[str, float]:
    variables = [name for group in groups for name in group]
    in_order = [name for name in data.names if name in variables]
    done = mask_request(
        masking_request(data, method, edits=edits, seed=seed, params=params, variables=in_order, groups=groups),
        is_released=False,
    )
    found = compute_measures(
        requests, data, done.masked, edits, {}, seed, Quiet(), in_order, changed=in_order, before=False
    )
    return {label: each.value for label, each in found.items()}


def _agreement(ranked: Sequence[Advised], objective: str) -> float | None:
    """Correlation inside shapes: indicators of different shapes cannot be compared."""
    x: list[float] = []
    y: list[float] = []
    for shape in {each.shape for each in ranked}:
        same = [each for each in ranked if each.shape == shape and "+" in shape and shape.count("+") == 1]
        pairs = np.array([(each.indicator, each.measures[objective]) for each in same]).reshape(-1, 2)
        pairs = pairs[~np.isnan(pairs).any(axis=1)]
        if len(pairs) > 1:
            x.extend(pairs[:, 0] - pairs[:, 0].mean())
            y.extend(pairs[:, 1] - pairs[:, 1].mean())
    if len(x) < FEWEST_FOR_CORRELATION or not np.std(x) or not np.std(y):
        return None
    return float(np.corrcoef(x, y)[0, 1])


def _notes(
    ranked: Sequence[Advised],
    objective: str,
    sign: float,
    agreement: float | None,
    atoms: Sequence[tuple[int, ...]],
    variables: Chosen,
) -> Iterator[str]:
    names = variables.names
    if variables.left_out:
        yield f"left out: {', '.join(f'{name} ({why})' for name, why in variables.left_out.items())}"
    for name in variables.suspects:
        yield f"{name} is a different whole number in every record: if it identifies or weighs, leave it out"
    yield MISLEADING
    if agreement is not None and sign * agreement > 0:
        yield (
            f"on these data the indicator points the wrong way among the partitions measured (correlation with "
            f"{objective} {agreement:+.2f}): measure more of them"
        )
    bound = [", ".join(names[each] for each in atom) for atom in atoms if len(atom) > 1]
    if bound:
        yield f"edits keep together: {'; '.join(bound)}"
    if any(len(block) == 1 for block in ranked[0].blocks):
        yield f"best here: {VULNERABLE}"
    whole = next(each for each in ranked if len(each.blocks) == 1)
    gain = sign * (whole.measures[objective] - ranked[0].measures[objective])
    compared = "better" if gain >= 0 else "worse"
    yield f"the best is {abs(gain):.2f} {compared} in {objective} than one block of all variables"


def _shape(sizes: Sequence[int]) -> str:
    return "+".join(str(size) for size in sizes)


def _number(value: float) -> float | None:
    return value if np.isfinite(value) else None
