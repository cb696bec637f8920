"""Every comparison once more, for an intruder who knows the edits, and moves records onto them first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import yaml
from grades import STOCHASTIC
from synthetic import S1, S2, protected, roles
from tables import HERE, REFERENCE, Cell, Table, cell, read

import maskwright as mw
from papers import constrained_fuzzy_c_means as clusters
from papers import thesis
from papers.synthetic_data import census, rules_of_census

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

METHODS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    *((f"FCRM, c = {c}", "fuzzy_c_regression", {"c": c}) for c in (2, 5, 10, 15)),
    *((f"IPSO-{variant}", "ipso", {"variant": variant}) for variant in "ABC"),
)
KS = (4, 6, 8, 10, 20)
HYBRID_KS = (22, 50, 200, 1080)
SOURCE = "no source; with the measure score, 'knows_edits'"
TITLE = "An intruder who knows the edits"


def measured(
    row: str, original: pd.DataFrame, masked: pd.DataFrame, edits: Sequence[str], variables: Sequence[str],
) -> Iterator[Cell]:  # fmt: skip
    """Linkage and score of an intruder who does not know the edits, and of one who does."""
    requests: list[dict[str, Any]] = [
        {"score": {"linkage": "numeric", "knows_edits": known, "as": f"known {known}"}} for known in (False, True)
    ]
    found = mw.measure(original, masked, requests, edits=edits, variables=variables)
    for known, name in ((False, ""), (True, ", edits known")):
        score = found[f"known {known}"]
        yield cell(row, f"linkage{name}", None, score.parts["distance_record_linkage"])
        yield cell(row, f"intervals{name}", None, score.parts["interval_disclosure"])
        yield cell(row, f"score{name}", None, score.value)


def cells_of_clusters() -> Iterator[Cell]:
    """Each record replaced by the centroid that it is nearest to: the cluster to which it belongs most."""
    records = clusters.records("table1")
    records[11, 0] = 16
    names = ["v1", "v2", "v3"]
    original = pd.DataFrame(records, columns=names)
    for (data, algorithm), centroids in {**clusters.table_3(), **clusters.centroids()}.items():
        nearest = np.linalg.norm(records[:, None] - centroids, axis=2).argmin(axis=1)
        masked = pd.DataFrame(centroids[nearest], columns=names)
        row = data if algorithm == "as printed" else f"{data}, {algorithm}"
        yield from measured(row, original, masked, ["abs(1.16 * v1 + 1.07 * v2 - v3) <= 0.00001"], names)


def cells_of_regression() -> Iterator[Cell]:
    data = census()
    for scenario, numbers in (("S1", S1), ("S2", S2)):
        own = roles(data, numbers)
        for name, method, params in METHODS:
            masked = protected(data, method, 1, {**params, **own})
            yield from measured(f"{scenario}, {name}", data, masked, rules_of_census(), own["dependent"])


def cells_of_hybrid_data() -> Iterator[Cell]:
    data = census()
    own = roles(data, S1)
    for k in HYBRID_KS:
        masked = protected(data, "micro_hybrid", 1, {"k": k, **own})
        yield from measured(f"k = {k}", data, masked, rules_of_census(), own["dependent"])


def cells_of_edit_constraints() -> Iterator[Cell]:
    described = yaml.safe_load((HERE / "constrained.yaml").read_text())
    data = mw.read(REFERENCE / "census16.xml", record="Record").to_pandas()
    kept = described["edit_sets"]["kept"]
    rules = [each["rule"] for each in kept]
    for family in described["grid"]:
        obeyed = described["edit_sets"][family["edits"][0]]
        for k in KS:
            masked = thesis.released(data, family, {"k": k}, obeyed)
            yield from measured(f"{family['family']}, k = {k}", data, masked, rules, list(data))


def cells_of_the_thesis() -> Iterator[Cell]:
    """Each family at the parameter with its least score, one run of those that draw random numbers."""
    data = census()
    for family in thesis.families():
        name = family["family"]
        every = thesis.parameters(family)
        found = every[least(name)] if len(every) > 1 else every[0]
        row = ", ".join(
            [name, *(["one run"] if name in STOCHASTIC else []), *(f"{key} = {found[key]}" for key in found)]
        )
        yield from measured(row, data, thesis.released(data, family, found), rules_of_census(), list(data))


def least(family: str) -> int:
    """Place of the parameter with the least score of ours in table A.1, of the family's in ascending order."""
    rows = thesis.printed().query("family == @family")
    parameters = dict(zip(rows["code"], rows["parameter"].astype(float), strict=True))
    scores = {each.row: float(each.computed) for each in read(thesis.table(1)).cells if each.column == "MG"}
    order = sorted(parameters, key=parameters.__getitem__)
    return order.index(min(order, key=scores.__getitem__))


def table(name: str, compute: Any, *, slow: bool = True, reads_results: bool = False) -> Table:
    return Table(name, TITLE, SOURCE, compute, printed=False, slow=slow, reads_results=reads_results)


CLUSTERS = table("cfcm_edits_known", cells_of_clusters)
REGRESSION = table("fcrm_edits_known", cells_of_regression)
HYBRID = table("hybrid_edits_known", cells_of_hybrid_data, slow=False)
CONSTRAINTS = table("edits_known", cells_of_edit_constraints)
THESIS = table("thesis_edits_known", cells_of_the_thesis, reads_results=True)
