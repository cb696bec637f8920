"""Probabilistic record linkage: links by the weight of what agrees, learned without knowing any true link."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import BaseModel, Field, model_validator

from maskwright import Comparison, Cost, InputError, Measure, MeasureClaims, Measurement, NamesVariables, plural
from maskwright_builtin.measures.pairing import households_of, listed, pair_records, present_values, spread
from maskwright_builtin.measures.record_linkage.fellegi_sunter import Classes, fit_classes, marginal_counts
from maskwright_builtin.measures.record_linkage.known_variables import FIRST_VARIABLES, Names, not_compared, positions
from maskwright_builtin.measures.record_linkage.linkage import HOUSEHOLD_DESCRIPTION, Household, reached
from maskwright_builtin.measures.record_linkage.linked_files import LinkedFiles, agreeing_pairs, patterns_on
from maskwright_builtin.measures.uncertainty import interval_of_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from maskwright import Measurable
    from maskwright_builtin.measures.pairing import Pairs
    from maskwright_builtin.numerics.arrays import Floats, Integers

MISSING_RULE = "a missing cell agrees with nothing"
MOST_VARIABLES = 12
MOST_RECORDS_WITHIN = 20_000
MOST_RECORDS_ASSIGNED = 5_000
LARGEST_ERROR = 0.1
"""Standard error of a probability of agreement among matches, above which the classes are not well identified."""
FARTHEST = 0.3
"""Distance of m from the share of true pairs that agree, above which other pairs were taken for the matches."""
ROUNDING = 1e-12
SMALLEST_WEIGHT, SAME_WEIGHT = 1e-6, 1e-9
"""In bits: less speaks for nothing, and weights that differ by less are equal."""


class ProbabilisticRecordLinkageParams(BaseModel, extra="forbid", frozen=True):
    """What the intruder knows and when two values agree."""

    known: Annotated[
        Annotated[int, Field(ge=1, le=MOST_VARIABLES)] | Annotated[Names, Field(max_length=MOST_VARIABLES)],
        NamesVariables(),
    ] = Field(
        FIRST_VARIABLES,
        description="The variables the intruder knows: an integer for that many of the first ones (fewer where there "
        f"are fewer), or their names; at most {MOST_VARIABLES}.",
    )
    agree: Literal["same_cell", "within"] = Field(
        "same_cell",
        description="When two values agree. 'same_cell': both lie in the same cell of the variable's grid. 'within': "
        f"they differ by at most `tau` standard deviations; every pair is visited, at most {MOST_RECORDS_WITHIN} "
        "records.",
    )
    cells: int = Field(10, ge=2, le=10_000, description="Cells of the grid, for variables without `cuts`.")
    grid: Literal["quantiles", "equal_width"] = Field(
        "quantiles",
        description="'quantiles': cells with about the same number of original records. 'equal_width': cells of the "
        "same width between the smallest and the largest original value.",
    )
    cuts: Annotated[dict[str, Annotated[list[float], Field(min_length=1)]], NamesVariables()] = Field(
        default_factory=dict,
        description="Declared grids: by variable, where its cells end, ascending; a value at a cut is in the upper "
        "cell.",
    )
    tau: float = Field(0.1, gt=0, description="For 'within': in standard deviations of the original variable.")
    prior: Annotated[float, Field(gt=0, lt=1)] | Literal["estimated"] | None = Field(
        None,
        description="Probability that a pair of records matches. Default 1 / n, n the records linked to; 'estimated': "
        "by EM with the rest, which often is not identified.",
    )
    direction: Literal["original_to_masked", "masked_to_original"] = Field(
        "original_to_masked", description="Which file's records are linked to records of the other file."
    )

    one_to_one: bool = Field(
        False,
        strict=True,
        description="Link each record to a partner of its own, so that the sum of all weights is greatest (Jaro), "
        f"instead of each to its best partner; at most {MOST_RECORDS_ASSIGNED} records. Where several assignments "
        "have the greatest sum, the order of the records decides between them.",
    )
    largest_false_links: Annotated[float, Field(ge=0, lt=1)] | None = Field(
        None,
        description="Upper bound of the probability that a pair that is no match is linked: pairs of less weight are "
        "not. Default: every best partner is a link.",
    )
    largest_missed_links: Annotated[float, Field(ge=0, lt=1)] | None = Field(
        None,
        description="Upper bound of the probability that a match is taken for none. Pairs between the two bounds are "
        "undecided; they are counted, and no links.",
    )
    household: Household = Field("any", description=HOUSEHOLD_DESCRIPTION)

    @model_validator(mode="after")
    def _cuts_ascend(self) -> ProbabilisticRecordLinkageParams:
        for name, cuts in self.cuts.items():
            if any(first >= second for first, second in pairwise(cuts)):
                raise ValueError(f"the cuts of {name} must ascend")
        return self

    @property
    def is_decided(self) -> bool:
        """Whether pairs are put into classes."""
        return self.largest_false_links is not None or self.largest_missed_links is not None


def probabilistic_record_linkage(
    comparison: Comparison,
    params: ProbabilisticRecordLinkageParams,
    rng: np.random.Generator,  # noqa: ARG001
) -> Measurement:
    """Percent of records whose highest-weight partner in the other file is their own counterpart.

    Each pair of records has an agreement pattern g in {0, 1}^d. With ``m_j = P(g_j = 1 | match)`` and ``u_j = P(g_j =
    1 | no match)``, found by EM on the counts of the 2^d patterns over all pairs under conditional independence
    (``P(g) = prior prod m_j^g_j (1 - m_j)^(1 - g_j) + (1 - prior) prod u_j^g_j (1 - u_j)^(1 - g_j)``; start m = 0.9,
    u = the share of all pairs that agree), the weight of a pair is ``sum_j log2(m_j / u_j)`` over the variables that
    agree plus ``sum_j log2((1 - m_j) / (1 - u_j))`` over the others. Each record is linked to the partner of highest
    weight; partners of equal weight share the credit. The counts are exact, by joins and inclusion and exclusion for
    cells, pair by pair for `within`. Of a sampled masked file the originals of its records are compared with it.

    A variable with m <= u says nothing for a match and is not used for links; nor is one on which all pairs agree, or
    none. Both are named in the notes. A note warns where the classes are not identified: fewer than three variables
    (more unknowns than patterns), or a standard error of some m above 0.1.

    With bounds, pairs are put into Fellegi and Sunter's three classes: linked from the greatest weight down, as long as
    the share ``P(linked | no match)`` under the model is at most `largest_false_links`; not linked from the smallest
    weight up, as long as ``P(not linked | match)`` is at most `largest_missed_links`; undecided in between. Only links
    count. With `one_to_one` the partners are those of the assignment whose weights have the greatest sum.

    Missing cells agree with nothing. Weights are not used: the risk is that of the records released. Households: where
    households are declared a link is correct when it reaches any record of the same household, and the value is
    the percent of households of which at least one record is linked, or all are (`household`).

    Interval, 95 percent: ``mean +- z sd / sqrt(n + z^2)`` of what the n records (households) earn and of z^2 more
    in thought, half of them 0 and half 100, with z = 1.96; for plain hits and misses that is Agresti and Coull's.
    It says where the figure may lie in another file of this kind and size, with records drawn independently from a
    large population and m, u and the grid as they are; another file would have others, so that it is too narrow for
    small files: of 300 records, it held the expected figure in 83 of 100 simulated files.

    Returns
    -------
    Measurement
        `parts` has ``prior`` and, for each variable V, ``m_V``, ``u_V`` and ``true_m_V``, the share of the true pairs
        that agree, which no intruder knows (all between 0 and 1). With bounds also, in percent, ``linked``,
        ``undecided`` and ``not_linked``, the records whose partner is in each class, and ``right``, the links that are
        right. `per_variable`: bits by which an agreement on the variable rather than a disagreement speaks for a match.
        `per_record`: percent earned by each masked record.

    Raises
    ------
    InputError
        Unknown variables, cuts of a variable that is not known, too many records for `within` or `one_to_one`.
    """
    pairs = pair_records(comparison, MISSING_RULE)
    chosen = _known_variables(params, comparison)
    known = [comparison.variables[j] for j in chosen]
    linking = _linking(params, comparison, pairs, chosen)
    counts = linking.pattern_counts()
    pairs_in_all = int(counts.sum())
    agreeing = [agreeing_pairs(counts, j) for j in range(len(known))]
    # A single target is every record's partner, whatever agrees.
    informative = [j for j, count in enumerate(agreeing) if 0 < count < pairs_in_all and len(linking.targets) > 1]
    notes = list(pairs.notes)
    silent = [known[j] for j in range(len(known)) if j not in informative]
    if silent and len(linking.targets) > 1:
        notes.append(f"not used, all pairs of records agree or none does: {listed(silent)}")
    prior = 1.0 / len(linking.targets) if params.prior in (None, "estimated") else float(params.prior or 0)
    parts = {"prior": prior}
    per_variable: dict[str, float] = {}
    if informative:
        classes = fit_classes(marginal_counts(counts, informative), prior, estimate_prior=params.prior == "estimated")
        parts["prior"] = classes.prior
        true = linking.own_agreement()
        for place, j in enumerate(informative):
            found = {"m": classes.m[place], "u": classes.u[place], "true_m": true[j]}
            parts |= {f"{what}_{known[j]}": float(value) for what, value in found.items()}
            per_variable[known[j]] = float(classes.weights()[place])
        notes += _warnings(classes, true[informative], [known[j] for j in informative])
        weights = _weights(classes, informative, len(known))
        ranks = _ranks(weights)
        decided, both = _decided(params, classes, ranks[patterns_on(informative)])
        if both:
            notes.append("the two bounds overlap: pairs that both allow are linked, and none is undecided")
    else:
        weights = np.zeros(2 ** len(known))
        ranks, decided = np.zeros(2 ** len(known), dtype=np.int64), np.zeros(1, dtype=np.int64)
    chance, best = linking.assigned(weights, ranks) if params.one_to_one else linking.chance(ranks)
    if params.is_decided:
        of_record = decided[best]
        chance = np.where(of_record > 0, chance, 0.0)
        shares = {"linked": of_record > 0, "undecided": of_record == 0, "not_linked": of_record < 0}
        parts |= {name: 100.0 * float(each.mean()) for name, each in shares.items()}
        parts["right"] = 100.0 * float(chance[of_record > 0].mean()) if (of_record > 0).any() else float("nan")
    linked = reached(chance, households_of(comparison, pairs), params.household)
    return Measurement(
        100.0 * float(linked.mean()),
        parts=parts,
        per_variable=per_variable,
        per_record=100.0 * chance,
        interval=interval_of_mean(linked),
        notes=tuple(notes),
    )


def _known_variables(params: ProbabilisticRecordLinkageParams, comparison: Comparison) -> tuple[int, ...]:
    """Positions of the variables the intruder knows, among `Comparison.variables`."""
    names = comparison.variables
    chosen = (
        tuple(range(min(params.known, len(names))))
        if isinstance(params.known, int)
        else positions(params.known, comparison, "probabilistic_record_linkage")
    )
    positions(list(params.cuts), comparison, "probabilistic_record_linkage")
    unknown = [name for name in params.cuts if name not in {names[j] for j in chosen}]
    if unknown:
        raise InputError(f"probabilistic_record_linkage: cuts are declared for {listed(unknown)}, not known variables")
    return chosen


def _known_names(params: ProbabilisticRecordLinkageParams, given: Measurable) -> Sequence[str]:
    return given.compared[: params.known] if isinstance(params.known, int) else params.known


def _mistakes(params: ProbabilisticRecordLinkageParams, given: Measurable) -> Iterator[tuple[str, str]]:
    known = _known_names(params, given)
    yield from (("known", problem) for problem in not_compared(known, given.compared))
    stray = [name for name in params.cuts if name not in known]
    if stray:
        yield "cuts", f"cuts are declared for {listed(stray)}, not known variables"


def _linking(
    params: ProbabilisticRecordLinkageParams, comparison: Comparison, pairs: Pairs, chosen: tuple[int, ...]
) -> LinkedFiles:
    """Both files as they are linked; refused where visiting every pair would take too long."""
    origin = np.arange(len(pairs.masked)) if pairs.origin is None else pairs.origin
    household = np.arange(len(pairs.original)) if comparison.households is None else comparison.households
    original, masked, reach = _agreement_values(params, pairs, chosen)
    if params.direction == "original_to_masked":
        queries, targets, target_households = original[origin], masked, household[origin]
    else:
        queries, targets, target_households = masked, original, household
    if params.one_to_one and max(len(queries), len(targets)) > MOST_RECORDS_ASSIGNED:
        raise InputError(
            f"probabilistic_record_linkage: one_to_one needs the weight of every pair of records and takes at most "
            f"{MOST_RECORDS_ASSIGNED}; these files have {max(len(queries), len(targets))}. Leave it out"
        )
    if params.agree == "within" and max(len(queries), len(targets)) > MOST_RECORDS_WITHIN:
        raise InputError(
            f"probabilistic_record_linkage: agree 'within' visits every pair of records and takes at most "
            f"{MOST_RECORDS_WITHIN}; these files have {max(len(queries), len(targets))}. Use 'same_cell'"
        )
    return LinkedFiles(queries, targets, household[origin], target_households, reach, comparison.progress)


def _agreement_values(
    params: ProbabilisticRecordLinkageParams, pairs: Pairs, chosen: tuple[int, ...]
) -> tuple[Floats, Floats, Floats | None]:
    """Values of both files, or their cells (-1 where missing), and for values how far apart they still agree."""
    files = [file[:, chosen].copy() for file in (pairs.original, pairs.masked)]
    if params.agree == "within":
        return files[0], files[1], params.tau * np.array([spread(column, ddof=1) for column in files[0].T])
    for place, j in enumerate(chosen):
        cuts = _cuts(params, pairs.names[j], present_values(pairs.original[:, j]))
        for file in files:
            column = file[:, place]
            file[:, place] = np.where(np.isnan(column), -1, np.searchsorted(cuts, column, side="right"))
    return files[0], files[1], None


def _cuts(params: ProbabilisticRecordLinkageParams, name: str, values: Floats) -> Floats:
    if name in params.cuts:
        return np.array(params.cuts[name])
    if not values.size:
        return np.zeros(0)
    shares = np.arange(1, params.cells) / params.cells
    if params.grid == "quantiles":
        return np.unique(np.quantile(values, shares, method="higher"))
    low, high = values.min(), values.max()
    return np.unique(low + shares * (high - low))


def _weights(classes: Classes, informative: list[int], d: int) -> Floats:
    """Weight of each pattern over all d variables, relative to that of no agreement; shape (2**d,)."""
    weight = np.zeros(d)
    found = classes.weights()
    weight[informative] = np.where(found > SMALLEST_WEIGHT, found, 0.0)
    return np.asarray((np.arange(2**d)[:, None] >> np.arange(d) & 1) @ weight)


def _ranks(weights: Floats) -> Integers:
    """Rank of each pattern by its weight; equal for equal weights."""
    order = np.argsort(weights, kind="stable")
    steps = np.diff(weights[order], prepend=weights[order[0]]) > SAME_WEIGHT
    ranks = np.empty(len(weights), dtype=np.int64)
    ranks[order] = np.cumsum(steps)
    return ranks


def _decided(params: ProbabilisticRecordLinkageParams, classes: Classes, ranks: Integers) -> tuple[Integers, bool]:
    """For each rank, whether pairs of it are linked (1), undecided (0) or not linked (-1); whether any may be both.

    `ranks`: of the patterns of the variables of the classes; shape (2**d,).
    """
    of_matches, of_others = (np.bincount(ranks, each) for each in classes.probabilities())
    false_links = 1.0 if params.largest_false_links is None else params.largest_false_links
    missed_links = params.largest_missed_links or 0.0
    lowest = np.cumsum(of_matches) <= missed_links
    highest = np.cumsum(of_others[::-1])[::-1] <= false_links + ROUNDING
    overlap = params.largest_false_links is not None and bool((lowest & highest).any())
    return np.where(highest, 1, np.where(lowest, -1, 0)), overlap


def _warnings(classes: Classes, true: Floats, known: list[str]) -> list[str]:
    """Notes on what was estimated; `true`: share of the true pairs that agree in each variable."""
    notes = []
    far = [name for name, m, share in zip(known, classes.m, true, strict=True) if abs(m - share) > FARTHEST]
    if far:
        notes.append(
            f"the classes are not those of true and other pairs: m and true_m are more than {FARTHEST} apart for "
            f"{listed(far)}"
        )
    against = [name for name, m, u in zip(known, classes.m, classes.u, strict=True) if m <= u]
    if against:
        notes.append(f"not used for links, matches agree no more often than other pairs: {listed(against)}")
    if len(known) < 3:
        notes.append(
            f"the classes are not identified: {plural(len(known), 'variable')} give fewer agreement patterns "
            "than the model has unknowns; m and u are where EM stopped"
        )
    elif not np.all(classes.error <= LARGEST_ERROR):
        loose = [name for name, error in zip(known, classes.error, strict=True) if not error <= LARGEST_ERROR]
        notes.append(
            f"the classes are not well identified: the standard error of m is above {LARGEST_ERROR} for {listed(loose)}"
        )
    if not classes.converged:
        notes.append("EM did not converge; m and u are where it stopped")
    return notes


PROBABILISTIC_RECORD_LINKAGE = Measure(
    name="probabilistic_record_linkage",
    compute=probabilistic_record_linkage,
    kind="risk",
    unit="percent",
    direction="lower",
    range=(0.0, 100.0),
    params=ProbabilisticRecordLinkageParams,
    claims=MeasureClaims(
        cost=Cost(cell=3.5),
        counts_households=True,
        uses=_known_names,
        check=_mistakes,
        invariant_to={"affine", "records"},
    ),
    reference="Fellegi and Sunter (1969), Journal of the American Statistical Association 64, 1183-1210; Jaro (1989), "
    "same journal 84, 414-420; as a disclosure risk: Domingo-Ferrer and Torra (2001), chapter 6 of Confidentiality, "
    "Disclosure and Data Access, Elsevier",
    summary="Percent of records linked to their own by the weight of agreements, learned by EM from all pairs.",
)
