"""Whether the 95 percent interval of a sampled measure holds the figure of the whole file: in 50 runs over parts."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import yaml
from scale_runs import CHUNK, GROUPS, pipeline, survey

if TYPE_CHECKING:
    from scale_gates import Gates

RUNS = 50
LEAST = 44
"""Of 50 intervals that hold with a probability of 0.95 each, fewer do with a probability of 0.004."""

RECORDS = 2 * CHUNK
SAMPLE = 2_000
"""Records that are linked, of each run: a tenth, in the place of 100,000."""

LINKAGE = {"distance_record_linkage": {"known": ["wages", "rent", "hours"]}}


def intervals(gates: Gates, scratch: Path | None) -> None:
    """Count the intervals that hold the figure of all records, each of other records.

    Parameters
    ----------
    gates : Gates
    scratch : Path or None
    """
    import maskwright as mw
    from maskwright_builtin.measures.record_linkage import distance_record_linkage

    distance_record_linkage.SAMPLE = SAMPLE
    names = [name for group in GROUPS for name in group]
    held, reach, furthest = 0, 0.0, 0.0
    for number in range(RUNS):
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            here = Path(folder)
            survey(RECORDS, here / "in", RECORDS // 2, first=number * RECORDS // CHUNK)
            path = pipeline(here, "parts", {"engine": "local", "workers": 1, "block_size": RECORDS // 4})
            settings = yaml.safe_load(path.read_text(encoding="utf-8"))
            files = {"data": {"source": str(here / "in")}, "measure": [LINKAGE]}
            files["output"] = {"data": f"{here / 'parts'}/"}
            found = mw.run({**settings, **files}).record["measures"]["distance_record_linkage"]
            original, masked = (
                pd.concat(map(pd.read_parquet, sorted((here / each).glob("*.parquet"))), ignore_index=True)
                for each in ("in", "parts")
            )
        expected = mw.measure(original[names], masked[names], [LINKAGE])["distance_record_linkage"].value
        low, high = found["interval"]
        held += low <= expected <= high
        reach, furthest = (high - low) / 2, max(furthest, abs(found["value"] - expected))
    print(
        f"Intervals of {SAMPLE:,} linked records of {RECORDS:,}: +- {reach:.2f}; the furthest is off by {furthest:.2f}"
    )
    gates.judge("95 % intervals that hold", f">= {LEAST} of {RUNS}", f"{held} of {RUNS}", held >= LEAST)
