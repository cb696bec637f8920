"""Every comparison once more, for an intruder who knows the edits, and moves records onto them first."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import yaml
from grades import STOCHASTIC
from synthetic import S1, S2, protected, roles
from tables import HERE, REFERENCE, Cell, Table, cell, read

import maskwright as mw
from papers import synthetic_data, thesis

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd

OF_CENSUS = [
    "PTOTVAL == POTHVAL + PEARNVAL", "PEARNVAL <= PTOTVAL", "POTHVAL <= PTOTVAL", "INTVAL <= PTOTVAL",
    "EMCONTRB <= PTOTVAL", "FICA <= PEARNVAL", "FEDTAX <= TAXINC",
    *(f"{name} <= AGI" for name in ("TAXINC", "INTVAL", "EMCONTRB", "FEDTAX", "FICA", "STATETAX")),
]  # fmt: skip
"""All that hold in each of the 1,080 records; besides, every value is at least 0."""
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


@cache
def rules_of_census() -> list[str]:
    return [*OF_CENSUS, *(f"{name} >= 0" for name in synthetic_data.census())]


def cells_of_regression() -> Iterator[Cell]:
    data = synthetic_data.census()
    for scenario, numbers in (("S1", S1), ("S2", S2)):
        own = roles(data, numbers)
        for name, method, params in METHODS:
            masked = protected(data, method, 1, {**params, **own})
            yield from measured(f"{scenario}, {name}", data, masked, rules_of_census(), own["dependent"])


def cells_of_hybrid_data() -> Iterator[Cell]:
    data = synthetic_data.census()
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
            masked = released(data, family, k, obeyed)
            yield from measured(f"{family['family']}, k = {k}", data, masked, rules, list(data))


def cells_of_the_thesis() -> Iterator[Cell]:
    """Each family at the parameter with its least score, one run of those that draw random numbers."""
    data = synthetic_data.census()
    for family in yaml.safe_load((HERE / "thesis.yaml").read_text())["grid"]:
        name, params = family["family"], dict(family.get("params", {}))
        if name not in set(thesis.printed()["family"]):
            continue
        row = name + (", one run" if name in STOCHASTIC else "")
        for parameter, values in family.get("vary", {}).items():
            every = range(values["from"], values["to"] + 1) if isinstance(values, dict) else values
            params[parameter] = every[least(name)]
            row += f", {parameter} = {params[parameter]}"
        masked = released(data, {**family, "params": params}, None, [])
        yield from measured(row, data, masked, rules_of_census(), list(data))


def least(family: str) -> int:
    """Place of the parameter with the least score of ours in table A.1, of the family's in ascending order."""
    rows = thesis.printed().query("family == @family")
    parameters = dict(zip(rows["code"], rows["parameter"].astype(float), strict=True))
    scores = {each.row: float(each.computed) for each in read(thesis.table(1)).cells if each.column == "MG"}
    order = sorted(parameters, key=parameters.__getitem__)
    return order.index(min(order, key=scores.__getitem__))


def released(data: pd.DataFrame, family: dict[str, Any], k: int | None, edits: Sequence[Any]) -> pd.DataFrame:
    """What a family of an experiment makes of data whose decimals are free; every doubt is waived."""
    params = {**family.get("params", {}), **({} if k is None else {"k": k})}
    step = {"method": family["method"], "params": params, "variables": list(data)}
    step |= {key: family[key] for key in ("groups",) if key in family}
    because = "figures of a paper: nothing of it is released"
    kinds = ("follows-from-published", "step-changed-nothing", "values-unchanged")
    waived: list[dict[str, Any]] = [{"doubt": kind, "variable": list(data), "because": because} for kind in kinds]
    waived += [{"doubt": "method-warned", "step": 1, "because": because}]
    free = {name: {"type": "continuous", "decimals": 9} for name in data}
    return mw.protect(data, steps=[step], edits=edits, seed=1, declared=free, waive=waived)


def table(name: str, compute: Any, *, slow: bool = False) -> Table:
    return Table(name, TITLE, SOURCE, compute, printed=False, slow=slow)


REGRESSION = table("fcrm_edits_known", cells_of_regression)
HYBRID = table("hybrid_edits_known", cells_of_hybrid_data)
CONSTRAINTS = table("edits_known", cells_of_edit_constraints)
THESIS = table("thesis_edits_known", cells_of_the_thesis)
