"""What it costs to compare a written file with what was meant: processor seconds, and their share of the whole run.

    python benchmarks/readback.py [--records 1000000] [--only csv]

Ten columns: six amounts with two decimals, of which two have missing codes, a whole number, two categories, a date.
`rounding` masks the amounts, since a method that takes longer makes the share smaller. The comparison is timed within
the run, all threads together; a run with few records comes before, so that nothing is compiled in the measured time.
The memory is what the comparison adds to that of the process.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

import maskwright as mw
from maskwright.commands.running import stages

SEED = 20261122
KINDS = ("csv", "parquet")
AMOUNTS = [f"amount{number}" for number in range(6)]


def frame(n: int) -> pd.DataFrame:
    """Ten columns."""
    rng = np.random.default_rng(SEED)
    columns = {name: np.round(rng.lognormal(8, 1, n), 2) for name in AMOUNTS}
    for name in AMOUNTS[:2]:
        columns[name][rng.random(n) < 0.1] = -9
    columns["children"] = rng.integers(0, 9, n)
    columns["area"] = rng.choice(["north", "south", "east", "west"], n)
    columns["branch"] = np.array([f"b{code:04d}" for code in range(600)])[rng.integers(0, 600, n)]
    columns["day"] = np.array(pd.date_range("1950-01-01", periods=20_000).strftime("%Y-%m-%d"))[
        rng.integers(0, 20_000, n)
    ]
    return pd.DataFrame(columns)


def pipeline(kind: str) -> dict[str, object]:
    """Settings of the run."""
    amounts = {name: {"decimals": 2, "missing": ["-9"], "role": "confidential"} for name in AMOUNTS}
    others = {name: {"role": "other", "release": "as is"} for name in ("children", "area", "branch")}
    day = {"day": {"type": "date", "role": "other", "release": "as is"}}
    return {
        "maskwright": 1, "seed": 1,
        "data": {"source": f"in.{kind}", "variables": amounts | others | day},
        "protect": [{"method": "rounding", "variables": AMOUNTS, "params": {"base": 5}}],
        "output": {"data": f"out.{kind}"},
    }  # fmt: skip


def measured(kind: str, n: int) -> tuple[float, float, float]:
    """Processor seconds of a run, those of the comparison in it, and the memory that this adds, in MB."""
    rows = frame(n)
    rows.to_csv("in.csv", index=False) if kind == "csv" else rows.to_parquet("in.parquet", index=False)
    del rows
    compare, spent, added = stages.refuse_difference, [0.0], [0.0]

    def timed(*arguments: object) -> None:
        before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
        compare(*arguments)
        spent[0] += time.process_time() - start
        added[0] = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024

    stages.refuse_difference = timed
    try:
        start = time.process_time()
        mw.run(pipeline(kind))
        return time.process_time() - start, spent[0], added[0]
    finally:
        stages.refuse_difference = compare


def main() -> None:
    """Print one line for each format."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--only", choices=KINDS)
    chosen = parser.parse_args()
    print(f"{chosen.records} records, 10 columns; load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for kind in KINDS if chosen.only is None else (chosen.only,):
            measured(kind, 1_000)
            whole, compared, added = measured(kind, chosen.records)
            print(
                f"{kind}: run {whole:.2f} s, comparison {compared:.2f} s, {100 * compared / whole:.1f} %; "
                f"peak memory + {added:.0f} MB"
            )
            for path in Path().iterdir():
                path.unlink()
        os.chdir("/")


if __name__ == "__main__":
    main()
