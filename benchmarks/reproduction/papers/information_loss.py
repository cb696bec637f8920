"""Mateo-Sanz, Domingo-Ferrer and Sebé (2005): probabilistic information loss on masked versions of the Census file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
from synthetic import measured, protected, roles
from tables import GOLDEN, Cell, Paper, Table, cell

import maskwright as mw
from papers.synthetic_data import SCENARIOS, SEEDS, census

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = "independent recomputation"
PARTS = ("quantiles", "means", "variances", "covariances", "correlations")
EVALUATED = 1e-3
"""The recomputation evaluates the normal distribution by a polynomial."""
NINE_DEGREES = 3.25
"""Student's t, 9 degrees of freedom, 99 %."""


def masked_file(name: str) -> tuple[pd.DataFrame, list[str]]:
    """Masked version by its name, and the variables compared."""
    data = census()
    if name.startswith("IPSO-A"):
        own = roles(data, SCENARIOS[name.split()[1]])
        return protected(data, "ipso", 1, {"variant": "A", **own}), own["dependent"]
    made = {
        "original": data,
        "times 1.01": 1.01 * data,
        "rounded to 1000": (data / 1000).round() * 1000,
        "AFNLWGT reversed": data.assign(AFNLWGT=data["AFNLWGT"].to_numpy()[::-1]),
    }
    return made[name], list(data.columns)


def cells_of_versions() -> Iterator[Cell]:
    for row in pd.read_csv(GOLDEN / "pil_reference.csv", comment="#", dtype=str).to_dict("records"):
        masked, variables = masked_file(row["masked"])
        found = mw.measure(census(), masked, ["pil"], variables=variables)["pil"]
        for name in ("pil", *PARTS):
            ours = found.value if name == "pil" else found.parts[name]
            yield cell(row["masked"], name, row[name], ours, tolerance=EVALUATED)


def cells_of_ipso() -> Iterator[Cell]:
    table = pd.read_csv(GOLDEN / "ipso_computed.csv", comment="#", dtype=str).set_index(["scenario", "method"])
    for scenario, label in (("S1", "S1 X=2,8,10"), ("S2", "S2")):
        own = roles(census(), SCENARIOS[scenario])
        for variant, name, seeds in (("A", "IPSO-A", 1), ("C", "IPSO-C mean of 10", SEEDS)):
            rows = [
                measured(census(), protected(census(), "ipso", seed, {"variant": variant, **own}), own["dependent"])
                for seed in range(seeds)
            ]
            found = pd.DataFrame(rows)
            for column, key in (("PIL", "pil"), ("ERD", "ERD"), ("ICN", "ICN"), ("ICD", "ICD")):
                # Both are means over ten seeds.
                spread = found[key].std(ddof=1) if seeds > 1 else 0.0
                scatter = NINE_DEGREES * spread * (2 / seeds) ** 0.5
                printed = table.loc[(label, name), column]
                yield cell(f"{scenario}, IPSO-{variant}", column, printed, found[key].mean(), scatter=scatter)


PAPER = Paper(
    "probabilistic-information-loss",
    "Probabilistic information loss (Mateo-Sanz, Domingo-Ferrer and Sebé 2005)",
    (
        Table("pil_versions", "PIL and its parts on masked versions of the Census file", SOURCE, cells_of_versions),
        Table("pil_ipso", "Loss and risk of IPSO over the dependent variables", SOURCE, cells_of_ipso, slow=True),
    ),
)
