"""Mateo-Sanz thesis, Appendix A: rows of DMM that need another last step than the text describes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
from tables import GOLDEN, Cell, Table, cell

import maskwright as mw
from papers.synthetic_data import census

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = "Mateo-Sanz, doctoral thesis (in Catalan), tables A.1 to A.3"
COLUMNS = ("PI1", "MG", "ICN", "ICD", *(f"ERD_{number}" for number in range(1, 8)))
KS = (4, 7, 10, 11, 12, 18, 20)


def cells() -> Iterator[Cell]:
    data = census()
    waived = [{"doubt": "values-unchanged", "variable": list(data.columns), "because": "figures of a thesis"}]
    table = pd.read_csv(GOLDEN / "thesis_tables_a1_to_a5.csv", comment="#", dtype=str).set_index("code")
    for row in (table.loc[f"mict{k:02d}"] for k in KS):
        params = {"k": int(row["parameter"]), "partition": {"mdav": {"last": "opposite"}}, "group_size": "all"}
        masked = mw.protect(data, "microaggregation", seed=1, params=params, waive=waived)
        found = mw.measure(data, masked, [{"mg": {"pairing": "nearest"}}])["mg"]
        ours = {**found.parts, "MG": found.value}
        for column in COLUMNS:
            yield cell(f"k = {row['parameter']}", column, row[column], ours[column.replace("_", "-")])


TABLE = Table(
    "thesis_last_groups", "Rows of Micmul with the last groups around the opposite point", SOURCE, cells, counted=False
)
