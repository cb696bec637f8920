"""Distance-based record linkage: how often the nearest record of the other file is a record's own counterpart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from maskwright import Comparison, Measure, Measurement
from maskwright_builtin.measures.record_linkage.known_variables import known_mistakes, known_names
from maskwright_builtin.measures.record_linkage.linkage import LinkageParams
from maskwright_builtin.measures.record_linkage.linkage_over_parts import LINKAGE_OVER_PARTS
from maskwright_builtin.measures.record_linkage.linkage_scenarios import measure_linkage

if TYPE_CHECKING:
    import numpy as np


class DistanceRecordLinkageParams(LinkageParams, extra="forbid", frozen=True):
    """What the intruder knows and how records are linked."""

    standardise: Literal["original", "own"] = Field(
        "original",
        description="'original': both files by the mean and standard deviation (divisor n - 1) of the original. "
        "'own': each file by its own.",
    )


def distance_record_linkage(
    comparison: Comparison,
    params: DistanceRecordLinkageParams,
    rng: np.random.Generator,  # noqa: ARG001
) -> Measurement:
    """Percent of records whose nearest record of the other file, in the variables known, is their own counterpart.

    A record i is linked when its counterpart i' is nearest to it: ``d(i, i') <= d(i, u)`` for every record u of the
    other file, with ``d(x, y) ** 2 = sum_j ((x_j - y_j) / sd_j) ** 2`` over the known variables j; the value is
    ``100 * linked / n``, mean over scenarios. The result is exact: only "how many records are strictly nearer than my
    own, and how many are exactly as near" is asked of a k-d tree, in O(n) memory.

    Ties: exact equality of distances, also between different rows; each record earns 1 / (number tied). Variables
    with declared decimals are compared as whole numbers of grid units, so that ties on the grid are exact. With
    `nearest` = L, of s records strictly nearer and t tied, the record earns ``min(1, (L - s) / t)``, 0 from s = L on.

    Missing cells stand at the mean of the original file (0 after standardising), as in clustering. A variable that is
    constant in the original file tells no records apart and is left out of the distances. Weights are not used: the
    risk is that of the records released.

    Households: where they are declared a link is correct when it reaches any record of the same household,
    and the value is the percent of households of which at least one record is linked, or all are (`household`).

    Sampled masked files: from original to masked, the originals of the masked records are linked; from masked to
    original, the candidates are all records of the original file.

    Interval, 95 percent: ``mean +- z sd / sqrt(n + z^2)`` of what the n records (households) earn and of z^2 more
    in thought, half of them 0 and half 100, with z = 1.96; for plain hits and misses that is Agresti and Coull's.
    It says where the figure may lie in another file of this kind and size, with records drawn independently from a
    large population.

    Over parts (``execution: engine``) up to 100,000 records are linked, those with the lowest hashes of their numbers,
    to all records of every part; of a larger file the interval is that of sampling, ``value +- 98 / sqrt(m)`` for m
    records, which is too wide rather than too narrow.

    ERD of Mateo-Sanz's thesis: ``{pairing: nearest, direction: masked_to_original, ties: lowest_index}``.

    Parameters
    ----------
    comparison : Comparison
    params : DistanceRecordLinkageParams
    rng : numpy.random.Generator
        Not used.

    Returns
    -------
    Measurement
        `parts` has ``known_1``, ``known_2``, ...: the mean over the scenarios with that many variables; for listed
        scenarios one part each, names joined by ``+``. `per_variable`: how many percentage points each variable adds
        as it becomes known (Shapley value over all subsets). `per_record` has the percent earned by each masked
        record, averaged over the scenarios.

    Raises
    ------
    InputError
        Unknown variables, more known variables than there are, too many subsets.
    """
    return measure_linkage(comparison, params, "distance_record_linkage", own=params.standardise == "own")


DISTANCE_RECORD_LINKAGE = Measure(
    name="distance_record_linkage",
    compute=distance_record_linkage,
    kind="risk",
    unit="percent",
    direction="lower",
    range=(0.0, 100.0),
    params=DistanceRecordLinkageParams,
    uses=known_names,
    check=known_mistakes,
    counts_households=True,
    merging=LINKAGE_OVER_PARTS,
    invariant_to={"affine", "records"},
    reference="Domingo-Ferrer and Torra (2001), A quantitative comparison of disclosure control methods for microdata, "
    "in Confidentiality, Disclosure and Data Access, Elsevier, chapter 6; scenarios of Mateo-Sanz, doctoral thesis (in "
    "Catalan), chapter 6",
    summary="Percent of records whose nearest record of the other file is their own, over what an intruder may know.",
)
